"""How finely to cut and how much to smooth for a bracket of a given width."""

from __future__ import annotations

import math

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.contour.bend import Bend
from dpcalc.accounting.contour.contour_sum import LARGEST_SMOOTHING, ContourSum, contour_sum
from dpcalc.accounting.contour.saddle_points import Contour, Rounds
from dpcalc.accounting.losses import LossDistribution
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discretisation import CellPlan, plan_cells, upper_and_lower

_MOST_NODES = 2**18
_MOST_CHEAP_NODES = 2**20
"""The same where every law is known in closed form."""

_MOST_CELLS = 60_000

_SHARES = 0.3, 0.5
"""Of the width: what smoothing and cells are to use up."""


def initial_resolution(
    total: LossSum, tail: float, bend: Bend, width: float
) -> tuple[float, dict[DensityPair, float]]:
    """Smoothing and numbers of cells that should enclose ε within ``width``.

    Smoothing widens by 2s² times the bend at zero, cells by an eighth of Σ n·(mean of square width
    times bend). Where only the order c of the saddle point is known, the bend is c + 1 times the tilt
    by c, and each gets a third; otherwise what is planned comes true, and is more. Given the sum of
    the cells, the optimal numbers go as the cube root of what each round contributes.

    Args:
        total: the losses.
        tail: P-mass that may be left outside the window of a round.
        bend: how far ε moves where losses are blurred.
        width: of ε.
    """
    pairs = [(loss, count) for loss, count in total.parts if isinstance(loss, DensityPair)]
    if not pairs:
        bend = Bend.along(bend.slope)  # of atoms there is no density
    smooth, cut = _SHARES if bend.measured else (1 / 3, 1 / 3)
    smoothing = min(math.sqrt(smooth * width / 2 / bend.at_zero), LARGEST_SMOOTHING)
    spreads = {loss: math.cbrt(_plan(loss, tail, bend).spread * count) for loss, count in pairs}
    allowed = 8 * cut * width / (1.0 if bend.measured else bend.slope + 1)
    scale = math.sqrt(sum(spreads.values()) / allowed)
    return smoothing, {loss: min(max(s * scale, 64), _MOST_CELLS) for loss, s in spreads.items()}


def more_cells(cells: dict[DensityPair, float], excess: float) -> dict[DensityPair, float]:
    """More cells where the bracket is ``excess`` times too wide."""
    growth = math.sqrt(max(excess, 1.0))
    return {loss: max(n, min(n * growth, _MOST_CELLS)) for loss, n in cells.items()}


def less_smoothing(smoothing: float, share: float) -> float:
    """The smoothing whose second-order effect is a ``share`` of what it was; not all at once."""
    return smoothing * min(1.0, max(math.sqrt(share), 1e-3))


def upper_and_lower_sums(
    total: LossSum,
    tail: float,
    contour: Contour,
    smoothing: float,
    cells: dict[DensityPair, float],
    bend: Bend | None = None,
) -> tuple[ContourSum, ContourSum]:
    """Sums for an upper and for a lower distribution, which are one where all losses are exact."""
    upper, lower = _discretised(total, tail, bend or Bend.along(contour.slope), cells)
    most = _MOST_NODES if cells else _MOST_CHEAP_NODES
    highest = contour_sum(upper, contour, smoothing=smoothing, most_nodes=most)
    if not cells:
        return highest, highest
    return highest, contour_sum(
        lower,
        contour,
        smoothing=smoothing,
        most_nodes=_MOST_NODES,
        likely=highest.evaluated,
    )


def upper_sum(
    total: LossSum,
    tail: float,
    contour: Contour,
    smoothing: float,
    cells: dict[DensityPair, float],
) -> ContourSum:
    """The sum for the upper distribution alone."""
    upper, _ = _discretised(total, tail, Bend.along(contour.slope), cells)
    return contour_sum(upper, contour, smoothing=smoothing, most_nodes=_MOST_NODES)


def _plan(pair: DensityPair, tail: float, bend: Bend) -> CellPlan:
    window = pair.truncation_interval(tail)
    return plan_cells(pair, window, bend.slope, bend.at if bend.measured else None)


def _discretised(
    total: LossSum, tail: float, bend: Bend, cells: dict[DensityPair, float]
) -> tuple[Rounds, Rounds]:
    upper: list[tuple[LossDistribution, int]] = []
    lower: list[tuple[LossDistribution, int]] = []
    for loss, count in total.parts:
        if isinstance(loss, LossDistribution):
            above = below = loss
        else:
            edges = _plan(loss, tail, bend).edges(cells[loss])
            above, below = upper_and_lower(loss, edges, tail)
        upper.append((above, count))
        lower.append((below, count))
    return upper, lower
