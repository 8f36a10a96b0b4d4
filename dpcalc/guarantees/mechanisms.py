"""Guarantees of named mechanisms, by their dominating pairs."""

from __future__ import annotations

from dpcalc import checks
from dpcalc.accounting.losses import LaplaceLoss
from dpcalc.accounting.losses.exponential_norm import (
    LARGEST_BOUND,
    LARGEST_DIMENSION,
    SMALLEST_BOUND,
    ExponentialNorm,
)
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.distributions import finite_distributions, from_densities, from_profile
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.pure import PureDP
from dpcalc.guarantees.sampled_replacement import sampled_gaussian
from dpcalc.guarantees.units import moved, sensitivity_over_noise
from dpcalc.numerals import at_least, at_most
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.vocabulary import Adjacency, AdjacencyName

__all__ = [
    "exponential_norm",
    "finite_distributions",
    "from_densities",
    "from_profile",
    "gaussian",
    "gaussian_without_replacement",
    "laplace",
    "poisson_subsampled_gaussian",
    "sampled_without_replacement",
]


@own_arithmetic
def gaussian(
    noise_multiplier: float | None = None,
    adjacency: Adjacency | AdjacencyName | None = None,
    *,
    noise_over_sensitivity: float | None = None,
) -> Guarantee:
    """Gaussian noise on a sum of records.

    Example::

        from dpcalc import mechanisms
        print(mechanisms.gaussian(1.1, "add-remove").epsilon(1e-6))

    Args:
        noise_multiplier: noise standard deviation over the largest norm of one record's
            contribution, above 0; needs ``adjacency``.
        adjacency: add-remove, or replace-one, which moves the sum twice as far.
        noise_over_sensitivity: instead of both, the standard deviation over the largest distance
            of two neighbours.

    Returns:
        A Gaussian guarantee with μ = 1/noise_over_sensitivity.

    Raises:
        InvalidInput: for a multiplier of 0 or below, both or none of the two units, and a multiplier
            without its adjacency.

    Source: Dong, Roth and Su 2022, for the trade-off curve; exact.
    """
    mu = sensitivity_over_noise("noise", noise_multiplier, adjacency, noise_over_sensitivity)
    return GDP(round_up(mu)).under(adjacency)


@own_arithmetic
def laplace(
    scale_multiplier: float | None = None,
    adjacency: Adjacency | AdjacencyName | None = None,
    *,
    scale_over_sensitivity: float | None = None,
) -> Guarantee:
    """Laplace noise on a sum of records, norms being sums of absolute values.

    Example::

        from dpcalc import mechanisms
        print(mechanisms.laplace(2, "add-remove").epsilon(0))

    Args:
        scale_multiplier: scale b of the density ``e^{-|x|/b}/2b`` over the largest norm of one record's
            contribution, above 0; needs ``adjacency``.
        adjacency: add-remove, or replace-one, which moves the sum twice as far.
        scale_over_sensitivity: instead of both, the scale over the largest distance of two
            neighbours.

    Returns:
        A guarantee with the exact law of the privacy loss, 1/scale_over_sensitivity-DP at δ = 0.

    Raises:
        InvalidInput: for a scale of 0 or below, both or none of the two units, and a multiplier
            without its adjacency.
    """
    epsilon = round_up(
        sensitivity_over_noise("scale", scale_multiplier, adjacency, scale_over_sensitivity)
    )
    described = f"Laplace, ε = {epsilon:g}"
    return DominatedMechanism((((LaplaceLoss(epsilon, epsilon), 1),),), described, epsilon).under(
        adjacency
    )


@own_arithmetic
def exponential_norm(
    scale_multiplier: float | None = None,
    dimension: int = 1,
    adjacency: Adjacency | AdjacencyName | None = None,
    *,
    scale_over_sensitivity: float | None = None,
) -> Guarantee:
    """Noise with density proportional to e^{-‖b‖/scale} on ``dimension`` coordinates.

    Example::

        from dpcalc import mechanisms
        print(mechanisms.exponential_norm(2, 10, "add-remove").epsilon(1e-6))

    Args:
        scale_multiplier: scale over the largest Euclidean norm of one record's contribution, above
            0; needs ``adjacency``.
        dimension: 1 (Laplace noise) or above; the pure bound 1/scale_over_sensitivity holds in all.
        adjacency: add-remove, or replace-one, which moves the sum twice as far.
        scale_over_sensitivity: instead of scale and adjacency, the scale over the largest distance
            of two neighbours.

    Returns:
        A guarantee with the exact law of the privacy loss in this dimension; with hardly any noise
        (a scale below 1e-8 of the sensitivity) the pure bound.

    Raises:
        InvalidInput: for a dimension below 1, and a scale of 0 or below.
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
    described = f"exponential-norm noise, ε = {epsilon:g}, d = {dimension}"
    if epsilon > LARGEST_BOUND:
        losses = PureDP(epsilon).losses() or ()
        return DominatedMechanism(losses, described, epsilon, attained=False).under(adjacency)
    pair = ExponentialNorm(max(epsilon, SMALLEST_BOUND), dimension)
    return DominatedMechanism((((pair, 1),),), described, epsilon).under(adjacency)


@own_arithmetic
def poisson_subsampled_gaussian(
    noise_multiplier: float, rate: float, adjacency: Adjacency | AdjacencyName | None = None
) -> Guarantee:
    """Gaussian noise on the sum over a Poisson sample.

    Example::

        from dpcalc import mechanisms
        print(mechanisms.poisson_subsampled_gaussian(1.1, 0.01, "add-remove").epsilon(1e-6))

    Args:
        noise_multiplier: noise standard deviation over the largest norm of one record's
            contribution, above 0.
        rate: probability with which a record is sampled, in (0, 1].
        adjacency: add-remove or replace-one; has to be said.

    Returns:
        A guarantee with the exact law of the privacy loss, one for each direction under add-remove.

    Raises:
        InvalidInput: for a multiplier of 0 or below, a rate outside (0, 1], and without an adjacency.

    Source: the dominating pairs of Zhu, Dong and Wang 2022.
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

    Example::

        from dpcalc import mechanisms
        print(mechanisms.gaussian_without_replacement(1.1, 10, 1000).epsilon(1e-6))

    Args:
        noise_multiplier: noise standard deviation over the largest norm of one record's
            contribution, above 0.
        sample: records in a sample, 1 or above.
        population: records in all.

    Returns:
        A guarantee under replace-one. Where nothing else is released, rounds of it are composed by
        the smaller of two bounds: their dominating pairs, and their χ²-divergence.

    Raises:
        InvalidInput: for a sample larger than the population.

    Source: amplification by subsampling, Balle, Barthe and Gaboardi 2018, theorem 11; for the
    χ²-divergence docs/theorems/private-dual-averaging.md.
    """
    population = checks.count("population", population)
    sample = checks.count("sample", sample)
    if sample > population:
        raise InvalidInput(f"sample needs to be at most population={population}; got {sample}")
    mu = sensitivity_over_noise("noise", noise_multiplier, Adjacency.REPLACE_ONE, None)
    return sampled_gaussian(round_up(mu), min(1.0, round_up(mpf(sample) / population)))


@own_arithmetic
def sampled_without_replacement(mu: float, rate: float) -> Guarantee:
    """A mechanism that is μ-GDP for replacing a sampled record, run on b of n records; replace-one.

    Example::

        from dpcalc import mechanisms
        print(mechanisms.sampled_without_replacement(1.0, 0.01).epsilon(1e-6))

    Args:
        mu: GDP parameter of the unsampled replacement: twice one record's largest norm over σ, for
            a sum.
        rate: b/n, in (0, 1].

    Returns:
        A guarantee that dominates it, attained by a Gaussian mechanism.

    Raises:
        InvalidInput: for a μ below 0 or infinite, and a rate outside (0, 1].

    Source: Balle, Barthe and Gaboardi 2018, theorem 11.
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
