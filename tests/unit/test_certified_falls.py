"""Theorem c in balls, against exact laws of falls, quadrature and mpmath's χ²."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from flint import arb
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from dpcalc.accounting.losses.gaussian_update import GaussianUpdate
from dpcalc.certificates import falling, grids
from dpcalc.certificates.certify import CERTIFIED, certify
from dpcalc.certificates.checker import check
from dpcalc.certificates.laws import precision
from dpcalc.certificates.updates import below_chords
from dpcalc.guarantees import compose
from dpcalc.guarantees.objective_perturbation import normally_perturbed_update
from tests.oracles.falling_shift import PLACES, divergences


def bound(mu: float, kappa: float, depth: float) -> float:
    with precision(64):
        return float(falling.divergence(arb(mu), arb(kappa), arb(mu * depth)).upper())


def unmoved(mu: float, depth: float) -> float:
    return float(norm.sf(depth - mu / 2) - math.exp(mu * depth) * norm.sf(depth + mu / 2))


@pytest.mark.parametrize(
    ("mu", "stiffness", "depth", "top", "start"),
    [(0.01, 50.0, 2.5, 4.0, 1.0), (0.2, 8.0, 0.5, 4.0, 0.0)],
)
def test_no_fastest_fall_exceeds_the_bound(
    mu: float, stiffness: float, depth: float, top: float, start: float
) -> None:
    """Falls that reveal more than a shift that stays: a bound without the gain would be caught."""
    path = top - stiffness * np.clip(PLACES - start, 0, 6)
    attained = float(divergences(mu, path, np.exp([mu * depth]))[0])
    assert unmoved(mu, depth) < attained <= bound(mu, stiffness * mu, depth)


@pytest.mark.parametrize(("mu", "kappa"), [(0.035, 0.064), (0.05, 0.5), (0.2, 5.0)])
@pytest.mark.parametrize("depth", [0.5, 1.5, 3.0])
def test_the_bound_is_the_integral_of_the_largest_gain(
    mu: float, kappa: float, depth: float
) -> None:
    """Midpoints, each with its maximum by search; cells of s cost up to a third of the gain."""
    loss, middles = mu * depth, (np.arange(80) + 0.5) / 80

    def largest(s: float) -> float:
        m, g = mu * s, kappa * s * (1 - s)
        edge = loss / m + m / 2

        def gained(y: float) -> float:
            return float(norm.pdf(y - m) * (1 + g) - math.exp(loss) * norm.pdf(y)) / g

        lowest = (loss - math.log1p(g)) / m + m / 2
        found = minimize_scalar(lambda y: -gained(y), bounds=(lowest, edge), method="bounded")
        return max(0.0, -found.fun - float(norm.pdf(edge - m)))

    gain = mu * float(np.mean([largest(s) for s in middles]))
    assert 0.97 < (bound(mu, kappa, depth) - unmoved(mu, depth)) / gain < 1.35


@pytest.mark.parametrize("dimension", [1, 3, 105])
def test_shifts_are_as_probable_as_stated(dimension: int) -> None:
    with precision(96):
        scales = falling.exponential_scales(arb("0.3"), dimension)
        assert sum(weight for _, weight in scales) < 1
    with mpmath.workdps(30):
        cuts = [(mpmath.mpf("0.3") / mpmath.mpf(float(mu))) ** 2 for mu, _ in scales]
        law = [
            mpmath.gammainc(mpmath.mpf(dimension + 1) / 2, 0, cut / 2, regularized=True)
            for cut in cuts
        ]
        for (_, weight), low, high in zip(scales, law, [*law[1:], mpmath.mpf(1)], strict=True):
            assert float(weight) == pytest.approx(float(high - low), rel=1e-9)


def test_chords_of_known_bounds_are_not_above_what_was_there() -> None:
    places = [arb(1 + k) for k in range(5)]
    convex = [arb("0.5"), arb("0.4"), arb("0.35"), arb("0.32"), arb("0.31")]
    lower = below_chords(convex, places, [(arb("2.5").log(), arb("0.33"))])
    found = [round(float(x), 4) for x in lower]
    assert found == [0.5, 0.3867, 0.326, 0.318, 0.31]


def test_what_rests_on_the_falling_derivative_is_certified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The ε of twenty updates with κ = 2.4μ, which theorems a and b alone do not show."""
    part = normally_perturbed_update(GaussianUpdate(0.05, 0.12, True, 1000), "replace-one")
    upper = compose((part, 20)).epsilon(1e-6)
    found = certify([(part, 20)], "replace-one", 1e-6, upper)
    assert found.upper == CERTIFIED
    assert check(found.certificate)
    monkeypatch.setattr(falling, "worth_it", lambda *_: False)
    grids.masses.cache_clear()
    assert certify([(part, 20)], "replace-one", 1e-6, upper).upper != CERTIFIED
