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
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcalc import checks
from dpcalc.accounting.composition.chi_square import LimitedBlock, LimitedProfile, composed
from dpcalc.accounting.composition.curve import one_lattice
from dpcalc.accounting.composition.driver import begin
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt
from dpcalc.accounting.enclosure import Bracket, relative_width, with_relative_width
from dpcalc.accounting.gaussian import gaussian_delta_bounds
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
from dpcalc.numerals import at_most
from dpcalc.numerics.precise import context, mpf, round_up
from dpcalc.numerics.search import smallest_where
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcalc.accounting.losses.distribution import Reals
    from dpcalc.guarantees.base import Guarantee

_FEWEST_BLOCKS, _BLOCKS = 48, 64
_WORTH_OF_A_BLOCK = 1e-3
"""What one more of them saves of ε, roughly and relative; rounds count half their share."""

_FEWEST_ROUNDS = 8
_LARGEST_CHI_SQUARE = 9.0
"""Above this in all rounds together the largest losses decide, which the profile knows best."""

_POINTS_PER_DEVIATION = 5
_DEVIATIONS = 6.5
"""Lattice points in a block's standard deviation, and how many of the whole they reach."""

_LOST = 1e-14
"""More than a few operations in doubles lose."""

_SMALLEST_MU = 1e-100
"""Below it a larger one serves: the square of a smaller one would be no number of full precision."""

_HURRIED = 0.02
"""An enclosure as wide as this leaves the χ²-divergence out."""

_LEAST_NOISE = 0.02
"""With less of it an instance's losses are beyond what is composed."""

_NEGLIGIBLE = 1e-20
_NEAR = (64, 192)
"""Points beyond which a block's δ is often negligible: normal tails, and heavier ones."""

_CONVOLVED = 2048
"""Points of the lattice on which a block's rounds are convolved: ε is right to four digits or so."""

_COARSE = 0.1
"""Relative width that tells how far a lattice has to reach."""


@dataclass(frozen=True, slots=True, repr=False)
class SampledGaussian(DominatedMechanism):
    """One round of normal noise on a sample's sum."""

    def repeated(self, count: int) -> Guarantee | None:
        """Rounds of it alone: by their pairs, and by their χ²-divergence where that may help."""
        loss = self.directions[0][0][0]
        if not isinstance(loss, WithoutReplacement) or count < _FEWEST_ROUNDS:
            return None
        if count * _chi_square(loss.mu, loss.rate, 1) > _LARGEST_CHI_SQUARE:
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
        return _profile(self.mu, self.rate, self.rounds).delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest ε on the lattice's range for which δ follows; infinite if none does."""
        delta = at_most(checks.delta(delta))
        if delta == 0 or self._out_of_reach(delta):
            return math.inf
        profile = _profile(self.mu, self.rate, self.rounds)
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

    def _out_of_reach(self, delta: float) -> bool:
        """Whether what is attained shows that no ε of the lattice's range will do."""
        _, spacing, points = _lattice(self.mu, self.rate, self.rounds)
        with with_relative_width(_COARSE):
            farther = self.pairs().bracket(delta).lower > spacing * points
            return farther and self.opposite().bracket(delta).lower > spacing * points


def _rounds(mu: float, rate: float, rounds: int) -> Composition:
    return Composition(((sampled_gaussian(mu, rate), rounds),))


def _chi_square(mu: float, rate: float, rounds: int) -> float:
    """(1 + γ²(e^{μ²} - 1))^T - 1."""
    ctx = context()
    each = mpf(rate) ** 2 * ctx.expm1(mpf(mu) ** 2)
    return round_up(ctx.expm1(rounds * ctx.log1p(each)))


def _lattice(mu: float, rate: float, rounds: int) -> tuple[int, float, int]:
    """Rounds of a block, distance of the lattice's points, and how many lie above zero."""
    size = _block_size(rounds)
    spacing = _few_digits(math.sqrt(_chi_square(mu, rate, size)) / _POINTS_PER_DEVIATION)
    total = rounds * _chi_square(mu, rate, 1)
    return size, spacing, math.ceil(_DEVIATIONS * math.sqrt(2 * total) / spacing)


@lru_cache(maxsize=1024)
def _profile(mu: float, rate: float, rounds: int) -> LimitedProfile:
    """Kept for the other δ of a table."""
    size, spacing, reach = _lattice(mu, rate, rounds)
    if size == 1:
        deltas = np.array([_one_round(mu, rate, spacing * k) for k in range(2 * reach + 1)])
    else:
        deltas = _deltas(_rounds(mu, rate, size), spacing, 2 * reach + 1)
    chi_square = _chi_square(mu, rate, size)
    return composed(LimitedBlock(spacing, deltas, chi_square), -(-rounds // size))


def _block_size(rounds: int) -> int:
    """Rounds of a block: many blocks serve best, and a last one that lacks few."""

    def loss(size: int) -> float:
        blocks = -(-rounds // size)
        return blocks * size / rounds / 2 - _WORTH_OF_A_BLOCK * blocks

    fewest = min(_FEWEST_BLOCKS, rounds)
    return min(
        {-(-rounds // blocks) for blocks in range(fewest, min(_BLOCKS, rounds) + 1)}, key=loss
    )


def _few_digits(value: float) -> float:
    """Near a value, with ten binary digits."""
    share, power = math.frexp(value)
    return math.ldexp(round(share * 1024), power - 10)


def _one_round(mu: float, rate: float, epsilon: float) -> float:
    """γδ(ln(1 + (e^ε - 1)/γ)) in doubles, δ that of the unsampled round."""
    unsampled = (
        epsilon + math.log(rate * math.exp(-epsilon) - math.expm1(-epsilon)) - math.log(rate)
    )
    safe = max(unsampled - _LOST * (1 + epsilon - math.log(rate)), 0.0)
    return rate * float(gaussian_delta_bounds(np.array([mu]), safe)[0]) * (1 + _LOST)


def _deltas(block: Composition, spacing: float, count: int) -> Reals:
    """δ on a lattice; where it is negligible, its last value."""
    (losses,) = block.losses() or ((),)
    total = LossSum.of(losses)
    for last in (*(near for near in _NEAR if near < count), count):
        query = DeltaAt(spacing * (last - 1), _COARSE)
        if last == count or begin(total, query).upper <= _NEGLIGIBLE:
            break
    asked = [spacing * k for k in range(last)]
    found = one_lattice(total, asked, _CONVOLVED) or list(block.deltas(asked))
    return np.minimum.accumulate(np.array(found + [found[-1]] * (count - last)))
