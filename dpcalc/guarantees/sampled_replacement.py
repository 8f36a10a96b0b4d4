"""Rounds of Gaussian noise on a sample without replacement, one record replaced.

Statement
    In a round the sample's sum has normal noise; a fraction γ of all samples holds the record, and
    the means under three samples that differ in one place lie in a ball of diameter μ standard
    deviations. Then the χ²-divergence of a round is at most ``γ²(e^{μ²} - 1)``, and T adaptive
    rounds have the profile of `dpcalc.accounting.composition.chi_square`, as well as that of the
    composition of their dominating pairs.
Source
    docs/theorems/private-dual-averaging.md, with the proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc import checks
from dpcalc.accounting.composition.sampled_blocks import chi_square, profile_of_rounds
from dpcalc.accounting.enclosure import Bracket, relative_width
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    WithoutReplacement,
)
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.profile import ProfileGuarantee
from dpcalc.guarantees.tradeoff import curve_below
from dpcalc.numerals import at_most
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.numerics.search import smallest_where
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcalc.guarantees.base import Guarantee
    from dpcalc.guarantees.tradeoff import Ends

_FEWEST_ROUNDS = 8
_LARGEST_CHI_SQUARE = 9.0
"""Above this in all rounds together the largest losses decide, which the profile knows best."""

_SMALLEST_MU = 1e-100
"""Below it a larger one serves: the square of a smaller one would be no number of full precision."""

_HURRIED = 0.02
"""An enclosure as wide as this leaves the χ²-divergence out."""

_LEAST_NOISE = 0.02
"""With less of it an instance's losses are beyond what is composed."""


@dataclass(frozen=True, slots=True, repr=False)
class SampledGaussian(DominatedMechanism):
    """One round of normal noise on a sample's sum."""

    def repeated(self, count: int) -> Guarantee | None:
        """Rounds of it alone: by their pairs, and by their χ²-divergence where that may help."""
        loss = self.directions[0][0][0]
        if not isinstance(loss, WithoutReplacement) or count < _FEWEST_ROUNDS:
            return None
        if count * chi_square(loss.mu, loss.rate, 1) > _LARGEST_CHI_SQUARE:
            return None
        limited = SampledReplacement(max(loss.mu, _SMALLEST_MU), loss.rate, count)
        return SampledRounds(((self, count),), limited)


@dataclass(frozen=True, slots=True)
class SampledRounds(Composition):
    """Rounds of one sampled Gaussian: the smaller of two bounds at every δ.

    Args:
        parts: the round and how often it is used; next to other releases its pairs are composed.
        limited: all rounds together, by their χ²-divergence.
    """

    limited: SampledReplacement

    def epsilon(self, delta: float) -> float:
        """The upper end of `bracket`, without what is attained."""
        return self._better().epsilon(delta)

    def bracket(self, delta: float) -> Bracket:
        """The smaller ε, and below it what records opposite to all others attain.

        Raises:
            NumericalFailure: more is attained than a bound allows.
        """
        best, attained = self._better().bracket(delta), self.limited.opposite().bracket(delta)
        return Bracket(attained.lower, best.upper, best.method)

    def delta_bracket(self, epsilon: float) -> Bracket:
        """The same for δ."""
        best = self._better().delta_bracket(epsilon)
        attained = self.limited.opposite().delta_bracket(epsilon)
        return Bracket(attained.lower, best.upper, best.method)

    def deltas(self, epsilons: Sequence[float]) -> tuple[float, ...]:
        """Upper bounds of δ at several ε."""
        known = self.pairs().deltas(epsilons)
        return tuple(
            min(delta, self.limited.delta(epsilon))
            for delta, epsilon in zip(known, epsilons, strict=True)
        )

    def tradeoffs(self, false_positive_rates: Sequence[float]) -> tuple[float, ...]:
        """From the smaller of both bounds of δ."""

        def ends(epsilons: Sequence[float]) -> list[Ends]:
            return [(0.0, delta) for delta in self.deltas(epsilons)]

        return curve_below(self.pairs(), ends, false_positive_rates)

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """The same, and above it what records opposite to all others attain."""
        attained = self.limited.opposite().tradeoff_brackets(false_positive_rates)
        lower = self.tradeoffs(false_positive_rates)
        return tuple(
            Bracket(low, max(low, above.upper), above.method)
            for low, above in zip(lower, attained, strict=True)
        )

    def pairs(self) -> Composition:
        """The composition of the rounds' dominating pairs alone."""
        return Composition(self.parts)

    def _better(self) -> Composition | BestOf:
        """The pairs alone where little precision is asked for: they take a hundredth of the time."""
        hurried = relative_width() > _HURRIED
        return self.pairs() if hurried else BestOf((self.limited, self.pairs()))


def sampled_gaussian(mu: float, rate: float) -> Guarantee:
    """Normal noise on the sum over a sample of fixed size, one record replaced.

    Args:
        mu: GDP parameter of replacing a sampled record, twice one record's largest norm over σ.
        rate: γ, share of the samples that hold a record, in (0, 1].
    """
    if rate == 1:
        return GDP(mu, adjacency=Adjacency.REPLACE_ONE)
    described = f"Gaussian sampled without replacement, γ = {rate:g}, μ = {mu:g}"
    directions = (((WithoutReplacement(mu, rate), 1),),)
    return SampledGaussian(directions, described, attained=False).under(Adjacency.REPLACE_ONE)


@dataclass(frozen=True, slots=True)
class SampledReplacement(ProfileGuarantee):
    """T rounds, by the profile and the χ²-divergence of a round.

    Args:
        mu: GDP parameter of replacing a sampled record.
        rate: γ, in (0, 1).
        rounds: T.
    """

    notion: ClassVar[str] = "sampled replacement"
    mu: float
    rate: float
    rounds: int

    def delta(self, epsilon: float) -> float:
        """An upper bound of δ at ε."""
        checks.non_negative_or_infinite("epsilon", epsilon)
        return profile_of_rounds(self.mu, self.rate, self.rounds).delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest ε on the lattice's range for which δ follows; infinite if none does."""
        delta = at_most(checks.delta(delta))
        if delta == 0:
            return math.inf
        profile = profile_of_rounds(self.mu, self.rate, self.rounds)
        if profile.delta(profile.reach) > delta:
            return math.inf
        return smallest_where(lambda e: profile.delta(e) <= delta, 0.0, profile.reach)

    def bracket(self, delta: float) -> Bracket:
        """What the bound says, without an enclosure of its own."""
        found = self.epsilon(delta)
        return Bracket(found, found, "profile and χ²-divergence")

    def delta_bracket(self, epsilon: float) -> Bracket:
        """The same for δ."""
        found = self.delta(epsilon)
        return Bracket(found, found, "profile and χ²-divergence")

    def parameters(self) -> Mapping[str, float]:
        """μ, γ and T."""
        return {"mu": self.mu, "rate": self.rate, "rounds": float(self.rounds)}

    def pairs(self) -> Composition:
        """The composition of the rounds' dominating pairs."""
        return _rounds(self.mu, self.rate, self.rounds)

    def opposite(self) -> Composition:
        """What is attained where all other records point one way, the differing one both ways.

        Larger noise and a smaller rate than there are reveal less.
        """
        noise = max(round_up(1 / mpf(self.mu)), _LEAST_NOISE)
        pairs = tuple(pair(noise, self.rate) for pair in (PoissonRemove, PoissonAdd))
        one = DominatedMechanism(tuple(((pair, 1),) for pair in pairs), "opposite records")
        return Composition(((one, self.rounds),))


def _rounds(mu: float, rate: float, rounds: int) -> Composition:
    return Composition(((sampled_gaussian(mu, rate), rounds),))
