"""A single round, and rounds with few outcomes: sums over what can happen, without inversion."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpcalc.accounting.composition.outcomes import Outcomes
from dpcalc.accounting.composition.resolution import SMALLEST_TAIL
from dpcalc.accounting.enclosure import Bracket, crossing
from dpcalc.accounting.losses import LossLaw, Reals
from dpcalc.accounting.losses.density_pair import DensityPair, Loss
from dpcalc.accounting.losses.discretisation import enclosing_laws, plan_cells

_CELLS, _MOST_CELLS = 2000, 100_000
_SINGLE = "single round, sum over its outcomes"
_OUTCOMES = "sum over all outcomes"


def single_epsilon(loss: Loss, delta: float, tail: float) -> Bracket | None:
    """ε(δ) of one round as a sum over its own cells; None if its law does not allow that."""
    if isinstance(loss, LossLaw):
        return None if loss.delta(0.0) is None else _between(loss, loss, delta)
    edges = plan_cells(loss, loss.window(tail), 1.0).edges(_CELLS)
    found = _between(*enclosing_laws(loss, edges, tail), delta)
    for _ in range(3):
        # Cells that ε does not fall into contribute exactly; those that it may are cut again.
        edges = _finer_between(loss, edges, found.lower, found.upper)
        found = _between(*enclosing_laws(loss, edges, tail), delta)
    return found


def single_delta(loss: Loss, epsilon: float) -> Bracket | None:
    """δ(ε) of one round, ε within a cell too small to matter; None likewise."""
    if isinstance(loss, LossLaw):
        found = loss.delta(epsilon)
        return None if found is None else Bracket(found[0], min(found[1], 1.0), _SINGLE)
    edges = plan_cells(loss, loss.window(SMALLEST_TAIL), 1.0).edges(_CELLS)
    for _ in range(4):
        edges = _finer_between(loss, edges, epsilon, epsilon)
    upper, lower = enclosing_laws(loss, edges, SMALLEST_TAIL)
    return Bracket(lower.delta(epsilon)[0], min(upper.delta(epsilon)[1], 1.0), _SINGLE)


def outcomes_epsilon(few: Outcomes, delta: float) -> Bracket:
    """ε(δ) as a sum over all outcomes."""
    tolerance = 1e-14 * max(1e-3, few.largest)
    high = crossing(lambda e: few.delta(e)[1], delta, few.largest / 2, few.largest, tolerance)[1]
    low = crossing(lambda e: few.delta(e)[0], delta, high, few.largest, tolerance)[0]
    return Bracket(low, min(high, few.largest), _OUTCOMES)


def outcomes_delta(few: Outcomes, epsilon: float) -> Bracket:
    """δ(ε) likewise."""
    return Bracket(*few.delta(epsilon), _OUTCOMES)


def _between(upper: LossLaw, lower: LossLaw, delta: float) -> Bracket:
    def bound(law: LossLaw, side: int) -> Callable[[float], float]:
        return lambda epsilon: (law.delta(epsilon) or (0.0, 1.0))[side]

    tolerance = 1e-13 * max(1e-3, min(upper.supremum, 1.0))
    high = crossing(bound(upper, 1), delta, 1.0, 0.1, tolerance)[1]
    low = crossing(bound(lower, 0), delta, high, 0.1, tolerance)[0]
    return Bracket(low, high, _SINGLE)


def _finer_between(pair: DensityPair, edges: Reals, low: float, high: float) -> Reals:
    """The edges with every cell whose losses meet [low, high] cut into many."""
    losses = pair.loss(edges)
    cells = np.flatnonzero((losses[1:] >= low) & (losses[:-1] <= high))
    if len(cells) == 0:
        return edges
    first, last = int(cells[0]), int(cells[-1]) + 1
    low_end, high_end = float(edges[first]), float(edges[last])
    needed = float((high_end - low_end) / pair.widest_cell(edges[first : last + 1]).min())
    if needed > _MOST_CELLS:
        return edges
    middle = np.linspace(low_end, high_end, max(_CELLS // 4, math.ceil(needed) + 1))
    if np.any(np.diff(middle) <= 0):
        return edges
    return np.concatenate([edges[:first], middle, edges[last + 1 :]])
