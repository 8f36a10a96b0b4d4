"""Guarantees of named mechanisms, by their dominating pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dpcalc import checks
from dpcalc.accounting.losses import AtomicLaw, LaplaceLaw
from dpcalc.accounting.losses.either_order import density_law_in_either_order, law_in_either_order
from dpcalc.accounting.losses.exponential_norm import LARGEST_DIMENSION, ExponentialNorm
from dpcalc.accounting.losses.privacy_profile import law_from_distributions, law_from_points
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.accounting.losses.user_densities import Density, supplied_pair
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.units import moved, sensitivity_over_noise
from dpcalc.numerals import at_least, at_most
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.vocabulary import Adjacency


@own_arithmetic
def gaussian(
    noise_multiplier: float | None = None,
    adjacency: Adjacency | str | None = None,
    *,
    noise_over_sensitivity: float | None = None,
) -> Guarantee:
    """Gaussian noise on a sum of records.

    Args:
        noise_multiplier: noise standard deviation over the largest norm of one record's
            contribution, above 0; needs ``adjacency``.
        adjacency: add-remove, or replace-one, which moves the sum twice as far.
        noise_over_sensitivity: instead of both, the standard deviation over the largest distance
            of two neighbours.
    """
    mu = sensitivity_over_noise("noise", noise_multiplier, adjacency, noise_over_sensitivity)
    return GDP(round_up(mu)).under(adjacency)


@own_arithmetic
def laplace(
    scale_multiplier: float | None = None,
    adjacency: Adjacency | str | None = None,
    *,
    scale_over_sensitivity: float | None = None,
) -> Guarantee:
    """Laplace noise on a sum of records, norms being sums of absolute values.

    Args:
        scale_multiplier: scale b of the density ``e^{-|x|/b}/2b`` over the largest norm of one record's
            contribution, above 0; needs ``adjacency``.
        adjacency: add-remove, or replace-one, which moves the sum twice as far.
        scale_over_sensitivity: instead of both, the scale over the largest distance of two
            neighbours.
    """
    epsilon = round_up(
        sensitivity_over_noise("scale", scale_multiplier, adjacency, scale_over_sensitivity)
    )
    described = f"Laplace, ε = {epsilon:g}"
    return DominatedMechanism((((LaplaceLaw(epsilon, epsilon), 1),),), described, epsilon).under(
        adjacency
    )


@own_arithmetic
def exponential_norm(
    scale_multiplier: float | None = None,
    dimension: int = 1,
    adjacency: Adjacency | str | None = None,
    *,
    scale_over_sensitivity: float | None = None,
) -> Guarantee:
    """Noise with density proportional to e^{-‖b‖/scale} on ``dimension`` coordinates.

    Args:
        scale_multiplier: scale over the largest Euclidean norm of one record's contribution, above
            0; needs ``adjacency``.
        dimension: 1 (Laplace noise) or above; the pure bound 1/scale_over_sensitivity holds in all.
        adjacency: add-remove, or replace-one, which moves the sum twice as far.
        scale_over_sensitivity: instead of scale and adjacency, the scale over the largest distance
            of two neighbours.
    """
    epsilon = round_up(
        sensitivity_over_noise("scale", scale_multiplier, adjacency, scale_over_sensitivity)
    )
    dimension = checks.count("dimension", dimension)
    if dimension == 1:
        return laplace(scale_multiplier, adjacency, scale_over_sensitivity=scale_over_sensitivity)
    if dimension > LARGEST_DIMENSION:
        raise InvalidInput(
            f"dimension needs to be at most {LARGEST_DIMENSION:,}; got dimension={dimension}; "
            "the pure bound PureDP(1/scale_over_sensitivity) holds in every dimension"
        )
    pair = ExponentialNorm(epsilon, dimension)
    described = f"exponential-norm noise, ε = {epsilon:g}, d = {dimension}"
    return DominatedMechanism((((pair, 1),),), described, epsilon).under(adjacency)


@own_arithmetic
def finite_distributions(
    p: Sequence[float], q: Sequence[float], adjacency: Adjacency | str
) -> Guarantee:
    """A mechanism whose output has one of two finite distributions.

    Args:
        p: probabilities of the outcomes on one data set; under add-remove on the one with the
            record, in every mechanism that is composed with this one.
        q: probabilities of the same outcomes on its neighbour; under add-remove on the one without
            the record.
        adjacency: add-remove keeps the order, the same in all rounds; under any other relation each
            round may meet the two in either order, as when a record is exchanged for another.
    """
    described = f"two distributions of {len(p)} outcomes"
    if _keeps_order(adjacency):
        laws = [law_from_distributions(p, q), law_from_distributions(q, p)]
        largest = math.nextafter(max(map(_largest, laws)), math.inf)
    else:
        laws = [law_in_either_order(p, q)]
        largest = _largest(laws[0])
    directions = tuple(((law, 1),) for law in laws)
    return DominatedMechanism(directions, described, largest, len(laws) == 2).under(adjacency)


def _largest(law: AtomicLaw) -> float:
    return math.inf if law.infinite_mass > 0 else law.supremum


def _keeps_order(adjacency: Adjacency | str | None) -> bool:
    """Whether a relation tells which of two neighbours is which.

    Raises:
        InvalidInput: for none, with both readings, and for an unknown one.
    """
    if adjacency is None or adjacency not in tuple(Adjacency):
        raise InvalidInput(
            "adjacency is needed for two distributions: under add-remove p belongs to the data set "
            "with the record in every round, under replace-one each round may meet p and q in "
            f"either order, which reveals more; got {adjacency!r}; try adjacency='replace-one'"
        )
    return adjacency == Adjacency.ADD_REMOVE


@own_arithmetic
def from_profile(points: Iterable[tuple[float, float]]) -> Guarantee:
    """Any mechanism that is (ε, δ)-DP for each of several pairs, in both directions.

    Args:
        points: pairs (ε, δ); more of them make a tighter bound.
    """
    law = law_from_points(points)
    described = f"profile, {len(law.losses)} corners"
    return DominatedMechanism((((law, 1),),), described, _largest(law), attained=False)


@own_arithmetic
def from_densities(
    log_p: Density,
    log_q: Density,
    *,
    support: tuple[float, float],
    scale: float,
    outside: float = 0.0,
    symmetric: bool = False,
    adjacency: Adjacency | str | None = None,
) -> Guarantee:
    """A mechanism whose worst case is a pair of densities on the line, given by their logarithms.

    What nobody but the caller can vouch for: that no other pair of neighbours is worse, and that
    the densities are as smooth as ``scale`` says. That ln(p/q) is monotone, the mass and the effect
    of the scale are checked.

    Args:
        log_p: array of points -> ln p; under add-remove on the data set with the record.
        log_q: array of points -> ln q.
        support: a finite interval that holds all the mass but ``outside``.
        scale: length over which the densities change; the standard deviation for a normal one.
        outside: bound on the mass of p and of q on either side of the interval.
        symmetric: q against p has the same law, as for shifted symmetric noise.
        adjacency: needed unless ``symmetric``: add-remove keeps the order of the two in all rounds,
            under any other relation each round may meet them in either order.
    """
    pairs = [supplied_pair(log_p, log_q, support, scale, outside)]
    if not symmetric:
        keeps_order = _keeps_order(adjacency)
        pairs.append(supplied_pair(log_q, log_p, support, scale, outside))
        if not keeps_order:
            law = density_law_in_either_order(*pairs)
            described = "supplied densities in either order"
            found = DominatedMechanism((((law, 1),),), described, _largest(law), attained=False)
            return found.under(adjacency)
    directions = tuple(((pair, 1),) for pair in pairs)
    return DominatedMechanism(directions, "supplied densities").under(adjacency)


@own_arithmetic
def poisson_subsampled_gaussian(
    noise_multiplier: float, rate: float, adjacency: Adjacency | str | None = None
) -> Guarantee:
    """Gaussian noise on the sum over a Poisson sample.

    Args:
        noise_multiplier: noise standard deviation over the largest norm of one record's
            contribution, above 0.
        rate: probability with which a record is sampled, in (0, 1].
        adjacency: add-remove or replace-one; has to be said.
    """
    noise_multiplier, rate = checks.positive("noise_multiplier", noise_multiplier), _rate(rate)
    moved(adjacency)
    if rate == 1:
        return gaussian(noise_multiplier, adjacency)
    described = f"Poisson-subsampled Gaussian, q = {rate:g}, σ = {noise_multiplier:g}"
    noise, share = at_most(noise_multiplier), min(1.0, at_least(rate))
    typed = (("noise_multiplier", noise_multiplier), ("rate", rate))
    if adjacency == Adjacency.ADD_REMOVE:
        pairs = PoissonRemove(noise, share), PoissonAdd(noise, share)
        return DominatedMechanism(
            tuple(((pair, 1),) for pair in pairs), described, typed=typed
        ).under(adjacency)
    return DominatedMechanism(
        (((PoissonReplace(noise, share), 1),),), described, typed=typed
    ).under(adjacency)


@own_arithmetic
def gaussian_without_replacement(
    noise_multiplier: float, sample: int, population: int
) -> Guarantee:
    """Gaussian noise on the sum over a random sample of fixed size; replace-one.

    Args:
        noise_multiplier: noise standard deviation over the largest norm of one record's
            contribution, above 0.
        sample: records in a sample, 1 or above.
        population: records in all.
    """
    population = checks.count("population", population)
    sample = checks.count("sample", sample)
    if sample > population:
        raise InvalidInput(f"sample needs to be at most population={population}; got {sample}")
    mu = sensitivity_over_noise("noise", noise_multiplier, Adjacency.REPLACE_ONE, None)
    return sampled_without_replacement(round_up(mu), min(1.0, round_up(mpf(sample) / population)))


@own_arithmetic
def sampled_without_replacement(mu: float, rate: float) -> Guarantee:
    """A mechanism that is μ-GDP for replacing a sampled record, run on b of n records; replace-one.

    Args:
        mu: GDP parameter of the unsampled replacement: twice one record's largest norm over σ, for
            a sum.
        rate: b/n, in (0, 1].
    """
    mu, rate = at_least(checks.positive("mu", mu)), min(1.0, at_least(_rate(rate)))
    if rate == 1:
        return GDP(mu, adjacency=Adjacency.REPLACE_ONE)
    described = f"Gaussian sampled without replacement, γ = {rate:g}, μ = {mu:g}"
    directions = (((WithoutReplacement(mu, rate), 1),),)
    return DominatedMechanism(directions, described, attained=False).under(Adjacency.REPLACE_ONE)


def _rate(rate: float) -> float:
    rate = checks.probability("rate", rate)
    if rate == 0:
        raise InvalidInput("rate needs a number in (0, 1]; got rate=0; nothing would be sampled")
    return rate
