"""Densities, their windows and their moments, against mpmath and plain sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.losses import DiscreteLoss, GaussianLoss, disclosure
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.gaussian_update import MovedGaussian
from dpcalc.accounting.losses.laplace_density import LaplaceBody
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.accounting.losses.user_densities import from_user_densities
from dpcalc.accounting.renyi import failure, log_moment, renyi_divergence, renyi_given_finite
from tests.unit.mechanism_densities import PAIRS, mixtures

pytestmark = pytest.mark.usefixtures("fifty_digits")


def normal(x, mean, sigma):
    return mp.npdf(mpf(x), mpf(mean), mpf(sigma))


def densities(pair: DensityPair, x: float) -> tuple[mp.mpf, mp.mpf]:
    """p and q from the mechanism's definition."""
    if isinstance(pair, WithoutReplacement):
        q = normal(x, 0, 1)
        return (1 - mpf(pair.rate)) * q + mpf(pair.rate) * normal(x, pair.mu, 1), q
    if isinstance(pair, MovedGaussian):
        return normal(x, mpf(pair.mu) / 2, 1), normal(x, -mpf(pair.mu) / 2, 1)
    if isinstance(pair, LaplaceBody):
        e = mpf(pair.epsilon)
        return mp.exp((x - e) / 2) / 4, mp.exp(-(x + e) / 2) / 4
    assert isinstance(pair, PoissonRemove | PoissonAdd | PoissonReplace)
    r, s = mpf(pair.rate), pair.sigma
    plain = normal(x, 0, s)
    right = (1 - r) * plain + r * normal(x, 1, s)
    left = (1 - r) * plain + r * normal(x, -1, s)
    if isinstance(pair, PoissonRemove):
        return right, plain
    return (plain, left) if isinstance(pair, PoissonAdd) else (right, left)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_densities_and_losses(pair: DensityPair) -> None:
    low, high = pair.truncation_interval(1e-30)
    xs = np.linspace(low, high, 41)
    logs, losses = pair.log_q(xs), pair.loss(xs)
    with mp.workdps(40):
        for x, log_q, loss in zip(xs.tolist(), logs, losses, strict=True):
            p, q = densities(pair, x)
            assert log_q == pytest.approx(float(mp.log(q)), rel=1e-13, abs=1e-13)
            assert loss == pytest.approx(float(mp.log(p / q)), rel=1e-12, abs=1e-14)
    assert np.all(np.diff(losses) >= 0)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
@pytest.mark.parametrize("tail", [1e-3, 1e-40])
def test_what_windows_leave_out(pair: DensityPair, tail: float) -> None:
    low, high = pair.truncation_interval(tail)
    if isinstance(pair, LaplaceBody):
        assert (low, high) == (-0.6, 0.6)
        return
    parts, _ = mixtures(pair)
    with mp.workdps(60):
        right = mp.fsum(w * mp.ncdf((m - mpf(high)) / mpf(s)) for w, m, s in parts)
        left = mp.fsum(w * mp.ncdf((mpf(low) - m) / mpf(s)) for w, m, s in parts)
    assert right <= tail
    # The bound of a normal tail, e^{-z²/2}/2, is not far off; a mixture's other part is less.
    assert right >= mpf(tail) * mpf("1e-3") * min(getattr(pair, "rate", 1.0), 1.0)
    assert low == 0.6 if isinstance(pair, WithoutReplacement) else left <= tail


def test_bounds_of_total_variation_noise_and_suprema() -> None:
    assert PoissonRemove(0.8, 0.01).total_variation_bound == 0.01
    assert PoissonRemove(0.5, 0.01).signal_to_noise == 2.0
    assert PoissonReplace(0.5, 0.01).signal_to_noise == 4.0
    assert WithoutReplacement(1.2, 0.3).signal_to_noise == 1.2
    assert WithoutReplacement(1.2, 0.3).total_variation_bound == 0.3
    assert PoissonRemove(0.8, 0.01).supremum == math.inf
    bound = -math.log1p(-0.3)
    assert bound <= PoissonAdd(0.8, 0.3).supremum <= bound * (1 + 2e-14)
    assert PoissonAdd(0.8, 1.0).supremum == math.inf
    body = LaplaceBody(0.6)
    assert body.supremum == 0.6
    assert 0 < body.total_variation_bound - (1 - math.exp(-0.3)) < 1e-14
    assert body.max_cell_width(np.zeros(3)).tolist() == [0.5] * 3
    assert MovedGaussian(0.7).total_variation_bound == 1.0
    assert MovedGaussian(0.7).signal_to_noise == 0.0
    widths = PoissonRemove(0.5, 0.1).max_cell_width(np.array([-2.0, 0.0, 3.0]))
    np.testing.assert_allclose(widths, [0.3 / 7, 0.3 / 3, 0.3 / 9])
    widths = MovedGaussian(0.6).max_cell_width(np.array([-2.0, 0.0]))
    np.testing.assert_allclose(widths, [0.6 / 3.3, 0.6 / 1.3])
    widths = WithoutReplacement(1.2, 0.3).max_cell_width(np.array([0.2, 3.0]))
    np.testing.assert_allclose(widths, [0.6 / 2.4, 0.6 / 5.2])


@pytest.mark.parametrize("exponent", [0.5, 8.0, 60.0])
@pytest.mark.parametrize("pair", PAIRS[:9], ids=repr)
@pytest.mark.few(12)
def test_moments_beyond_their_window(pair: DensityPair, exponent: float) -> None:
    (low, high), log_rest = pair.moment_interval(exponent)
    if log_rest == math.inf:
        return
    farthest = (high - 1) / getattr(pair, "sigma", 1.0) > 35
    assert (log_rest > -90.0) == farthest
    with mp.workdps(40):
        s = mpf(exponent)

        def integrand(x):
            p, q = densities(pair, x)
            return p * max((p / q) ** s - 1, mpf(0))

        step = mpf(getattr(pair, "sigma", 1.0))
        right = mp.quad(integrand, [high, high + step, high + 4 * step, high + 30 * step])
        assert right <= mp.exp(log_rest) * mpf("1.001")
        if not isinstance(pair, WithoutReplacement):
            left = mp.quad(integrand, [low - 30 * step, low - step, low])
            assert left <= mp.exp(-90)
    if farthest:
        return
    alpha, root = exponent + 1, math.sqrt(180)
    if isinstance(pair, PoissonAdd):
        growth = -exponent * math.log1p(-pair.rate)
        assert high == pytest.approx(math.sqrt(180 + 2 * growth) * pair.sigma)
        assert low == pytest.approx(-max(high, 0.5))
    else:
        mu = pair.mu if isinstance(pair, WithoutReplacement) else 1 / pair.sigma
        unit = 1.0 if isinstance(pair, WithoutReplacement) else pair.sigma
        growth = -exponent * math.log1p(-pair.rate) if isinstance(pair, PoissonReplace) else 0.0
        reach = math.sqrt(180 + 2 * growth + alpha * exponent * mu * mu)
        assert high == pytest.approx((alpha * mu + reach) * unit)
        start = mu / 2 if isinstance(pair, WithoutReplacement) else -root * unit
        assert low == pytest.approx(start)
    coarse = pair.log_moment_bound(exponent)
    assert log_moment(pair, exponent) <= coarse
    with mp.workdps(30):
        mu = 2 if isinstance(pair, PoissonReplace) else 1
        one = mpf(pair.mu) if isinstance(pair, WithoutReplacement) else mu / mpf(pair.sigma)
        exact = mpf(exponent) * (mpf(exponent) + 1) * one**2 / 2
        assert exact <= coarse <= exact * (1 + mpf("1e-13"))


def test_moments_where_no_window_can_be_had() -> None:
    assert PoissonRemove(1e-160, 0.5).moment_interval(8.0)[1] == math.inf
    window, rest = LaplaceBody(0.6).moment_interval(3.0)
    assert (window, rest) == ((-0.6, 0.6), math.inf)
    assert LaplaceBody(0.6).log_moment_bound(3.0) == math.inf
    next_to_none = PoissonRemove(1e-5, 0.5)
    bound = next_to_none.log_moment_bound(2.0)
    assert bound * (1 - 1e-9) < log_moment(next_to_none, 2.0) <= bound


@pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[5], PAIRS[6]], ids=repr)
def test_a_moment_of_a_pair_is_close_above(pair: DensityPair) -> None:
    for exponent in (3.0,):
        with mp.workdps(15):

            def integrand(x, s=exponent):
                p, q = densities(pair, x)
                return p * (p / q) ** mpf(s)

            s = pair.sigma
            far = 1 + exponent + 14 * s
            ends = [-far + k * far / 8 for k in range(17)]
            truth = mp.log(mp.quad(integrand, [*ends, far + 2, far + 8]))
        found = log_moment(pair, exponent)
        assert truth <= found <= float(truth) * (1 + 1e-4)


def test_divergences_and_failures() -> None:
    parts = [(GaussianLoss(0.5), 3), (disclosure(0.1), 2)]
    held = 2 * math.log1p(-0.1)
    assert renyi_divergence(parts, 4.0) == math.inf
    found = renyi_given_finite(parts, 4.0)
    moment = 3 * 0.25 * 3 * 4 / 2 + 2 * math.log(0.9)
    assert found == pytest.approx((moment - 4 * held) / 3, rel=1e-13)
    assert renyi_divergence(parts[:1], 4.0) == pytest.approx(4 * 0.75 / 2, rel=1e-13)
    # Rounded up: a moment is no less than the law's own with its error.
    for mu, order in ((0.5, 3.0), (2.0, 8.0), (30.0, 2.0)):
        tilted = GaussianLoss(mu).tilted(order)
        assert log_moment(GaussianLoss(mu), order) > tilted.log_moment + tilted.rounding
        one = log_moment(GaussianLoss(mu), order - 1) * (1 / (order - 1))
        assert renyi_divergence([(GaussianLoss(mu), 1)], order) > one
    assert renyi_given_finite([(disclosure(1.0), 1)], 4.0) == math.inf
    assert failure(parts) == pytest.approx(0.19, rel=1e-13)
    assert failure(parts) >= 1 - 0.81
    assert failure([(disclosure(1.0), 1)]) == 1.0
    far = DiscreteLoss(np.array([200.0, -1.0]), np.array([0.25, 0.5]))
    value = log_moment(far, 10.0)
    assert 2000 + math.log(0.25) <= value <= (2000 + math.log(0.25)) * (1 + 1e-10)
    edge = DiscreteLoss(np.array([100.0, -1.0]), np.array([0.25, 0.5]))
    for exponent in (5.9, 6.1):
        value = log_moment(edge, exponent)
        assert value == pytest.approx(100 * exponent + math.log(0.25), rel=1e-9)
    user = from_user_densities(
        lambda x: -((x - 0.5) ** 2) / 2 - 0.5 * math.log(2 * math.pi),
        lambda x: -(x**2) / 2 - 0.5 * math.log(2 * math.pi),
        (-11.0, 11.0), 1.0, 1e-20,
    )  # fmt: skip
    assert failure([(user, 3)]) == pytest.approx(6e-20, rel=1e-9)


@pytest.mark.parametrize("order", [2.0, 10.0, 36.0, 40.0, 45.0, 60.0, 79.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_densities_too_small_for_doubles_are_not_left_out(order: float, *, mirrored: bool) -> None:
    """The peak of the moment lies at α standard deviations; beyond 38 the density is no double."""
    side = -1 if mirrored else 1
    base = math.log(2 * math.pi) / 2
    pair = from_user_densities(
        lambda x: -((x - side) ** 2) / 2 - base,
        lambda x: -(x**2) / 2 - base,
        (-90.0, 90.0),
        1.0,
        0.0,
    )
    found = renyi_divergence([(pair, 1)], order)
    assert order / 2 <= found
    assert found <= order / 2 * (1.0001 if order <= 10 else 1.5)
