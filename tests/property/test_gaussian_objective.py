"""The law of one objective-perturbed update with normal noise, against its definition and its truth."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from dpcalc.accounting.losses import DiscreteLoss, gaussian_update, objective_perturbation
from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower
from dpcalc.accounting.losses.gaussian_update import LARGEST_MU, GaussianUpdate, MovedGaussian
from dpcalc.accounting.losses.objective_perturbation import removal_laws, replacement_law
from dpcalc.guarantees import GDP
from dpcalc.guarantees.objective_perturbation import normally_perturbed_update
from dpcalc.theorems.objective_perturbation.gaussian_objective_perturbation import (
    GaussianObjectivePerturbation,
)
from dpcalc.theorems.objective_perturbation.gaussian_objective_perturbation_profile import Profile
from tests.oracles.normal_objective import NormalInstance, Vector, normal_points

PAPER = {
    "regularization": 6.044,
    "gradient_bound": 0.21875,
    "curvature": 0.21875 / 4,
    "rounds": 25,
    "adjacency": "replace-one",
}
"""zhang2019, figure 5: C/B = 1750/8000, ρ/N + 2ηV = 0.044 + 6, half of 50 rounds."""


def spread_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out that a record's derivative falls."""
    monkeypatch.setattr(objective_perturbation, "mean_profile", lambda *_: None)
    removal_laws.cache_clear()
    replacement_law.cache_clear()


@pytest.fixture(autouse=True)
def _fresh_laws() -> Iterator[None]:
    yield
    removal_laws.cache_clear()
    replacement_law.cache_clear()


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

    def h(x: float) -> float:
        return float(weights @ np.maximum(1 - np.exp(x - a), 0))

    def removed(x: float) -> float:
        if x < 0:
            return h(x)
        share = np.maximum(1 - np.exp(x - linked), 0) / np.maximum(-np.expm1(-linked), 1e-300)
        return float(weights @ (np.maximum(-np.expm1(-a), 0) * share))

    def added(x: float) -> float:
        return h(x) if x >= 0 else -math.expm1(x) + math.exp(x) * removed(-x)

    return np.array([removed(x) for x in logs]), np.array([added(x) for x in logs])


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


def doubled_shift(mu: float, epsilon: float) -> float:
    """δ(ε) of a Gaussian mechanism with 2μ, in doubles."""
    m = 2 * mu
    return float(ndtr(m / 2 - epsilon / m) - math.exp(epsilon) * ndtr(-m / 2 - epsilon / m))


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


def _random(rng: np.random.Generator, d: int) -> tuple[NormalInstance, Vector, Vector]:
    weight, stiffness = 10 ** rng.uniform(-1, 0.5), 10 ** rng.uniform(-1, 1)
    rate = min(10 ** rng.uniform(-1.5, 0.5), 2 / weight)
    pull = rng.normal(size=d) * 10 ** rng.uniform(-2, 3) * rng.integers(2)
    record = rng.normal(size=d)
    record /= np.linalg.norm(record) * rng.choice([1.0, 1.0, 2.0])
    turned = rng.normal(size=d) * rng.choice([0.0, 0.3]) - record
    other = turned / max(1.0, float(np.linalg.norm(turned)))
    return NormalInstance(weight, stiffness, rate, pull), record, other


def _excess(
    instance: NormalInstance,
    record: Vector,
    other: Vector,
    grids: tuple[tuple[Vector, Vector], ...],
) -> float:
    """The largest amount by which a divergence exceeds its bound, less the quadrature's error.

    Twice what two grids differ by, and thrice what Q's mass as P's integral of e^{-loss} is off one.
    """
    update = GaussianUpdate(instance.bound, instance.curvature, tied=True, cells=200)
    removed, added = removal_laws(update)
    none = np.zeros_like(record)
    worst = -np.inf
    for p, q, law in (
        (record, other, replacement_law(update)),
        (record, none, removed),
        (none, record, added),
    ):
        epsilons = np.array([0.0, 0.3, 1.0, 2.0]) * 3 * instance.bound
        coarse, fine = (instance.divergence(p, q, epsilons, points) for points in grids)
        points, weights = grids[1]
        losses = instance.losses(points / instance.rate, p, q)
        error = 2 * np.abs(fine - coarse) + 3 * abs(float(weights @ np.exp(-losses)) - 1)
        bounds = np.array([law.delta(float(e))[1] for e in epsilons])
        worst = max(worst, float((fine - error - bounds).max()) - 1e-6)
    return worst


def _searched(dimension: int, count: int) -> float:
    rng = np.random.default_rng(40 + dimension)
    sizes = {1: (1000, 1400), 2: (70, 100), 3: (22, 30)}[dimension]
    grids = tuple(normal_points(dimension, n) for n in sizes)
    worst = -np.inf
    for _ in range(count):
        instance, record, other = _random(rng, dimension)
        # Over so much of the noise's standard deviation a margin's slope changes.
        width = instance.bound * (1 + 4 / instance.curvature)
        if width > 2 * 14 / sizes[0]:
            worst = max(worst, _excess(instance, record, other, grids))
    return worst


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_no_update_exceeds_its_law(dimension: int) -> None:
    """Random instances and the worst of their neighbours."""
    assert _searched(dimension, 10) <= 0


@pytest.mark.campaign
@pytest.mark.parametrize(("dimension", "count"), [(1, 6000), (2, 3000), (3, 1000)])
def test_ten_thousand_updates_do_not_exceed_their_laws(dimension: int, count: int) -> None:
    assert _searched(dimension, count) <= 0


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


@pytest.mark.parametrize("stiffness", [1e-11, 1e-300, 1e300])
@pytest.mark.parametrize("sigma", [1e-300, 10.0, 1e300])
def test_the_ends_of_the_doubles_are_answered(stiffness: float, sigma: float) -> None:
    for loss in ("logistic", "general"):
        theorem = GaussianObjectivePerturbation(
            regularization=stiffness,  # type: ignore[arg-type]
            sigma=sigma,  # type: ignore[arg-type]
            loss=loss,
            curvature=0.25,
        )
        found = theorem.certified().guarantee.epsilon(1e-6)
        assert found >= theorem.attained().guarantee.epsilon(1e-6)


def test_the_papers_bounds_are_above_the_certified_one() -> None:
    """At the papers' own noise, over δ, ε and stiffness; also for one record exchanged (Kifer et al.)."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        delta, epsilon = 10 ** rng.uniform(-9, -1), 10 ** rng.uniform(-1, 1.5)
        relation = str(rng.choice(["add-remove", "replace-one"]))
        stiff = 0.5 / epsilon * rng.uniform(1, 3)
        blank = GaussianObjectivePerturbation(regularization=stiff, sigma=1, adjacency=relation)  # type: ignore[arg-type]
        found = blank.prescribed(epsilon, delta)
        assert found.certified().guarantee.epsilon(delta) <= epsilon
        profile = Profile(
            regularization=0.25 + 10 ** rng.uniform(-2, 1), sigma=10 ** rng.uniform(0, 2)
        )  # type: ignore[arg-type]
        claim = profile.claimed().guarantee.epsilon(delta)
        assert profile.certified().guarantee.epsilon(delta) <= claim


# ---- planted bugs


def _fresh(update: GaussianUpdate) -> DiscreteLoss:
    removal_laws.cache_clear()
    replacement_law.cache_clear()
    return removal_laws(update)[0]


def test_dropping_the_jacobian_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """With G = A the law is below a divergence that occurs."""
    instance = NormalInstance(1.0, 0.25, 0.1, np.zeros(2))
    record, update = np.array([1.0, 0.0]), GaussianUpdate(0.1, 4.0, tied=True, cells=101)
    found = instance.divergence(record, np.zeros(2), np.array([0.2]), normal_points(2, 100))[0]
    assert found <= _fresh(update).delta(0.2)[1]
    monkeypatch.setattr(objective_perturbation, "linked_loss", lambda a, *_, **__: a)
    assert found > 1.2 * _fresh(update).delta(0.2)[1]
    monkeypatch.undo()
    _fresh(update)


def test_a_tail_that_is_cut_off_and_forgotten_would_be_caught() -> None:
    """Of N(μ/2, 1) the part beyond the cells must come back as infinite loss, in both steps."""
    pair = MovedGaussian(1.0)
    window = (0.0, pair.truncation_interval(1e-3)[1])
    law = upper_and_lower(pair, plan_cells(pair, window, 0.0).edges(400), 1e-3)[0]
    far = 2 * float(law.losses.max())
    assert law.delta(far)[1] >= 1e-3  # nothing finite is above, the tail is

    class Short(GaussianUpdate):
        """Cut where the tail is 1e-3."""

        def moved(self) -> objective_perturbation.Moved:
            losses = objective_perturbation.Losses(law.losses, law.masses)
            return objective_perturbation.Moved(losses, law.mass_error, law.infinite_mass)

    update = Short(1.0, 1e-6, tied=True)
    for epsilon in (1.0, 4.0, 8.0):
        assert replacement_law(update).delta(epsilon)[1] >= doubled_shift(1.0, epsilon)
    # The second step's tail holds more mass under P than under the law in the middle.
    assert replacement_law(update).infinite_mass > 3e-3


def test_half_of_the_shift_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    update = GaussianUpdate(0.7, 0.5, tied=True, cells=99)
    _fresh(update)
    assert replacement_law(update).delta(1.0)[1] >= doubled_shift(0.7, 1.0)
    monkeypatch.setattr(gaussian_update, "MovedGaussian", lambda mu: MovedGaussian(mu / 2))
    _fresh(update)
    assert replacement_law(update).delta(1.0)[1] < doubled_shift(0.7, 1.0)
    monkeypatch.undo()
    _fresh(update)
