"""A sum over what can happen: few outcomes of all rounds, or the outcomes of a single round."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.composition.loss_sum import SMALLEST_TAIL, LossSum
from dpcalc.accounting.composition.outcomes import outcomes
from dpcalc.accounting.composition.query import Bound, Estimate, Query
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import LossDistribution, Reals
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower

_CELLS, _MOST_CELLS = 2000, 100_000
_CURVE_CELLS = 20_000
_CUTS = 3
_SINGLE = "single round, sum over its outcomes"
_OUTCOMES = "sum over all outcomes"


def enclose(total: LossSum, query: Query, estimate: Estimate | None = None) -> Bracket | None:
    """The sum; None for many rounds with many outcomes."""
    del estimate
    if (few := outcomes(total.parts)) is not None:
        low, high = query.read(
            lambda epsilon: few.delta(epsilon)[1],
            lambda epsilon: few.delta(epsilon)[0],
            few.largest / 2,
            few.largest,
            1e-14 * max(1e-3, few.largest),
            few.largest,
        )
        return Bracket(low, high, _OUTCOMES)
    if total.rounds != 1:
        return None
    total.require_tractable()
    loss = total.parts[0][0]
    if isinstance(loss, DensityPair):
        return _of_cells(loss, query)
    return None if loss.delta(0.0) is None else _between(loss, loss, query)


@dataclass(frozen=True, slots=True)
class Cells:
    """A single round cut once for all ε: each falls into one of many cells.

    Attributes:
        above: the law with losses rounded up.
        below: that with losses rounded down.
    """

    above: LossDistribution
    below: LossDistribution

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds of δ(ε)."""
        high, low = self.above.delta(epsilon), self.below.delta(epsilon)
        return 0.0 if low is None else low[0], 1.0 if high is None else high[1]


def cells(total: LossSum) -> Cells | None:
    """Those of a single round of continuous losses."""
    if total.rounds != 1 or not isinstance(pair := total.parts[0][0], DensityPair):
        return None
    total.require_tractable()
    edges = plan_cells(pair, pair.truncation_interval(SMALLEST_TAIL), 1.0).edges(_CURVE_CELLS)
    return Cells(*upper_and_lower(pair, edges, SMALLEST_TAIL))


def _of_cells(pair: DensityPair, query: Query) -> Bracket:
    """Cells that ε does not fall into contribute exactly; those that it may are cut again."""
    edges = plan_cells(pair, pair.truncation_interval(SMALLEST_TAIL), 1.0).edges(_CELLS)
    found = _between(*upper_and_lower(pair, edges, SMALLEST_TAIL), query)
    for _ in range(_CUTS):
        edges = _finer_between(pair, edges, *query.place(found))
        found = _between(*upper_and_lower(pair, edges, SMALLEST_TAIL), query)
    return found


def _between(upper: LossDistribution, lower: LossDistribution, query: Query) -> Bracket:
    def bound(law: LossDistribution, side: int) -> Bound:
        return lambda epsilon: (law.delta(epsilon) or (0.0, 1.0))[side]

    tolerance = 1e-13 * max(1e-3, min(upper.supremum, 1.0))
    return Bracket(*query.read(bound(upper, 1), bound(lower, 0), 1.0, 0.1, tolerance), _SINGLE)


def _finer_between(pair: DensityPair, edges: Reals, low: float, high: float) -> Reals:
    """The edges with every cell whose losses meet [low, high] cut into many."""
    losses = pair.loss(edges)
    cells = np.flatnonzero((losses[1:] >= low) & (losses[:-1] <= high))
    if len(cells) == 0:
        return edges
    first, last = int(cells[0]), int(cells[-1]) + 1
    low_end, high_end = float(edges[first]), float(edges[last])
    needed = float((high_end - low_end) / pair.max_cell_width(edges[first : last + 1]).min())
    if needed > _MOST_CELLS:
        return edges
    middle = np.linspace(low_end, high_end, max(_CELLS // 4, math.ceil(needed) + 1))
    if np.any(np.diff(middle) <= 0):
        return edges
    return np.concatenate([edges[:first], middle, edges[last + 1 :]])
