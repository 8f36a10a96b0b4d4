"""The smallest noise that meets a budget, on the safe side of the root.

Statement
    `calibrate` returns an instance whose certified ε at δ is at most the budget, with a noise level
    within the theorem's own tolerance of where it no longer would be: the last double for closed
    forms, five digits where ε itself is enclosed numerically.
Rounding
    The returned instance is the last one tested that met the budget; nothing is extrapolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, TypeVar

from dpcalc import checks
from dpcalc.accounting.bracket import aiming_at
from dpcalc.errors import Infeasible, InvalidInput
from dpcalc.numerics.search import largest_where, smallest_where
from dpcalc.theorems.base import Theorem

AnyTheorem = TypeVar("AnyTheorem", bound=Theorem)

_COARSE = 1e-3
"""Relative width of the enclosures with which a numerical search begins, and its tolerance."""

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
    if not isinstance(theorem, Theorem):
        raise InvalidInput(
            f"an instance of a theorem was needed; got {theorem!r}; try "
            "dpcalc.theorems.catalogue.privacy_result('dp-admm').from_parameters(...)"
        )
    checks.positive("epsilon", epsilon)
    checks.delta(delta)
    tolerance = theorem.noise_tolerance()
    if tolerance == 0:
        search = _Search(theorem, epsilon, delta)
        search.run(1e-12)
        return _to_the_last_double(search.answer(), epsilon, delta)
    # Wide enclosures are cheap and valid too: they find the place, narrow ones the digits.
    with aiming_at(_COARSE):
        rough = _Search(theorem, epsilon, delta)
        rough.run(_COARSE)
    search = _Search(rough.answer(), epsilon, delta)
    with aiming_at(tolerance):
        search.run(tolerance, 2 * _COARSE)
    found = search.answer()
    while found.certified().guarantee.epsilon(delta) > epsilon:
        found = search.quieter(found, tolerance)
    return found


class _Search(Generic[AnyTheorem]):
    """The root of ln ε - ln budget in the log-amount of noise above a theorem's own.

    Attributes:
        best: of the instances tested that met the budget, the one with the least noise.
    """

    def __init__(self, theorem: AnyTheorem, epsilon: float, delta: float) -> None:
        self._theorem, self._epsilon, self._delta = theorem, epsilon, delta
        self._sign = -1.0 if theorem.less_is_private else 1.0
        self.best: AnyTheorem | None = None

    def answer(self) -> AnyTheorem:
        """The best instance found; `Infeasible` if there is none."""
        if self.best is None:
            raise _infeasible(self._theorem, self._epsilon, self._delta)
        return self.best

    def quieter(self, theorem: AnyTheorem, amount: float) -> AnyTheorem:
        """An instance with e^amount times as much noise."""
        level = math.exp(math.log(theorem.noise_level()) + self._sign * amount)
        return theorem.with_noise_level(level)

    def height(self, amount: float) -> float:
        """Ln ε - ln budget, decreasing; infinite where the noise level leaves the doubles."""
        try:
            candidate = self.quieter(self._theorem, amount)
            found = candidate.certified().guarantee.epsilon(self._delta)
        except OverflowError:
            return math.inf
        if found in (0.0, math.inf):
            value = math.inf if found > 0 else -math.inf
        else:
            # The logarithms' rounding must not decide whether the budget is met.
            value = math.log(found) - math.log(self._epsilon)
            value = min(value, 0.0) if found <= self._epsilon else max(value, 1e-300)
        if value <= 0 and (self.best is None or _quieter(candidate, self.best)):
            self.best = candidate
        return value

    def run(self, tolerance: float, step: float | None = None) -> None:
        """Test instances until one that meets the budget is ``tolerance`` from one that does not.

        Args:
            tolerance: in the logarithm of the noise.
            step: how far off the root may be; by default as far as if ε were inverse to the noise.
        """
        origin = self._sign * math.log(self._theorem.noise_level())
        least, most = -_RANGE - origin, _RANGE - origin
        low = high = 0.0
        at_low = at_high = self.height(0.0)
        step = step or min(max(abs(at_high), 0.01), 64.0)
        while at_high > 0:
            if high >= most:
                raise _infeasible(self._theorem, self._epsilon, self._delta)
            low, at_low, high = high, at_high, min(high + step, most)
            at_high = self.height(high)
            step = _next_step(step, at_low - at_high, at_high)
        while at_low <= 0:
            if low <= least:
                return
            high, at_high, low = low, at_low, max(low - step, least)
            at_low = self.height(low)
            step = _next_step(step, at_low - at_high, at_low)
        _narrow(self.height, (low, at_low), (high, at_high), tolerance)


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


def _quieter(candidate: Theorem, incumbent: Theorem) -> bool:
    """Whether an instance adds less noise than another."""
    less = candidate.noise_level() < incumbent.noise_level()
    return less != candidate.less_is_private


def _infeasible(theorem: Theorem, epsilon: float, delta: float) -> Infeasible:
    return Infeasible(
        f"no amount of noise makes {theorem.key} ({epsilon:g}, {delta:g})-DP; "
        f"try {theorem.remedy(epsilon, delta)}"
    )
