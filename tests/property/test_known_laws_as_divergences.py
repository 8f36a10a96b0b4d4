"""Releases whose laws are known, declared by their divergences next to others: never below the truth.

The truth is Gaussian in closed form, or the lower end of the sum of all losses.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc import mechanisms
from dpcalc.guarantees import GDP, RDP, ZCDP, Guarantee, PureDP, compose
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.mixed import MixedReleases
from dpcalc.guarantees.through_renyi import ApproximateRDP

COUNT = 36
LEAST = 1 - 1e-12
"""Of a closed form that is rounded up itself."""

Plan = tuple[Guarantee, Guarantee]


def mu_of(draw: np.random.Generator) -> float:
    return float(10.0 ** draw.uniform(-2, 0.7))


def gaussian_as_divergences(draw: np.random.Generator, mu: float) -> Guarantee:
    """A Gaussian release, by zCDP, a curve, or the divergences of a few orders."""
    rho = math.nextafter(mu * mu / 2, math.inf)
    kind = draw.integers(3)
    if kind == 0:
        return ZCDP(rho)
    if kind == 1:
        return RDP(lambda order: math.nextafter(order * rho, math.inf))
    orders = 1 + np.sort(10.0 ** draw.uniform(-1, 2.5, int(draw.integers(1, 8))))
    return RDP.from_points({a: math.nextafter(a * rho, math.inf) for a in orders.tolist()})


def laplace_curve(scale: float, count: int) -> RDP:
    """Mironov 2017, table II, with thirty digits, as a curve."""

    def curve(order: float) -> float:
        with mp.workdps(30):
            a, b = mpf(order), mpf(scale)
            far = a / (2 * a - 1) * mp.expm1((a - 1) / b)
            near = (a - 1) / (2 * a - 1) * mp.expm1(-a / b)
            return float(mp.log1p(far + near) / (a - 1) * count * (1 + mpf("1e-15")))

    return RDP(curve)


def response_curve(epsilon: float, count: int) -> RDP:
    """Randomised response: two outcomes."""

    def curve(order: float) -> float:
        with mp.workdps(30):
            a, e = mpf(order), mpf(epsilon)
            p, q = 1 / (1 + mp.exp(-e)), 1 / (1 + mp.exp(e))
            excess = p * mp.expm1((a - 1) * e) + q * mp.expm1((1 - a) * e)
            return float(mp.log1p(excess) / (a - 1) * count * (1 + mpf("1e-15")))

    return RDP(curve)


def delta_of(draw: np.random.Generator) -> float:
    return float(10.0 ** draw.uniform(-30, math.log10(0.5)))


@pytest.mark.parametrize("seed", range(COUNT))
def test_gaussian_releases_next_to_gaussian_ones(seed: int) -> None:
    """ε, δ and the trade-off curve; of those that may fail too."""
    draw = np.random.default_rng([1, seed])
    known, bare = mu_of(draw), mu_of(draw)
    failure = float(10.0 ** draw.uniform(-12, -2)) if seed % 4 == 3 else 0.0
    declared = gaussian_as_divergences(draw, bare)
    part = ApproximateRDP(declared, failure) if failure else declared  # type: ignore[arg-type]
    rounds, times = int(draw.integers(1, 6)), int(draw.integers(1, 6))
    found = compose((GDP(known), rounds), (part, times))
    exact = GDP(math.hypot(known * math.sqrt(rounds), bare * math.sqrt(times)))
    failure = -math.expm1(times * math.log1p(-failure))
    assert isinstance(found, MixedReleases)
    for delta in (delta_of(draw), delta_of(draw)):
        left = (delta - failure * LEAST) / (1 - failure)
        epsilon = found.epsilon(delta)
        assert epsilon >= (exact.epsilon(left) * LEAST if left > 0 else math.inf)
        if 0 < epsilon < math.inf:
            at = float(epsilon * draw.uniform(0.2, 1.1))
            truth = failure + (1 - failure) * exact.delta(at)
            assert found.delta(at) >= truth * LEAST
            assert found.deltas([at])[0] >= truth * LEAST
    rate = float(draw.uniform(0.01, 0.9))
    if not failure:
        assert found.tradeoff(rate) <= exact.tradeoff(rate) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(COUNT // 2))
def test_laplace_noise_and_randomised_response_by_their_curves(seed: int) -> None:
    draw = np.random.default_rng([2, seed])
    count, size = int(draw.integers(1, 4)), float(10.0 ** draw.uniform(-1.5, 0.7))
    pure: Guarantee
    if seed % 2:
        pure, curve = PureDP(size), response_curve(size, count)
    else:
        pure = mechanisms.laplace(1 / size, "add-remove")
        curve = laplace_curve(1 / size, count)
    other: Guarantee = GDP(mu_of(draw)) if seed % 3 else mechanisms.laplace(2.0, "add-remove")
    found, exact = compose(other, curve), compose(other, (pure, count))
    assert isinstance(found, MixedReleases)
    assert isinstance(exact, Composition)
    for delta in (delta_of(draw), delta_of(draw)):
        epsilon = found.epsilon(delta)
        assert epsilon >= exact.bracket(delta).lower
        assert found.delta(epsilon) >= exact.delta_bracket(epsilon).lower


@pytest.mark.parametrize("seed", range(COUNT // 3))
def test_sampled_gaussian_noise_by_its_divergences(seed: int) -> None:
    draw = np.random.default_rng([3, seed])
    noise, rate = float(draw.uniform(0.7, 3)), float(10.0 ** draw.uniform(-3, -0.5))
    sampled = mechanisms.poisson_subsampled_gaussian(noise, rate, "add-remove")
    count, mu = int(draw.integers(1, 60)), mu_of(draw)
    orders = 1 + np.geomspace(0.1, 200, 24)
    curve = RDP.from_points({a: sampled.renyi(a) * count * (1 + 1e-14) for a in orders.tolist()})
    found, exact = compose(GDP(mu), curve), compose(GDP(mu), (sampled, count))
    assert isinstance(exact, Composition)
    delta = delta_of(draw)
    assert found.epsilon(delta) >= exact.bracket(delta).lower
