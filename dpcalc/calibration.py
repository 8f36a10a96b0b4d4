"""The smallest noise that meets a budget, on the safe side of the root.

Statement
    `calibrate` returns an instance whose certified ε at δ is at most the budget, with a noise level
    within the theorem's own tolerance of where it no longer would be: the last double for closed
    forms, seven digits where ε itself is enclosed numerically.
Rounding
    The returned instance is the last one tested that met the budget; nothing is extrapolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from dpcalc import checks
from dpcalc.errors import Infeasible
from dpcalc.numerics.search import largest_where, smallest_where
from dpcalc.theorems.base import Theorem

AnyTheorem = TypeVar("AnyTheorem", bound=Theorem)

_RANGE = 700.0
"""Noise levels from e^-700 to e^700 are searched, which is all that a double holds."""


def calibrate(theorem: AnyTheorem, epsilon: float, delta: float = 0.0) -> AnyTheorem:
    """The instance of a theorem with the smallest certified noise for a budget.

    Args:
        theorem: its noise level is where the search starts; a schedule keeps its shape.
        epsilon: the budget, above 0.
        delta: in [0, 1).

    Raises:
        Infeasible: if no noise meets the budget; the message says what to change.
    """
    checks.positive("epsilon", epsilon)
    checks.delta(delta)
    tolerance = theorem.noise_tolerance()
    sign = -1.0 if theorem.less_is_private else 1.0
    origin = math.log(theorem.noise_level())
    target = math.log(epsilon)
    best: AnyTheorem | None = None

    def at(amount: float) -> AnyTheorem:
        return theorem.with_noise_level(math.exp(origin + sign * amount))

    def height(amount: float) -> float:
        """Height: ln ε - ln budget at a log-amount of noise above the start; decreasing."""
        nonlocal best
        candidate = at(amount)
        found = candidate.certified().guarantee.epsilon(delta)
        value = (
            math.log(found) - target if 0 < found < math.inf else (-math.inf, math.inf)[found > 0]
        )
        # The logarithms' rounding must not decide whether the budget is met.
        value = min(value, 0.0) if found <= epsilon else max(value, 1e-300)
        if value <= 0 and (best is None or _quieter(candidate, best)):
            best = candidate
        return value

    least, most = -_RANGE - sign * origin, _RANGE - sign * origin
    low = high = 0.0
    at_low = at_high = height(0.0)
    step = min(max(abs(at_high), 0.01), 64.0)  # right if ε is inverse to the noise
    while at_high > 0:
        if high >= most:
            raise _infeasible(theorem, epsilon, delta)
        low, at_low, high = high, at_high, min(high + step, most)
        at_high = _guarded(height, high)
        step = _next_step(step, at_low - at_high, at_high)
    while at_low <= 0:
        if low <= least:
            return best if best is not None else theorem
        high, at_high, low = low, at_low, max(low - step, least)
        at_low = _guarded(height, low)
        step = _next_step(step, at_low - at_high, at_low)
    _narrow(height, (low, at_low), (high, at_high), max(tolerance, 1e-12))
    if best is None:
        raise _infeasible(theorem, epsilon, delta)
    return _to_the_last_double(best, epsilon, delta) if tolerance == 0 else best


def _next_step(step: float, fall: float, left: float) -> float:
    """A little more than what a straight line needs for the rest, at most double."""
    if not (0 < fall < math.inf and math.isfinite(left)):
        return 2 * step
    return min(max(1.05 * step * abs(left) / fall, step / 100), 2 * step)


def _narrow(
    height: Callable[[float], float],
    left: tuple[float, float],
    right: tuple[float, float],
    tolerance: float,
) -> None:
    """Shrink the bracket by guarded false position until it is ``tolerance`` wide."""
    (low, at_low), (high, at_high) = left, right
    kept = 0
    while high - low > tolerance:
        width = high - low
        middle = low + width / 2
        if math.isfinite(at_low) and math.isfinite(at_high) and abs(kept) < 4:
            root = low + width * at_low / (at_low - at_high)
            aim = root + (0.7 * tolerance if kept <= 0 else -0.7 * tolerance)
            middle = min(max(aim, low + width / 4096), high - width / 4096)
        value = height(middle)
        if value > 0:
            low, at_low = middle, value
            at_high = at_high / 2 if kept > 0 else at_high
            kept = kept + 1 if kept > 0 else 1
        else:
            high, at_high = middle, value
            at_low = at_low / 2 if kept < 0 else at_low
            kept = kept - 1 if kept < 0 else -1
        if abs(kept) >= 6:
            kept = 0
        if -1e-15 < value <= 0:
            return


def _to_the_last_double(theorem: AnyTheorem, epsilon: float, delta: float) -> AnyTheorem:
    """Reduce the noise of an instance that meets the budget double by double."""

    def meets(level: float) -> bool:
        return theorem.with_noise_level(level).certified().guarantee.epsilon(delta) <= epsilon

    level = theorem.noise_level()
    if theorem.less_is_private:
        return theorem.with_noise_level(largest_where(meets, level, level * (1 + 1e-11)))
    return theorem.with_noise_level(smallest_where(meets, level * (1 - 1e-11), level))


def _guarded(height: Callable[[float], float], amount: float) -> float:
    """The height, infinite where the noise level leaves the range of the doubles."""
    try:
        return height(amount)
    except OverflowError:
        return math.inf


def _quieter(candidate: Theorem, incumbent: Theorem) -> bool:
    """Whether an instance adds less noise than another."""
    less = candidate.noise_level() < incumbent.noise_level()
    return less != candidate.less_is_private


def _infeasible(theorem: Theorem, epsilon: float, delta: float) -> Infeasible:
    return Infeasible(
        f"no amount of noise makes {theorem.key} ({epsilon:g}, {delta:g})-DP; "
        f"try {theorem.remedy(epsilon, delta)}"
    )
