"""How finely to cut and how much to smooth for a bracket of a given width."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from dpcalc.accounting.contour.contour_sum import LARGEST_SMOOTHING, Line, integrate
from dpcalc.accounting.contour.saddle_points import Contour
from dpcalc.accounting.losses import GaussianLaw, LossLaw
from dpcalc.accounting.losses.density_pair import DensityPair, Loss
from dpcalc.accounting.losses.discretisation import enclosing_laws, plan_cells, rough_law
from dpcalc.errors import NumericalFailure

Parts = Sequence[tuple[Loss, int]]
"""Privacy losses with the number of rounds each is used."""

TAIL_SHARE = 1e-10
"""The mass outside all windows together, as a share of δ."""

SMALLEST_TAIL = 1e-280
MOST_ATTEMPTS = 4
"""How often smoothing and cells are refined."""

_MOST_NODES = 2**18
_MOST_CHEAP_NODES = 2**20
"""The same where every law is known in closed form."""

_MOST_CELLS = 60_000
_SHARPEST = 60
_MOST_ROUNDS = 10**13
_SMALLEST_LOSS = 1e-100


def merged(losses: Iterable[tuple[Loss, int]]) -> list[tuple[Loss, int]]:
    """Equal losses added up, all Gaussian ones made one."""
    counts: Counter[Loss] = Counter()
    mus: list[tuple[float, int]] = []
    for loss, count in losses:
        if isinstance(loss, GaussianLaw):
            mus.append((loss.mu, count))
        elif count:
            counts[loss] += count
    parts: list[tuple[Loss, int]] = list(counts.items())
    largest = max((mu for mu, n in mus if n), default=0.0)
    if largest > 0:  # squares of tiny numbers would vanish
        total = math.sqrt(math.fsum(n * (mu / largest) ** 2 for mu, n in mus))
        parts.append((GaussianLaw(largest * total * (1 + 1e-15)), 1))
    return parts


def refuse_extremes(parts: Parts) -> None:
    """Leave to closed forms what inversion cannot follow.

    With next to no noise losses vary by thousands within a cell, with next to no loss its square
    is zero, and beyond some number of rounds the sum's moments outgrow the doubles.
    """
    sharpest = max((p.sharpness for p, _ in parts if isinstance(p, DensityPair)), default=0.0)
    if sharpest > _SHARPEST:
        raise NumericalFailure(f"noise of at least 1/{_SHARPEST} of the distance was needed")
    if sum(n for _, n in parts) > _MOST_ROUNDS:
        raise NumericalFailure(f"at most {_MOST_ROUNDS} rounds were needed")
    largest = max((p.mu if isinstance(p, GaussianLaw) else p.supremum for p, _ in parts), default=1)
    if largest < _SMALLEST_LOSS:
        raise NumericalFailure(f"losses of at least {_SMALLEST_LOSS} were needed")


def touched(parts: Parts) -> float:
    """A bound of the total variation, 1 - Π(1 - r)^n for rounds of total variation r."""
    rates = [(loss.touched, n) for loss, n in parts]
    if any(rate >= 1 for rate, _ in rates):
        return 1.0
    return -math.expm1(sum(n * math.log1p(-rate) for rate, n in rates)) * (1 + 1e-12)


def rough_laws(parts: Parts, tail: float) -> list[tuple[LossLaw, int]]:
    """Laws that dominate the parts', cheap and coarse."""
    return [
        (loss if isinstance(loss, LossLaw) else rough_law(loss, tail), count)
        for loss, count in parts
    ]


def initial_resolution(
    parts: Parts, tail: float, c: float, width: float
) -> tuple[float, dict[DensityPair, float]]:
    """Smoothing and numbers of cells that should enclose ε within ``width``.

    Near the saddle point smoothing widens by 2s²(c+1), cells by (c+1)/8·Σ n·(mean square width);
    each gets a third. Given the sum of the cells, the optimal numbers go as the cube root of what
    each round contributes.
    """
    smoothing = min(math.sqrt(width / 6 / (c + 1)), LARGEST_SMOOTHING)
    spreads = {
        loss: math.cbrt(plan_cells(loss, loss.window(tail), c).spread * count)
        for loss, count in parts
        if isinstance(loss, DensityPair)
    }
    allowed = 8 * width / (3 * (c + 1))
    scale = math.sqrt(sum(spreads.values()) / allowed)
    return smoothing, {loss: min(max(s * scale, 64), _MOST_CELLS) for loss, s in spreads.items()}


def more_cells(cells: dict[DensityPair, float], excess: float) -> dict[DensityPair, float]:
    """More cells where the bracket is ``excess`` times too wide."""
    growth = math.sqrt(max(excess, 1.0))
    return {loss: max(n, min(n * growth, _MOST_CELLS)) for loss, n in cells.items()}


def less_smoothing(smoothing: float, share: float) -> float:
    """The smoothing whose second-order effect is a ``share`` of what it was; not all at once."""
    return smoothing * min(1.0, max(math.sqrt(share), 1e-3))


def lines(
    parts: Parts,
    tail: float,
    contour: Contour,
    smoothing: float,
    cells: dict[DensityPair, float],
) -> tuple[Line, Line]:
    """The integrands of an upper and of a lower law, which are one where every law is exact."""
    upper: list[tuple[LossLaw, int]] = []
    lower: list[tuple[LossLaw, int]] = []
    for loss, count in parts:
        if isinstance(loss, LossLaw):
            above = below = loss
        else:
            edges = plan_cells(loss, loss.window(tail), contour.c).edges(cells[loss])
            above, below = enclosing_laws(loss, edges, tail)
        upper.append((above, count))
        lower.append((below, count))
    most = _MOST_NODES if cells else _MOST_CHEAP_NODES
    highest = integrate(upper, contour, smoothing=smoothing, most_nodes=most)
    if not cells:
        return highest, highest
    return highest, integrate(lower, contour, smoothing=smoothing, most_nodes=_MOST_NODES)


def upper_line(
    parts: Parts,
    tail: float,
    contour: Contour,
    smoothing: float,
    cells: dict[DensityPair, float],
) -> Line:
    """The integrand of an upper law alone."""
    upper: list[tuple[LossLaw, int]] = []
    for loss, count in parts:
        if isinstance(loss, LossLaw):
            upper.append((loss, count))
        else:
            edges = plan_cells(loss, loss.window(tail), contour.c).edges(cells[loss])
            upper.append((enclosing_laws(loss, edges, tail)[0], count))
    return integrate(upper, contour, smoothing=smoothing, most_nodes=_MOST_NODES)
