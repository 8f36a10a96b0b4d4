"""The law of one objective-perturbed update with normal noise, against its definition and its truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcalc.accounting.losses.gaussian_update import LARGEST_MU, GaussianUpdate
from dpcalc.accounting.losses.objective_perturbation import removal_laws, replacement_law
from dpcalc.guarantees import GDP
from dpcalc.guarantees.objective_perturbation import normally_perturbed_update
from dpcalc.theorems.objective_perturbation.gaussian_objective_perturbation import (
    GaussianObjectivePerturbation,
)
from tests.oracles.normal_objective import NormalInstance, Vector, normal_points
from tests.oracles.objective_profile import divergences
from tests.property.update_laws import doubled_shift, spread_alone

pytestmark = pytest.mark.usefixtures("fresh_laws")
PAPER = {
    "regularization": 6.044,
    "gradient_bound": 0.21875,
    "curvature": 0.21875 / 4,
    "rounds": 25,
    "adjacency": "replace-one",
}
"""zhang2019, figure 5: C/B = 1750/8000, ρ/N + 2ηV = 0.044 + 6, half of 50 rounds."""


@pytest.mark.parametrize(
    ("rate", "rounds", "spread", "attained"),
    [
        (1, 25, 0.900, 0.890),
        (0.5, 25, 0.448, 0.423),
        (2, 25, 1.889, 1.886),
        (1, 1600, 9.187, 9.049),
    ],
)
def test_at_equal_spread_it_costs_what_the_exponential_norm_costs(
    rate: float, rounds: int, spread: float, attained: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise of density e^{-α|b|} in 105 dimensions has 106/α² per coordinate; spread it costs .903 and so on."""
    sigma = math.sqrt(106) / rate
    theorem = GaussianObjectivePerturbation(**PAPER | {"rounds": rounds}, sigma=sigma)  # type: ignore[arg-type]
    assert attained - 5e-4 < theorem.certified().guarantee.epsilon(1e-6) < spread + 5e-4
    assert theorem.attained().guarantee.epsilon(1e-6) == pytest.approx(attained, abs=5e-4)
    spread_alone(monkeypatch)
    assert theorem.certified().guarantee.epsilon(1e-6) == pytest.approx(spread, abs=5e-4)


def stated(mu: float, kappa: float, logs: Vector) -> tuple[Vector, Vector]:
    """R and R* at k = e^x for each x, from A = μ²/2 + μz on a fine grid of z."""
    z = np.linspace(-9, 9, 36_001)
    weights = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    a = mu * mu / 2 + mu * z
    s = np.linspace(0, 1, 401)
    grid = np.linspace(0, a[-1], 300)
    table = np.max(grid[:, None] * s + np.log1p(kappa * s * (1 - s)), axis=1)
    linked = np.where(a > kappa, a, np.interp(a, grid, table))
    return divergences(a, linked, weights, logs)


def two_steps(logs: Vector, first: Vector, second: Vector) -> Vector:
    """D_k by the best split of k into steps with the divergences given at e^x, x on an even grid."""
    step = logs[1] - logs[0]
    places = np.rint((logs[:, None] - logs - logs[0]) / step).astype(int)
    inside = (places >= 0) & (places < len(logs))
    found = first + np.exp(logs) * second[np.clip(places, 0, len(logs) - 1)]
    return np.asarray(np.where(inside, found, np.inf).min(axis=1))


@pytest.mark.parametrize(("mu", "kappa"), [(0.5, 0.1), (0.1, 1.0), (1.5, 1.0)])
def test_laws_are_what_is_stated(mu: float, kappa: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """By tables of R and R*, of the best splits, and of the lower of the two curves of all tests."""
    spread_alone(monkeypatch)
    update = GaussianUpdate(mu, kappa, tied=True)
    top = 4 * mu + mu * mu
    reach = top + math.log1p(kappa / 4)
    logs = np.linspace(-reach, reach, 801)
    r, star = stated(mu, kappa, logs)
    q = np.concatenate([[0.0], np.geomspace(1e-9, 1, 1500)])  # mass under Q of a test
    curves = [
        np.min(two_steps(logs, *pair) + np.exp(logs) * q[:, None], axis=1)
        for pair in ((r, star), (star, r))
    ]
    lower = np.minimum(*curves)
    for epsilon in (0.0, 0.3 * top, 0.7 * top):
        expected = float(np.max(lower - math.exp(epsilon) * q))
        found = replacement_law(update).delta(epsilon)[1]
        assert found == pytest.approx(expected, rel=5e-3, abs=1e-4 * mu)
        for law, profile in zip(removal_laws(update), (r, star), strict=True):
            expected = float(np.interp(epsilon, logs, profile))
            assert law.delta(epsilon)[1] == pytest.approx(expected, rel=3e-3, abs=1e-4 * mu)


@given(mu=st.floats(0.01, 3.0), share=st.floats(0.0, 2.0), log_kappa=st.floats(-6, 2))
def test_never_below_opposite_records_and_equal_to_them_without_curvature(
    mu: float, share: float, log_kappa: float
) -> None:
    epsilon = share * (2 * mu + 2 * mu * mu)
    exact = doubled_shift(mu, epsilon)
    kappa = 10.0**log_kappa
    found = replacement_law(GaussianUpdate(mu, kappa, tied=True, cells=300)).delta(epsilon)[1]
    assert found >= exact * (1 - 1e-10)
    if kappa < 1e-5 * mu:
        assert found <= exact * 1.01 + 1e-4 * mu


@given(mu=st.floats(0.01, 4.0), log_kappa=st.floats(-3, 1.5), tied=st.booleans())
def test_more_of_either_costs_more(mu: float, log_kappa: float, *, tied: bool) -> None:
    kappa, epsilon = 10.0**log_kappa, mu

    def delta(mu: float, kappa: float) -> float:
        return replacement_law(GaussianUpdate(mu, kappa, tied, cells=200)).delta(epsilon)[1]

    base = delta(mu, kappa)
    # Cells differ between the two: an enclosure of 200 cells is good to a few parts in a thousand.
    assert delta(1.05 * mu, kappa) > base * (1 - 5e-3)
    assert delta(mu, 1.5 * kappa) > base * (1 - 5e-3)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("mu", [1e-6, 0.01, 1.0, LARGEST_MU])
@pytest.mark.parametrize("kappa", [1e-6, 1.0, 1e6])
def test_laws_are_laws_over_the_whole_range(mu: float, kappa: float, *, tied: bool) -> None:
    update = GaussianUpdate(mu, kappa, tied, cells=100)
    for law in (replacement_law(update), *removal_laws(update)):
        assert np.all(law.masses > 0)
        assert np.all(np.isfinite(law.losses))
        assert 0 <= law.infinite_mass < 1e-38
        assert law.masses.sum() <= 1 + 1e-9
        other = float((law.masses * np.exp(-law.losses)).sum())
        at_zero = 1 - float(law.masses.sum())
        assert other + at_zero == pytest.approx(1, abs=1e-6)


def test_opposite_records_reach_twice_the_shift() -> None:
    """A start far out pushes both margins to the linear part: a Gaussian mechanism with 2μ."""
    instance = NormalInstance(0.5, 1.0, 1.0, np.array([0.0, -1e4]))  # pulled to (0, 1e4)
    tilt = 0.02
    record = np.array([np.cos(tilt), -np.sin(tilt)])
    other = np.array([-np.cos(tilt), -np.sin(tilt)])
    found = instance.divergence(record, other, np.array([0.0, 0.5, 1.5]), normal_points(2, 200))
    exact = [doubled_shift(0.5, e) for e in (0.0, 0.5, 1.5)]
    # The margins' directions are off by the tilt: (1 - cos 0.02) of the shift, 2e-4.
    assert found == pytest.approx(exact, rel=3e-3)


def test_beyond_the_largest_mu_nothing_is_promised() -> None:
    update = GaussianUpdate(math.nextafter(LARGEST_MU, math.inf), 1.0, tied=True)
    assert normally_perturbed_update(update, "replace-one").epsilon(0.1) == math.inf
    largest = normally_perturbed_update(GaussianUpdate(LARGEST_MU, 1.0, tied=True), "replace-one")
    assert largest.epsilon(1e-30) >= GDP(2 * LARGEST_MU).epsilon(1e-30)
    assert largest.epsilon(0.0) == math.inf
