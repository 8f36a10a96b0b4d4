"""Guarantees given by a privacy profile δ(ε)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from dpcalc import checks
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.tradeoff import profile_ends
from dpcalc.numerals import at_most
from dpcalc.numerics.search import smallest_where

if TYPE_CHECKING:
    from dpcalc.accounting.enclosure import Bracket
    from dpcalc.guarantees.base import Directions
    from dpcalc.guarantees.tradeoff import Ends

_LARGEST_EPSILON = 1e300


class ProfileGuarantee(Guarantee):
    """A guarantee whose δ(ε) is computed and whose ε(δ) is found by search over the doubles."""

    __slots__ = ()

    notion: ClassVar[str] = "profile"

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """The profile: decreasing in ε."""

    def epsilon(self, delta: float) -> float:
        """The smallest double whose profile is at most δ."""
        delta = at_most(checks.delta(delta))
        if self.delta(0.0) <= delta:
            return 0.0
        high = 1.0
        while self.delta(high) > delta:
            high *= 4
            if high > _LARGEST_EPSILON:
                return math.inf
        return smallest_where(lambda e: self.delta(e) <= delta, high / 4 if high > 1 else 0.0, high)


@dataclass(frozen=True, slots=True)
class PrivacyProfile(ProfileGuarantee):
    """A guarantee given by the profile δ(ε) itself.

    Example::

        from dpcalc.guarantees.mechanisms import from_profile
        print(from_profile([(0.5, 1e-6), (1, 1e-8)]).epsilon(1e-6))

    Args:
        profile: a decreasing function of ε >= 0 with values in [0, 1], safe as it stands: its values
            are taken for upper bounds, whichever of two neighbours comes first.
        described: what it is, for reports.
        dominating: losses that dominate the release, if known; otherwise composition connects the
            dots of the profile.
        adjacency: the neighbouring relation it holds under, None if nobody said.
    """

    profile: Callable[[float], float]
    described: str = "profile"
    dominating: Directions | None = None

    def delta(self, epsilon: float) -> float:
        """The profile at ε, cut to [0, 1]."""
        checks.non_negative_or_infinite("epsilon", epsilon)
        return min(1.0, max(0.0, self.profile(epsilon))) if epsilon < math.inf else 0.0

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """Enclosures of the curve that the profile says at all ε, which some mechanism has."""

        def ends(epsilons: Sequence[float]) -> list[Ends]:
            return [(delta, delta) for delta in map(self.delta, epsilons)]

        return profile_ends(self, ends, false_positive_rates)

    def parameters(self) -> Mapping[str, float]:
        """None: the profile is a function."""
        return {}

    def losses(self) -> Directions | None:
        """What the caller gave, or else the pair that the profile implies."""
        return _connected(self.profile) if self.dominating is None else self.dominating

    def renyi(self, order: float) -> float:
        """The larger divergence of the directions; infinite if the profile does not vanish."""
        from dpcalc.accounting.renyi import renyi_divergence

        checks.above_one("order", order)
        return max(renyi_divergence(losses, order) for losses in self.losses() or ())


@lru_cache(maxsize=64)
def _connected(profile: Callable[[float], float]) -> Directions:
    from dpcalc.accounting.losses.privacy_profile import loss_from_profile, sample_profile

    cut = sample_profile(lambda epsilon: min(1.0, max(0.0, profile(epsilon))))
    return (((loss_from_profile(cut), 1),),)
