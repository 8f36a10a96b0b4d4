"""The divergence of a shift that falls, against exact laws of such shifts and of the noise."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from dpcalc.accounting.losses import objective_perturbation
from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.falling_shift import (
    capped,
    exponential_scales,
    mean_profile,
    removal_profile,
)
from dpcalc.accounting.losses.gaussian_update import GaussianUpdate
from dpcalc.accounting.losses.objective_perturbation import removal_laws
from tests.oracles.falling_shift import PLACES, Vector, divergences
from tests.oracles.random_instances import ROOM, falling


def test_no_falling_shift_exceeds_its_bound() -> None:
    rng = np.random.default_rng(31)
    assert 0.9 < max(falling(rng) for _ in range(60)) <= 1 + ROOM[falling]


@pytest.mark.parametrize(
    ("mu", "stiffness", "depth"),
    [(0.01, 50.0, 2.5), (0.01, 50.0, 5.0), (0.2, 8.0, 0.5), (0.05, 5.0, 0.25)],
)
def test_the_worst_fall_comes_near(mu: float, stiffness: float, depth: float) -> None:
    """One fall at the fastest rate, which exceeds what a shift that stays reveals."""
    kappa = mu * stiffness
    ratios, bounds = removal_profile(mu, kappa)
    i = int(np.argmin(np.abs(np.log(ratios) / mu - depth)))

    def attained(z: Vector) -> float:
        path = z[0] - stiffness * np.clip(PLACES - z[1], 0, 6)
        return float(divergences(mu, path, ratios[i : i + 1])[0])

    found = max(
        -minimize(lambda z: -attained(z), start, method="Nelder-Mead", options={"maxiter": 60}).fun
        for start in ((4.0, 0.0), (3.0, 1.0), (3.0, 2.0))
    )
    assert 0.8 * bounds[i] < found <= bounds[i]
    moved = ndtr(mu / 2 - np.log(ratios[i]) / mu)
    moved -= ratios[i] * ndtr(-mu / 2 - np.log(ratios[i]) / mu)
    assert found > moved


def test_the_bound_grows_with_shift_and_curvature() -> None:
    """It has to, where both are rounded up: each is compared on the other's k."""
    for mu, kappa in ((0.01, 0.05), (0.1, 0.3), (0.3, 2.0)):
        ratios, bounds = removal_profile(mu, kappa)
        for more in ((1.3 * mu, kappa), (mu, 1.5 * kappa)):
            assert np.all(np.interp(ratios, *removal_profile(*more)) >= bounds * (1 - 1e-9))


@pytest.mark.parametrize("dimension", [1, 2, 3, 7])
def test_exponential_noise_is_normal_noise_of_chi_squared_variance(dimension: int) -> None:
    """The mixture's density by quadrature is proportional to e^{-r}."""

    def density(r: float) -> mpmath.mpf:
        def integrand(v: mpmath.mpf) -> mpmath.mpf:
            chi = v ** ((dimension + 1) / mpmath.mpf(2) - 1) * mpmath.exp(-v / 2)
            return chi * v ** (-dimension / mpmath.mpf(2)) * mpmath.exp(-r * r / (2 * v))

        return mpmath.quad(integrand, [0, 0.1, 1, 4, 16, 64, mpmath.inf])

    first = density(0.5)
    for r in (1.0, 2.5, 6.0):
        assert density(r) / first == pytest.approx(math.exp(0.5 - r), rel=1e-8)


@pytest.mark.parametrize("dimension", [30, 105, 100_000])
def test_scales_are_rounded_up(dimension: int) -> None:
    """At every μ at most the stated probability is left to larger ones, by the incomplete gamma function."""
    bound, left = 0.3, 1e-13
    scales = exponential_scales(bound, dimension)
    assert sum(weight for weight, _ in scales) == pytest.approx(1 - 1e-13, abs=1e-15)
    for weight, mu in scales:
        variance = (mpmath.mpf(bound) / mpmath.mpf(mu)) ** 2
        with mpmath.workdps(30):
            above = mpmath.gammainc(
                (dimension + 1) / mpmath.mpf(2), 0, variance / 2, regularized=True
            )
        assert above <= left
        assert above > left / 5 or left < 1e-3 or dimension > 1000  # the steps of μ are wider
        left += weight


@pytest.mark.parametrize("dimension", [2, 10, 105])
def test_no_update_in_the_dimension_exceeds_the_mean(dimension: int) -> None:
    """Density ∝ e^{-|b|}, the shift along one axis: the other axes by their distance, line by line."""
    spread = math.sqrt(dimension)
    bound = 0.05 * spread
    kappa, mu = 0.4, bound / spread
    found = mean_profile(exponential_scales(bound, dimension), kappa)
    assert found is not None
    ratios, bounds = found
    y = PLACES[100:1000] * spread
    r = np.linspace(1e-3, dimension + 12 * spread + 20, 1501)
    log_weights = (dimension - 2) * np.log(r) if dimension > 2 else np.zeros_like(r)
    worst = 0.0
    for start, where in ((4.0, 0.5), (4.0, 1.5), (30.0, 0.0), (2.0, 0.0)):
        s = expit(start - kappa / bound * np.clip(y - where * spread, 0, None))
        falls = kappa / bound * s * (1 - s) * (y > where * spread)
        log_p = log_weights[:, None] - np.hypot(r[:, None], y - bound * s)
        log_q = log_weights[:, None] - np.hypot(r[:, None], y)
        top = log_q.max()
        q = np.exp(log_q - top)
        p = np.exp(log_p - top) * (1 + bound * falls)
        total = q.sum()
        error = abs(p.sum() / total - 1)
        for k, most in zip(ratios[1:6], bounds[1:6], strict=True):
            divergence = float(np.maximum(p - k * q, 0).sum() / total)
            worst = max(worst, (divergence - error) / most)
    assert 0.6 < worst <= 1
    assert mu < 0.06


def test_capping_takes_the_convex_curve_below_both_bounds() -> None:
    losses = np.linspace(0.0, 1.0, 41)
    weights = np.exp(-3 * losses) * 0.02
    ratios = np.exp(losses)
    own = np.array([(weights * np.maximum(1 - k / ratios, 0)).sum() for k in ratios])
    places = np.exp(np.array([0.0, 0.2, 0.5, 0.8]))
    other = np.interp(places, ratios, own) * np.array([1.1, 0.8, 0.9, 1.2])
    found, masses_ = capped((losses, weights), (losses, weights / 4), (places, other))
    law = np.array([(masses_ * np.maximum(1 - k / np.exp(found), 0)).sum() for k in ratios])
    lower = np.minimum(own, np.interp(ratios, places, other))
    hull = [  # the least chord over every k, by brute force
        min(
            lower[i] + (lower[j] - lower[i]) * (k - ratios[i]) / (ratios[j] - ratios[i])
            for i in range(41)
            for j in range(41)
            if ratios[i] <= k <= ratios[j] and i < j
        )
        for k in ratios
    ]
    assert law[:-1] == pytest.approx(hull[:-1], rel=1e-7, abs=1e-12)
    assert np.all(law >= np.array(hull) * (1 - 1e-12))
    assert masses_.sum() <= weights.sum() * (1 + 1e-6)


@pytest.mark.parametrize("update", [Update(0.1, 0.3, 105, True), GaussianUpdate(0.02, 0.2, True)])
def test_laws_of_one_record_are_capped(
    update: Update | GaussianUpdate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removal is at most both bounds at every k, and below the spread losses' by a seventh somewhere."""
    profile = mean_profile(update.scales(), update.curvature)
    assert profile is not None
    removal_laws.cache_clear()
    capped_law = removal_laws(update)[0]
    monkeypatch.setattr(objective_perturbation, "mean_profile", lambda *_: None)
    removal_laws.cache_clear()
    spread_law = removal_laws(update)[0]
    removal_laws.cache_clear()
    shares = []
    for k, most in zip(*profile, strict=True):
        found, spread = (law.delta(math.log(k))[1] for law in (capped_law, spread_law))
        assert found <= min(most, spread) * (1 + 1e-6) + 1e-12
        shares.append(found / spread)
    assert min(shares[:8]) < 6 / 7
