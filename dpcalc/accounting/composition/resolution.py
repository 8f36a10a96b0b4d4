"""How finely to cut and how much to smooth for a bracket of a given width."""

from __future__ import annotations

import math

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.contour.contour_sum import LARGEST_SMOOTHING, ContourSum, contour_sum
from dpcalc.accounting.contour.saddle_points import Contour, Rounds
from dpcalc.accounting.losses import LossDistribution
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower

_MOST_NODES = 2**18
_MOST_CHEAP_NODES = 2**20
"""The same where every law is known in closed form."""

_MOST_CELLS = 60_000


def initial_resolution(
    total: LossSum, tail: float, slope: float, width: float
) -> tuple[float, dict[DensityPair, float]]:
    """Smoothing and numbers of cells that should enclose ε within ``width``.

    With c the order of the saddle point, smoothing widens by 2s²(c+1), cells by
    (c+1)/8·Σ n·(mean square width, tilted by c); each gets a third. Given the sum of the cells, the
    optimal numbers go as the cube root of what each round contributes.

    Args:
        total: the losses.
        tail: P-mass that may be left outside the window of a round.
        slope: c, which is not that of the line where the line stands away from the saddle point.
        width: of ε.
    """
    smoothing = min(math.sqrt(width / 6 / (slope + 1)), LARGEST_SMOOTHING)
    spreads = {
        loss: math.cbrt(plan_cells(loss, loss.truncation_interval(tail), slope).spread * count)
        for loss, count in total.parts
        if isinstance(loss, DensityPair)
    }
    allowed = 8 * width / (3 * (slope + 1))
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
) -> tuple[ContourSum, ContourSum]:
    """Sums for an upper and for a lower distribution, which are one where all losses are exact."""
    upper, lower = _discretised(total, tail, contour, cells)
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
    upper, _ = _discretised(total, tail, contour, cells)
    return contour_sum(upper, contour, smoothing=smoothing, most_nodes=_MOST_NODES)


def _discretised(
    total: LossSum, tail: float, contour: Contour, cells: dict[DensityPair, float]
) -> tuple[Rounds, Rounds]:
    upper: list[tuple[LossDistribution, int]] = []
    lower: list[tuple[LossDistribution, int]] = []
    for loss, count in total.parts:
        if isinstance(loss, LossDistribution):
            above = below = loss
        else:
            edges = plan_cells(loss, loss.truncation_interval(tail), contour.slope).edges(
                cells[loss]
            )
            above, below = upper_and_lower(loss, edges, tail)
        upper.append((above, count))
        lower.append((below, count))
    return upper, lower
