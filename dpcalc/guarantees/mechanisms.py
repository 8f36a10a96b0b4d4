"""Guarantees of named mechanisms, by their dominating pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc import checks
from dpcalc.accounting.laws import LaplaceLaw
from dpcalc.accounting.subsampling import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.gdp import GDP
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpcalc.accounting.composition import Bracket
    from dpcalc.guarantees.base import Directions


@dataclass(frozen=True, slots=True)
class Dominated(Guarantee):
    """A release that is dominated by known pairs, one for each direction.

    Args:
        directions: losses with their numbers of rounds; one direction if it is symmetric.
        described: what it is, for reports.
        largest: ε at δ = 0; infinite where the loss is unbounded, or not known to be bounded.
    """

    notion: ClassVar[str] = "privacy loss"
    directions: Directions
    described: str
    largest: float = math.inf

    def epsilon(self, delta: float) -> float:
        """The upper end of `bracket`."""
        return self.bracket(delta).upper

    def bracket(self, delta: float) -> Bracket:
        """An enclosure of ε(δ) of the dominating pair."""
        from dpcalc.accounting.composition import Bracket
        from dpcalc.guarantees.composition import Composition

        if checks.delta(delta) == 0:
            return Bracket(0.0, self.largest, "largest loss")
        return Composition(((self, 1),)).bracket(delta)

    def delta(self, epsilon: float) -> float:
        """The upper end of an enclosure of δ(ε) of the dominating pair."""
        from dpcalc.guarantees.composition import Composition

        return Composition(((self, 1),)).delta(epsilon)

    def numbers(self) -> Mapping[str, float]:
        """None: the pair is a pair of functions."""
        return {}

    def losses(self) -> Directions:
        """The pairs."""
        return self.directions


def gaussian(noise_multiplier: float) -> Guarantee:
    """Gaussian noise, ``noise_multiplier`` times the sensitivity."""
    checks.positive("noise_multiplier", noise_multiplier)
    return GDP(round_up(1 / mpf(noise_multiplier)))


def laplace(scale_multiplier: float) -> Guarantee:
    """Laplace noise with scale ``scale_multiplier`` times the sensitivity."""
    checks.positive("scale_multiplier", scale_multiplier)
    epsilon = round_up(1 / mpf(scale_multiplier))
    return Dominated((((LaplaceLaw(epsilon, epsilon), 1),),), f"Laplace, ε = {epsilon:g}", epsilon)


def poisson_subsampled_gaussian(
    noise_multiplier: float, rate: float, adjacency: Adjacency = Adjacency.ADD_REMOVE
) -> Guarantee:
    """Gaussian noise on the sum over a Poisson sample.

    Args:
        noise_multiplier: noise standard deviation over one record's largest norm.
        rate: probability with which a record is sampled, in (0, 1].
        adjacency: add-remove or replace-one.
    """
    checks.positive("noise_multiplier", noise_multiplier)
    _rate(rate)
    described = f"Poisson-subsampled Gaussian, q = {rate:g}, σ = {noise_multiplier:g}"
    if adjacency == Adjacency.ADD_REMOVE:
        if rate == 1:
            return gaussian(noise_multiplier)
        pairs = PoissonRemove(noise_multiplier, rate), PoissonAdd(noise_multiplier, rate)
        return Dominated(tuple(((pair, 1),) for pair in pairs), described)
    if adjacency == Adjacency.REPLACE_ONE:
        if rate == 1:
            return GDP(round_up(2 / mpf(noise_multiplier)))
        return Dominated((((PoissonReplace(noise_multiplier, rate), 1),),), described)
    raise InvalidInput(f"adjacency add-remove or replace-one was needed; got {adjacency!r}")


def sampled_without_replacement(mu: float, rate: float) -> Guarantee:
    """A mechanism that is μ-GDP for replacing a sampled record, run on b of n records; replace-one.

    Args:
        mu: GDP parameter of the unsampled replacement: twice the norm bound over σ for a sum.
        rate: b/n, in (0, 1].
    """
    checks.positive("mu", mu)
    _rate(rate)
    if rate == 1:
        return GDP(mu)
    described = f"Gaussian sampled without replacement, γ = {rate:g}, μ = {mu:g}"
    return Dominated((((WithoutReplacement(mu, rate), 1),),), described)


def _rate(rate: float) -> None:
    checks.probability("rate", rate)
    if rate == 0:
        raise InvalidInput("rate needs a number in (0, 1]; got rate=0; nothing would be sampled")
