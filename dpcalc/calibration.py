"""The smallest noise that meets a budget, on the safe side of the root.

Statement
    `smallest_noise` returns an instance whose certified ε at δ is at most the budget, with a noise
    level within the theorem's own tolerance of where it no longer would be: the last double for
    closed forms, seven digits where ε itself is enclosed numerically.
Rounding
    The returned instance is the last one tested that met the budget; nothing is extrapolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from dpcalc import checks
from dpcalc.accounting.enclosure import find_root, left_open
from dpcalc.errors import Infeasible, InvalidInput, missing_delta
from dpcalc.guarantees import Guarantee
from dpcalc.numerals import spelt
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.numerics.root import Root, enclose_root
from dpcalc.numerics.search import largest_where, smallest_where
from dpcalc.theorems.base import Theorem

__all__ = [
    "smallest_noise",
]

AnyTheorem = TypeVar("AnyTheorem", bound=Theorem)

_RANGE = 700.0
"""Noise levels from e^-700 to e^700 are searched, which is all that a double holds."""


@own_arithmetic
def smallest_noise(theorem: AnyTheorem, epsilon: float, delta: float = 0.0) -> AnyTheorem:
    """The instance of a theorem with the smallest certified noise for a budget.

    Example::

        from dpcalc.calibration import smallest_noise
        from dpcalc.theorems import DPADMM
        start = DPADMM(n_records=32561, rounds=100, gradient_bound=1, sigma=1, dual_start="zero")
        print(smallest_noise(start, epsilon=1, delta=1e-5).sigma)

    Args:
        theorem: its noise level is where the search starts; a schedule keeps its shape.
        epsilon: the budget, above 0.
        delta: in [0, 1).

    Returns:
        Another instance, which meets the budget in the last digit too.

    Raises:
        Infeasible: if no noise meets the budget; the message says what to change.
        InvalidInput: if delta is 0 and the noise hides nothing there, however much there is.
    """
    if not isinstance(theorem, Theorem):
        raise InvalidInput(
            f"expected an instance of a theorem; got {theorem!r}; try "
            "dpcalc.theorems.catalogue.privacy_result('dp-admm').from_parameters(...)"
        )
    checks.positive("epsilon", epsilon)
    checks.delta(delta)
    if delta == 0 and theorem.certified().guarantee.needs_delta():
        raise missing_delta(theorem.key)
    search = _Search(theorem, epsilon, delta)
    tolerance = theorem.calibration_tolerance()
    if tolerance == 0:
        return _to_the_last_double(search.run(enclose_root, 1e-12), epsilon, delta)
    found = search.run(partial(find_root, width_at=search.width_at), tolerance)
    while found.certified().guarantee.epsilon(delta) > epsilon:
        found, tolerance = search.quieter(found, tolerance), 2 * tolerance
    return found


class _Search(Generic[AnyTheorem]):
    """The root of ln ε - ln budget in the log-amount of noise above a theorem's own."""

    def __init__(self, theorem: AnyTheorem, epsilon: float, delta: float) -> None:
        self._theorem, self._epsilon, self._delta = theorem, epsilon, delta
        self._sign = -1.0 if theorem.noise_is_a_rate else 1.0

    def quieter(self, theorem: AnyTheorem, amount: float) -> AnyTheorem:
        """An instance with e^amount times as much noise."""
        level = math.exp(math.log(theorem.noise_level()) + self._sign * amount)
        return theorem.with_noise_level(level)

    def height(self, amount: float) -> float:
        """Ln ε - ln budget, decreasing; infinite where the noise level leaves the doubles."""
        try:
            found = self._guarantee(amount).epsilon(self._delta)
        except OverflowError:
            return math.inf
        if found in (0.0, math.inf):
            return math.inf if found > 0 else -math.inf
        # The logarithms' rounding must not decide whether the budget is met.
        value = math.log(found) - math.log(self._epsilon)
        return min(value, 0.0) if found <= self._epsilon else max(value, 1e-300)

    def width_at(self, amount: float) -> float:
        """How wide the enclosure of ε is."""
        return left_open(self._guarantee(amount), self._delta)

    def run(self, enclose: Callable[..., Root], tolerance: float) -> AnyTheorem:
        """The instance that meets the budget, ``tolerance`` from one that does not.

        Args:
            enclose: `enclose_root` or its like.
            tolerance: in the logarithm of the noise.
        """
        origin = self._sign * math.log(self._theorem.noise_level())
        found = enclose(
            self.height, 0.0, tolerance=tolerance, least=-_RANGE - origin, most=_RANGE - origin
        )
        if found.high == math.inf:
            raise _infeasible(self._theorem, self._epsilon, self._delta)
        return self.quieter(self._theorem, found.high)

    def _guarantee(self, amount: float) -> Guarantee:
        return self.quieter(self._theorem, amount).certified().guarantee


def _to_the_last_double(theorem: AnyTheorem, epsilon: float, delta: float) -> AnyTheorem:
    """Reduce the noise of an instance that meets the budget double by double."""

    def meets(level: float) -> bool:
        return theorem.with_noise_level(level).certified().guarantee.epsilon(delta) <= epsilon

    level = theorem.noise_level()
    if theorem.noise_is_a_rate:
        return theorem.with_noise_level(largest_where(meets, level, level * (1 + 1e-11)))
    return theorem.with_noise_level(smallest_where(meets, level * (1 - 1e-11), level))


def _infeasible(theorem: Theorem, epsilon: float, delta: float) -> Infeasible:
    return Infeasible(
        f"no amount of noise makes {theorem.key} ({epsilon:g}, {spelt(delta)})-DP; "
        f"try {theorem.suggestion(epsilon, delta)}"
    )
