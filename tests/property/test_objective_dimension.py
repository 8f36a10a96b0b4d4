"""The law of one objective-perturbed update in its dimension, against quadrature of its definition."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.accounting.losses import objective_perturbation
from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.objective_perturbation import (
    linked_loss,
    removal_laws,
    replacement_law,
)
from dpcalc.theorems.objective_perturbation.penalty_perturbation import PenaltyPerturbation
from dpcalc.theorems.objective_perturbation.recycled_admm import RecycledADMM
from tests.oracles.objective_profile import Instance, noise_points, stated_profile
from tests.property.update_laws import spread_alone

pytestmark = pytest.mark.usefixtures("fresh_laws")
SETTING = {k: v for k, v in RecycledADMM.example.items() if k != "dimension"}
SECOND = SETTING | {"n_records": 9044, "noise_rate": "3:1.01", "rounds": 50}


@pytest.mark.parametrize(
    ("kind", "changes", "dimension", "attained", "expected"),
    [
        (RecycledADMM, SETTING, 105, 0.892, 0.903),
        (RecycledADMM, SETTING | {"noise_rate": 0.5}, 105, 0.424, 0.450),
        (RecycledADMM, SETTING | {"noise_rate": 2}, 105, 1.891, 1.895),
        (RecycledADMM, SETTING, 10, 3.164, 3.166),
        (RecycledADMM, SETTING, 2, 7.351, 7.396),
        (RecycledADMM, SETTING | {"rounds": 1600}, 105, 9.098, 9.237),
        (PenaltyPerturbation, SECOND | {"penalty": 0.5}, 105, 1.514, 1.566),
        (PenaltyPerturbation, SECOND | {"penalty": "0.5:1.04"}, 105, 0.629, 0.658),
    ],
)
@pytest.mark.few(3)
def test_the_papers_settings(
    kind: type[RecycledADMM | PenaltyPerturbation],
    changes: dict[str, object],
    dimension: int,
    attained: float,
    expected: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Expected of spread losses: a profile of 200 points, bisected splits, composed on a lattice.

    What is attained comes from the lattice too, the noise moved by 2C/B.
    """
    theorem = kind.from_parameters(changes | {"dimension": dimension})
    found = theorem.certified().guarantee.epsilon(1e-6)
    assert attained <= found < expected + 5e-4
    assert theorem.replace(dimension=None).certified().guarantee.epsilon(1e-6) > found
    spread_alone(monkeypatch)
    assert round(theorem.certified().guarantee.epsilon(1e-6), 3) == expected


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize(("bound", "curvature"), [(0.5, 0.1), (0.2, 1.0), (2.0, 1.0)])
def test_laws_are_what_is_stated(
    dimension: int, bound: float, curvature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best split of k by a table of R and R*; quadrature and the table are good to half a per cent."""
    spread_alone(monkeypatch)
    update = Update(bound, curvature, dimension, tied=True)
    removed, added = removal_laws(update)
    replaced = replacement_law(update)
    top = bound + float(linked_loss(np.array([bound]), curvature, tied=True)[0])
    logs = np.linspace(-top, top, 161)
    r, star = stated_profile(bound, curvature, dimension, logs)
    for epsilon in (0.0, 0.2 * top, 0.5 * top):
        other = epsilon - logs
        inside = np.abs(other) <= top
        splits = [
            one + np.exp(logs) * np.interp(other, logs, two) for one, two in ((r, star), (star, r))
        ]
        best = np.minimum(*splits)[inside].min()
        assert replaced.delta(epsilon)[1] == pytest.approx(best, rel=1e-2)
        assert replaced.delta(epsilon)[1] <= best * (1 + 3e-3)
        for law, profile in ((removed, r), (added, star)):
            expected = float(np.interp(epsilon, logs, profile))
            assert law.delta(epsilon)[1] == pytest.approx(expected, rel=3e-3, abs=1e-3 * bound)


@pytest.mark.parametrize(("bound", "curvature"), [(0.001, 7.5), (0.1, 1.0), (0.3, 2.0)])
def test_losses_that_are_not_tied_compose_both_steps_doubled(
    bound: float, curvature: float
) -> None:
    """min over k₁k₂ = k of 2R(k₁) + k₁·2R*(k₂) in one dimension, by Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    inner = bound * (nodes + 1) / 2  # the density of A on (0, a) is e^{(A-a)/2}/4, half is at a
    losses = np.append(inner, bound)
    masses = np.append(weights * bound / 2 * np.exp((inner - bound) / 2) / 4, 0.5)
    linked = losses + np.log1p(curvature)
    masses = 2 * masses * np.expm1(-losses) / np.expm1(-linked)
    assert (masses * (1 + np.exp(-linked))).sum() < 1  # so that doubling is not cut short

    def doubled(k: float) -> float:
        beyond = float(masses @ np.maximum(1 - max(k, 1 / k) * np.exp(-linked), 0))
        return beyond if k >= 1 else 1 - k + k * beyond

    law = replacement_law(Update(bound, curvature, 1, tied=False))
    top = float(linked[-1])
    for epsilon in (0.0, 0.1 * top, 0.6 * top, 1.2 * top):
        logs = np.append(np.linspace(epsilon - top, top, 401), [0.0, epsilon])
        splits = [doubled(np.exp(x)) + np.exp(x) * doubled(np.exp(epsilon - x)) for x in logs]
        assert law.delta(epsilon)[1] == pytest.approx(min(splits), rel=2e-3)
        assert law.delta(epsilon)[1] >= min(splits) * (1 - 1e-4)


def test_opposite_records_reach_the_law_of_the_noise_in_the_first_round() -> None:
    """A start far out pushes both margins to the linear part: noise moved by 2C/B."""
    instance = Instance(0.5, 1.0, 1.0, np.array([0.0, -1e4]))  # pulled to (0, 1e4)
    tilt = 0.02
    record = np.array([np.cos(tilt), -np.sin(tilt)])
    other = np.array([-np.cos(tilt), -np.sin(tilt)])
    points = noise_points(2, 40, 400)
    found = instance.divergence(record, other, np.array([0.0, 0.3]), points)
    a = np.linalg.norm(points[0] + [2 * instance.bound, 0], axis=1)
    a -= np.linalg.norm(points[0], axis=1)
    moved = [float(points[1] @ np.maximum(1 - np.exp(e - a), 0)) for e in (0.0, 0.3)]
    assert found == pytest.approx(moved, rel=2e-3)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dimension", [1, 2, 30, 100_000])
@pytest.mark.parametrize("bound", [1e-4, 20.0])
@pytest.mark.parametrize("curvature", [1e-3, 10.0])
def test_laws_are_laws_over_the_whole_range(
    bound: float, curvature: float, dimension: int, tied: bool
) -> None:
    update = Update(bound, curvature, dimension, tied=tied, cells=100)
    for law in (replacement_law(update), *removal_laws(update)):
        assert np.all(law.masses > 0)
        assert np.all(np.isfinite(law.losses))
        assert law.masses.sum() <= 1 + 1e-9
        other = float((law.masses * np.exp(-law.losses)).sum())
        at_zero = 1 - float(law.masses.sum())
        assert other + at_zero == pytest.approx(1, abs=1e-6)
        assert law.supremum <= (2 * bound + 2 * np.log1p(curvature)) * (1 + 1e-12)


def test_the_bound_grows_with_noise_rate_and_curvature_and_falls_with_dimension() -> None:
    def delta(bound: float, curvature: float, dimension: int) -> float:
        return replacement_law(Update(bound, curvature, dimension, tied=True)).delta(0.1)[1]

    assert delta(0.2, 0.3, 5) < delta(0.21, 0.3, 5)
    assert delta(0.2, 0.3, 5) < delta(0.2, 0.4, 5)
    assert delta(0.2, 0.3, 6) < delta(0.2, 0.3, 5)


def test_dropping_the_jacobian_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: with G = A the law is below a divergence that occurs."""
    instance = Instance(1.0, 0.25, 0.1, np.zeros(2))
    record, points = np.array([1.0, 0.0]), noise_points(2, 40, 100)
    found = instance.divergence(record, np.zeros(2), np.array([0.1]), points)[0]
    update = Update(0.1, 4.0, 2, tied=True, cells=101)
    assert found <= removal_laws(update)[0].delta(0.1)[1]
    spread_alone(monkeypatch)
    monkeypatch.setattr(objective_perturbation, "linked_loss", lambda a, *_, **__: a)
    assert found > 1.2 * removal_laws(update)[0].delta(0.1)[1]
    removal_laws.cache_clear()


def test_moving_all_mass_to_the_linked_loss_would_be_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A planted bug: without the share at 0, masses under Q no longer add up to one."""
    whole = objective_perturbation._spread

    def all_of_it(noise: object, update: Update) -> object:
        spread = whole(noise, update)  # type: ignore[arg-type]
        return type(spread)(spread.losses, noise.masses)  # type: ignore[attr-defined]

    spread_alone(monkeypatch)
    update = Update(0.2, 1.0, 10, tied=True, cells=99)
    right = removal_laws(update)[0]
    monkeypatch.setattr(objective_perturbation, "_spread", all_of_it)
    removal_laws.cache_clear()
    wrong = removal_laws(update)[0]
    removal_laws.cache_clear()

    def total(law: object) -> float:
        masses, losses = law.masses, law.losses  # type: ignore[attr-defined]
        return float((masses * np.expm1(-losses)).sum())

    assert abs(total(right)) < 1e-9
    assert abs(total(wrong)) > 0.01
