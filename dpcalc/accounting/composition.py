"""Compose privacy losses numerically, with a two-sided answer.

Statement
    For adaptively composed mechanisms with dominating pairs (P_t, Q_t), the composition is
    dominated by the product pair, whose privacy loss is the sum of independent losses
    (Zhu, Dong and Wang 2022, theorem 10). `bracket_epsilon` and `bracket_delta` enclose the exact
    answer for the product pair.
Rounding
    The upper end is never below and the lower end never above the exact value: see
    `dpcalc.accounting.inversion` for what the enclosure covers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from dpcalc import checks
from dpcalc.accounting.bracket import Bracket, crossing
from dpcalc.accounting.bracket import relative_width as default_width
from dpcalc.accounting.cells import DensityPair, Loss, enclosing_laws, plan_cells, rough_law
from dpcalc.accounting.contour import (
    Contour,
    Rounds,
    contour_for_delta,
    contour_for_epsilon,
    infinite_mass,
)
from dpcalc.accounting.fallback import (
    delta_by_chernoff,
    epsilon_by_chernoff,
    epsilon_from_largest_loss,
    largest_loss,
)
from dpcalc.accounting.inversion import LARGEST_SMOOTHING, Line, integrate
from dpcalc.accounting.laws import GaussianLaw, LossLaw, Reals
from dpcalc.accounting.outcomes import Outcomes, outcomes
from dpcalc.errors import NumericalFailure

"""Width of the bracket that is aimed at, relative to ε."""

_TAIL_SHARE = 1e-10
_SMALLEST_TAIL = 1e-280
_MOST_NODES = 2**16
_MOST_CELLS = 60_000
_MOST_ATTEMPTS = 4
_CELLS_ALONE = 2000
_WIDE = 0.05
_SHARPEST = 60
_MOST_ROUNDS = 10**13
_SINGLE = "single round, sum over its outcomes"
_OUTCOMES = "sum over all outcomes"
_METHOD = "moment inversion, two-sided"
_WIDER = "weaker: moment inversion with a wide bracket"


def bracket_epsilon(
    losses: Iterable[tuple[Loss, int]], delta: float, *, relative_width: float | None = None
) -> Bracket:
    """Enclose the smallest ε for which the composition is (ε, δ)-DP in this direction.

    Args:
        losses: privacy losses and the number of rounds each is used.
        delta: in (0, 1).
        relative_width: width aimed at, relative to ε; a cap on the work may leave it wider. By
            default that of `dpcalc.accounting.bracket`.
    """
    checks.proper_delta(delta)
    parts = _merged(losses)
    if _touched(parts) <= delta:
        return Bracket(0.0, 0.0, "total variation")
    try:
        found = _enclosed(parts, delta, relative_width or default_width())
    except NumericalFailure:
        return epsilon_by_chernoff(parts, delta)
    return _tighter(found, epsilon_by_chernoff, parts, delta)


def _enclosed(parts: Sequence[tuple[Loss, int]], delta: float, relative_width: float) -> Bracket:
    """`bracket_epsilon` by the best method there is."""
    _refuse_extremes(parts)
    total = sum(count for _, count in parts)
    tail = max(delta * _TAIL_SHARE / max(total, 1), _SMALLEST_TAIL)
    rough = _rough(parts, tail)
    if infinite_mass(rough) >= delta:
        # The masses are upper bounds; those of exact laws are off by rounding only.
        exact = [(loss, n) for loss, n in parts if isinstance(loss, LossLaw)]
        surely = infinite_mass(exact) * (1 - 1e-12) > delta
        return Bracket(math.inf if surely else 0.0, math.inf, "infinite losses use up δ")
    if total == 1 and (alone := _alone(parts[0][0], delta, tail)) is not None:
        return alone
    if (few := outcomes(parts)) is not None:
        return _by_outcomes(few, delta)
    return _by_inversion(parts, rough, delta, tail, relative_width)


def _tighter(
    found: Bracket,
    weaker: Callable[[Sequence[tuple[Loss, int]], float], Bracket],
    parts: Sequence[tuple[Loss, int]],
    at: float,
) -> Bracket:
    """The intersection with a weaker bound, where an enclosure turned out wide."""
    if found.relative_width <= _WIDE:
        return found
    other = weaker(parts, at)
    method = other.method if other.upper < found.upper else _WIDER
    return Bracket(max(found.lower, other.lower), min(found.upper, other.upper), method)


def _by_inversion(
    parts: Sequence[tuple[Loss, int]],
    rough: Rounds,
    delta: float,
    tail: float,
    relative_width: float,
) -> Bracket:
    contour = _pilot(rough, delta)
    width = relative_width * max(contour.epsilon, 1e-3 / contour.c)
    smoothing, cells = _initial_resolution(parts, tail, contour.c, width)
    best = Bracket(0.0, math.inf, _METHOD)
    for _ in range(_MOST_ATTEMPTS):
        upper, lower = _lines(parts, tail, contour, smoothing, cells)
        unit = 1 / contour.c
        tolerance = relative_width * max(contour.epsilon, 1e-3 * unit) / 20
        high = crossing(upper.upper, delta, contour.epsilon, unit, tolerance)[1]
        high = min(high, upper.largest)  # no finite loss exceeds it, and infinite ones are rarer
        start = high if math.isfinite(high) else contour.epsilon
        low = crossing(lower.lower, delta, start, unit, tolerance)[0]
        low = max(low, epsilon_from_largest_loss(parts, delta))
        best = Bracket(max(low, best.lower), min(high, best.upper), _METHOD)
        if best.relative_width <= relative_width or best.upper == 0:
            break
        if best.relative_width > 0.01 and abs(high - contour.epsilon) > unit:
            contour = contour_for_epsilon(rough, high, math.log(delta))
            continue
        # The same law inverted both ways tells how much of the width is due to smoothing.
        smoothed = high - crossing(upper.lower, delta, start, unit, tolerance)[0]
        goal = relative_width * best.upper / 2.5
        finer = _refined(cells, (high - low - smoothed) / goal)
        exhausted = smoothed <= goal or upper.smoothing > smoothing
        if finer == cells and exhausted:
            break
        cells = finer
        smoothing = upper.smoothing * min(1.0, math.sqrt(goal / max(smoothed, 1e-300)))
    return best


def _pilot(rough: Rounds, delta: float) -> Contour:
    """A contour for δ(ε) = ``delta``, ε found by inverting the coarse laws."""
    contour = contour_for_delta(rough, delta)
    for _ in range(4):
        unit = 1 / contour.c
        line = integrate(rough, contour, smoothing=min(0.1 * unit, 0.1), most_nodes=1024)
        epsilon = crossing(line.upper, delta, contour.epsilon, unit, 0.1 * unit)[1]
        if not math.isfinite(epsilon) or abs(epsilon - contour.epsilon) < unit:
            break
        contour = contour_for_epsilon(rough, epsilon, contour.log_delta)
    return contour


def _alone(loss: Loss, delta: float, tail: float) -> Bracket | None:
    """A single round, whose δ(ε) is a sum over its own cells; no inversion."""
    if isinstance(loss, LossLaw):
        return None if loss.delta(0.0) is None else _single(loss, loss, delta)
    edges = plan_cells(loss, loss.window(tail), 1.0).edges(_CELLS_ALONE)
    found = _single(*enclosing_laws(loss, edges, tail), delta)
    for _ in range(3):
        # Cells that ε does not fall into contribute exactly; those that it may are cut again.
        edges = _finer_between(loss, edges, found.lower, found.upper)
        found = _single(*enclosing_laws(loss, edges, tail), delta)
    return found


def _single(upper: LossLaw, lower: LossLaw, delta: float) -> Bracket:
    def bound(law: LossLaw, side: int) -> Callable[[float], float]:
        return lambda epsilon: (law.delta(epsilon) or (0.0, 1.0))[side]

    tolerance = 1e-13 * max(1e-3, min(upper.supremum, 1.0))
    high = crossing(bound(upper, 1), delta, 1.0, 0.1, tolerance)[1]
    low = crossing(bound(lower, 0), delta, high, 0.1, tolerance)[0]
    return Bracket(low, high, _SINGLE)


def _by_outcomes(few: Outcomes, delta: float) -> Bracket:
    tolerance = 1e-14 * max(1e-3, few.largest)
    high = crossing(lambda e: few.delta(e)[1], delta, few.largest / 2, few.largest, tolerance)[1]
    low = crossing(lambda e: few.delta(e)[0], delta, high, few.largest, tolerance)[0]
    return Bracket(low, min(high, few.largest), _OUTCOMES)


def _finer_between(pair: DensityPair, edges: Reals, low: float, high: float) -> Reals:
    """The edges with every cell whose losses meet [low, high] cut into many."""
    losses = pair.loss(edges)
    cells = np.flatnonzero((losses[1:] >= low) & (losses[:-1] <= high))
    if len(cells) == 0:
        return edges
    first, last = int(cells[0]), int(cells[-1]) + 1
    middle = np.linspace(edges[first], edges[last], _CELLS_ALONE // 4)
    if np.any(np.diff(middle) <= 0):
        return edges
    return np.concatenate([edges[:first], middle, edges[last + 1 :]])


def _refined(cells: dict[DensityPair, float], excess: float) -> dict[DensityPair, float]:
    """More cells where the bracket is ``excess`` times too wide."""
    growth = math.sqrt(max(excess, 1.0))
    return {loss: max(n, min(n * growth, _MOST_CELLS)) for loss, n in cells.items()}


def _initial_resolution(
    parts: Sequence[tuple[Loss, int]], tail: float, c: float, width: float
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


def _lines(
    parts: Sequence[tuple[Loss, int]],
    tail: float,
    contour: Contour,
    smoothing: float,
    cells: dict[DensityPair, float],
) -> tuple[Line, Line]:
    """The integrands of an upper and of a lower law."""
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
    return (
        integrate(upper, contour, smoothing=smoothing, most_nodes=_MOST_NODES),
        integrate(lower, contour, smoothing=smoothing, most_nodes=_MOST_NODES),
    )


def bracket_delta(
    losses: Iterable[tuple[Loss, int]], epsilon: float, *, relative_width: float | None = None
) -> Bracket:
    """Enclose δ(ε) of the composition in this direction.

    Args:
        losses: privacy losses and the number of rounds each is used.
        epsilon: 0 or above.
        relative_width: width aimed at, relative to δ, likewise.
    """
    checks.non_negative("epsilon", epsilon)
    parts = _merged(losses)
    total = sum(count for _, count in parts)
    if total == 0:
        return Bracket(0.0, 0.0, "nothing is released")
    if epsilon >= largest_loss(parts):
        return delta_by_chernoff(parts, epsilon)
    if (few := outcomes(parts)) is not None:
        return Bracket(*few.delta(epsilon), _OUTCOMES)
    try:
        _refuse_extremes(parts)
        alone = _alone_delta(parts[0][0], epsilon) if total == 1 else None
        width = relative_width or default_width()
        found = alone or _delta_by_inversion(parts, epsilon, width)
    except NumericalFailure:
        found = delta_by_chernoff(parts, epsilon)
    else:
        found = _tighter(found, delta_by_chernoff, parts, epsilon)
    return Bracket(found.lower, min(found.upper, _touched(parts)), found.method)


def _refuse_extremes(parts: Sequence[tuple[Loss, int]]) -> None:
    """Leave to closed forms what inversion cannot follow.

    With next to no noise losses vary by thousands within a cell, and beyond some number of rounds
    the sum's moments outgrow the doubles.
    """
    sharpest = max((p.sharpness for p, _ in parts if isinstance(p, DensityPair)), default=0.0)
    if sharpest > _SHARPEST:
        raise NumericalFailure(f"noise of at least 1/{_SHARPEST} of the distance was needed")
    if sum(n for _, n in parts) > _MOST_ROUNDS:
        raise NumericalFailure(f"at most {_MOST_ROUNDS} rounds were needed")


def _touched(parts: Sequence[tuple[Loss, int]]) -> float:
    """A bound of the total variation, 1 - Π(1 - r)^n for rounds of total variation r."""
    rates = [(loss.touched if isinstance(loss, DensityPair) else 1.0, n) for loss, n in parts]
    if any(rate >= 1 for rate, _ in rates):
        return 1.0
    return -math.expm1(sum(n * math.log1p(-rate) for rate, n in rates)) * (1 + 1e-12)


def _delta_by_inversion(
    parts: Sequence[tuple[Loss, int]], epsilon: float, relative_width: float
) -> Bracket:
    total = sum(count for _, count in parts)
    contour = contour_for_epsilon(_rough(parts, 1e-60 / total), epsilon)
    delta = math.exp(max(contour.log_delta, -600.0))
    tail = max(delta * _TAIL_SHARE / total, _SMALLEST_TAIL)
    contour = contour_for_epsilon(_rough(parts, tail), epsilon)
    unit = 1 / contour.c
    smoothing, cells = _initial_resolution(parts, tail, contour.c, relative_width * unit)
    best = Bracket(0.0, 1.0, _METHOD)
    for _ in range(_MOST_ATTEMPTS):
        upper, lower = _lines(parts, tail, contour, smoothing, cells)
        high, low = upper.upper(epsilon), lower.lower(epsilon)
        best = Bracket(max(low, best.lower), min(high, best.upper), _METHOD)
        if best.relative_width <= relative_width:
            break
        smoothed = high - upper.lower(epsilon)
        goal = relative_width * best.upper / 2.5
        finer = _refined(cells, (high - low - smoothed) / goal)
        exhausted = smoothed <= goal or upper.smoothing > smoothing
        if finer == cells and exhausted:
            break
        cells = finer
        smoothing = upper.smoothing * min(1.0, math.sqrt(goal / max(smoothed, 1e-300)))
    return best


def _alone_delta(loss: Loss, epsilon: float) -> Bracket | None:
    """δ(ε) of a single round, ε within a cell too small to matter."""
    if isinstance(loss, LossLaw):
        found = loss.delta(epsilon)
        return None if found is None else Bracket(found[0], min(found[1], 1.0), _SINGLE)
    edges = plan_cells(loss, loss.window(_SMALLEST_TAIL), 1.0).edges(_CELLS_ALONE)
    for _ in range(4):
        edges = _finer_between(loss, edges, epsilon, epsilon)
    upper, lower = enclosing_laws(loss, edges, _SMALLEST_TAIL)
    return Bracket(lower.delta(epsilon)[0], min(upper.delta(epsilon)[1], 1.0), _SINGLE)


def _merged(losses: Iterable[tuple[Loss, int]]) -> list[tuple[Loss, int]]:
    """Equal losses added up, all Gaussian ones made one."""
    counts: Counter[Loss] = Counter()
    square = 0.0
    for loss, count in losses:
        if isinstance(loss, GaussianLaw):
            square += count * loss.mu**2
        elif count:
            counts[loss] += count
    parts: list[tuple[Loss, int]] = list(counts.items())
    if square:
        parts.append((GaussianLaw(math.sqrt(square) * (1 + 1e-15)), 1))
    return parts


def _rough(parts: Sequence[tuple[Loss, int]], tail: float) -> list[tuple[LossLaw, int]]:
    return [
        (loss if isinstance(loss, LossLaw) else rough_law(loss, tail), count)
        for loss, count in parts
    ]
