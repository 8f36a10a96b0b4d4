"""The best number that meets a budget: a real one between two ends, or a whole one.

What is returned was itself tested, and ε(δ) is enclosed no more narrowly than each test needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpcalc.accounting.enclosure import (
    TOLERANCE,
    find_root,
    left_open,
    relative_width,
    with_relative_width,
)
from dpcalc.claims.solution import MORE_IS_PRIVATE, MOST_ROUNDS
from dpcalc.errors import Infeasible
from dpcalc.guarantees import GDP, Guarantee, PureDP
from dpcalc.guarantees.composition import Composition
from dpcalc.numerals import spelt
from dpcalc.numerics.root import enclose_root

_EXACT_TOLERANCE = 1e-12
"""Of mechanisms whose ε is exact to nearly the last digit."""

_WIDTHS = (0.05, 1e-3)
"""Of the enclosures with which a search begins."""


def most_rounds(
    of: Callable[[int], Guarantee], epsilon: float, delta: float, *, minimum: int
) -> int:
    """The largest number of rounds, at most `MOST_ROUNDS`, found to meet a budget.

    Raises:
        Infeasible: if ``minimum`` is above 0 and already exceeds it.
    """
    return largest_count(of, epsilon, delta, minimum, MOST_ROUNDS)


def largest_count(
    of: Callable[[int], Guarantee], epsilon: float, delta: float, low: int, high: int
) -> int:
    """The largest whole number in [low, high] found to meet a budget; cost grows with the number.

    ln ε is nearly linear in ln n, so the interval is cut where a line through its ends says.
    """

    def height(n: int) -> float:
        return _sign_of_height(of(n), epsilon, delta)

    at_low = height(low)
    if at_low > 0:
        if low == 0:
            return 0
        raise _infeasible(epsilon, delta)
    step = max(1, low)
    top, at_top = low, at_low
    while at_top <= 0:
        if top >= high:
            return high
        low, at_low = top, at_top
        top = min(high, top + step)
        step *= 8
        at_top = height(top)
    kept = 0
    while top - low > 1:
        a, b = math.log(max(low, 0.5)), math.log(top)
        share = at_low / (at_low - at_top) if math.isfinite(at_low - at_top) else 0.5
        middle = round(math.exp(a + (b - a) * (share if abs(kept) < 3 else 0.5)))
        middle = min(max(middle, low + 1), top - 1)
        value = height(middle)
        if value <= 0:
            low, at_low, kept = middle, value, min(kept, 0) - 1
            at_top = at_top / 2 if kept < -1 else at_top
        else:
            top, at_top, kept = middle, value, max(kept, 0) + 1
            at_low = at_low / 2 if kept > 1 else at_low
    return low


def best_real(
    field: str,
    of: Callable[[float], Guarantee],
    budget: tuple[float, float],
    span: tuple[float, float],
) -> float:
    """The best value of a real field: tested to meet the budget, next to one that fails."""
    sign = 1.0 if field in MORE_IS_PRIVATE else -1.0
    least, most = sorted(sign * math.log(x) for x in span)

    def value(x: float) -> float:
        return min(max(math.exp(sign * x), span[0]), span[1])

    def height(x: float) -> float:
        return _height(of(value(x)), *budget)

    def width_at(x: float) -> float:
        return left_open(of(value(x)), budget[1])

    start = max(0.0, least) if field in MORE_IS_PRIVATE else most - 8.0
    if _exact(of(value(start))):
        found = enclose_root(height, start, tolerance=_EXACT_TOLERANCE, least=least, most=most)
    else:
        found = find_root(
            height,
            start,
            tolerance=TOLERANCE,
            least=least,
            most=most,
            widths=_WIDTHS,
            width_at=width_at,
        )
    if found.high == math.inf:
        raise _infeasible(
            *budget, f" with {field.replace('_', ' ')} in [{spelt(span[0])}, {spelt(span[1])}]"
        )
    return value(found.high)


def _exact(guarantee: Guarantee) -> bool:
    """Whether ε comes from a closed form."""
    parts = guarantee.parts if isinstance(guarantee, Composition) else ((guarantee, 1),)
    return all(isinstance(part, PureDP) for part, _ in parts) or isinstance(guarantee, GDP)


def _height(guarantee: Guarantee, epsilon: float, delta: float) -> float:
    """Ln ε(δ) - ln of the budget; at most 0 if the budget is met."""
    found = guarantee.epsilon(delta)
    if found in (0.0, math.inf):
        return -math.inf if found == 0 else math.inf
    return math.log(found / epsilon) if found > epsilon else min(math.log(found / epsilon), 0.0)


def _sign_of_height(guarantee: Guarantee, epsilon: float, delta: float) -> float:
    """`_height` with the widest enclosure that tells its sign."""
    if not isinstance(guarantee, Composition):
        return _height(guarantee, epsilon, delta)
    for width in (0.05, 1e-3, relative_width()):
        with with_relative_width(width):
            found = guarantee.bracket(delta)
            if not found.lower <= epsilon < found.upper:
                break
    with with_relative_width(width):
        return _height(guarantee, epsilon, delta)


def _infeasible(epsilon: float, delta: float, where: str = "") -> Infeasible:
    return Infeasible(
        f"no value meets the budget ({spelt(epsilon)}, {spelt(delta)}){where}; try a "
        "larger epsilon or delta, fewer rounds, or a smaller rate"
    )
