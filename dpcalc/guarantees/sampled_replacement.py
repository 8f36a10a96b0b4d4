"""Rounds of Gaussian noise on a sample without replacement, one record replaced.

Statement
    In a round the sample's sum has normal noise; a fraction γ of all samples holds the record, and
    the means under three samples that differ in one place lie in a ball of diameter μ standard
    deviations. Then the χ²-divergence of a round is at most ``γ²(e^{μ²} - 1)``, and T adaptive
    rounds have the profile of `dpcalc.accounting.composition.chi_square`.
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
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.gaussian import gaussian_delta_bounds
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.composition import compose
from dpcalc.guarantees.mechanisms import sampled_without_replacement
from dpcalc.guarantees.profile import ProfileGuarantee
from dpcalc.numerals import at_most
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.numerics.precise import context, mpf, round_up
from dpcalc.numerics.search import smallest_where
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpcalc.accounting.losses.distribution import Reals

_BLOCKS = 64
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

_NEGLIGIBLE = 1e-20
_FIRST = 48
"""Lattice points whose δ is asked for at first; normal tails are negligible beyond."""


@own_arithmetic
def sampled_rounds(mu: float, rate: float, rounds: int) -> Guarantee:
    """Gaussian noise on samples without replacement, again and again; replace-one.

    Args:
        mu: GDP parameter of replacing a sampled record, twice one record's largest norm over σ.
        rate: γ, share of the samples that hold a record, in (0, 1]; rounded up.
        rounds: T, 1 or above.

    Returns:
        The smaller of two bounds at every δ: the composition of the rounds' dominating pairs, and
        that of rounds whose χ²-divergence is bounded too, where that may be smaller.
    """
    every = compose((sampled_without_replacement(mu, rate), rounds))
    few = rounds < _FEWEST_ROUNDS or rate == 1
    if few or rounds * _chi_square(mu, rate, 1) > _LARGEST_CHI_SQUARE:
        return every
    limited = SampledReplacement(max(mu, _SMALLEST_MU), rate, rounds)
    return BestOf((every, limited)).under(Adjacency.REPLACE_ONE)


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
        delta, profile = at_most(checks.delta(delta)), _profile(self.mu, self.rate, self.rounds)
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


def _chi_square(mu: float, rate: float, rounds: int) -> float:
    """(1 + γ²(e^{μ²} - 1))^T - 1."""
    ctx = context()
    each = mpf(rate) ** 2 * ctx.expm1(mpf(mu) ** 2)
    return round_up(ctx.expm1(rounds * ctx.log1p(each)))


@lru_cache(maxsize=64)
def _profile(mu: float, rate: float, rounds: int) -> LimitedProfile:
    size = -(-rounds // min(_BLOCKS, rounds))
    each = _chi_square(mu, rate, size)
    spacing = _few_digits(math.sqrt(each) / _POINTS_PER_DEVIATION)
    total = rounds * _chi_square(mu, rate, 1)
    reach = math.ceil(_DEVIATIONS * math.sqrt(2 * total) / spacing)
    if size == 1:
        deltas = np.array([_one_round(mu, rate, spacing * k) for k in range(2 * reach + 1)])
    else:
        block = compose((sampled_without_replacement(mu, rate), size))
        deltas = _deltas(block, spacing, 2 * reach + 1)
    return composed(LimitedBlock(spacing, deltas, each), -(-rounds // size))


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


def _deltas(block: Guarantee, spacing: float, count: int) -> Reals:
    """δ on a lattice; where it is negligible, its last value."""
    found: list[float] = []
    while len(found) < count and (not found or found[-1] > _NEGLIGIBLE):
        ahead = range(len(found), min(2 * len(found) or _FIRST, count))
        found += block.deltas([spacing * k for k in ahead])
    return np.minimum.accumulate(np.array(found + [found[-1]] * (count - len(found))))
