"""The law of an update at the ends of its range, and mistakes planted in it."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.accounting.losses import DiscreteLoss, gaussian_update, objective_perturbation
from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower
from dpcalc.accounting.losses.gaussian_update import GaussianUpdate, MovedGaussian
from dpcalc.accounting.losses.objective_perturbation import removal_laws, replacement_law
from dpcalc.theorems.objective_perturbation.gaussian_objective_perturbation import (
    GaussianObjectivePerturbation,
)
from dpcalc.theorems.objective_perturbation.gaussian_objective_perturbation_profile import Profile
from tests.oracles.normal_objective import NormalInstance, normal_points
from tests.property.update_laws import doubled_shift

pytestmark = pytest.mark.usefixtures("fresh_laws")


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
