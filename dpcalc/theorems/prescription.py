"""The noise that makes a printed bound give a budget, where no formula solves for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dpcalc import checks
from dpcalc.errors import Infeasible
from dpcalc.numerics.search import smallest_where

if TYPE_CHECKING:
    from dpcalc.theorems.base import Theorem

T = TypeVar("T", bound="Theorem")
_FARTHEST = 1e12  # times the noise at hand


def claiming(theorem: T, epsilon: float, delta: float) -> T:
    """The theorem with the smallest noise found whose claimed bound gives (ε, δ).

    Args:
        theorem: with any noise, from which the search starts.
        epsilon: above 0.
        delta: in (0, 1).

    Raises:
        Infeasible: if no noise within a factor of 1e12 gives it.
    """
    checks.positive("epsilon", epsilon)
    checks.proper_delta(delta)
    start = theorem.noise_level()

    def meets(noise: float) -> bool:
        claimed = theorem.replace(**{theorem.noise: noise}).claimed()
        return claimed.guarantee.epsilon(delta) <= epsilon

    low, high = start, start
    while not meets(high):
        high *= 2
        if high > _FARTHEST * start:
            raise Infeasible(f"no {theorem.noise} makes the printed curve give epsilon={epsilon:g}")
    while meets(low) and low > start / _FARTHEST:
        low /= 2
    return theorem.replace(**{theorem.noise: smallest_where(meets, low, high)})
