"""Exact numbers behind the attacks: laws, densities and crafted outcomes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dpcalc.algorithms.dp_admm import DPADMM
from dpcalc.auditing import Claim, Evidence, Finding, Severity, World
from dpcalc.auditing.claim import Quantity
from dpcalc.auditing.decision import decide
from dpcalc.auditing.evidence import AdversaryAccess
from dpcalc.auditing.gaussian import separation
from dpcalc.audits import gradient_admm, gradient_admm_noisy_oracle, noisy_gradient_descent
from dpcalc.audits import private_dual_averaging as averaging
from dpcalc.audits.evidence import convergence_counterexamples, reconstruction
from dpcalc.audits.instances import (
    gradient_perturbed_admm,
    noisy_subgradients,
    objective_perturbation,
)
from dpcalc.audits.instances import noisy_gradient_descent as worst_descents
from dpcalc.audits.instances.neighbours import replacements, worst
from dpcalc.audits.instances.noisy_steps import Descent
from dpcalc.audits.penalty_perturbation import METHOD as PENALTY
from dpcalc.audits.private_mr_admm import METHOD as RECYCLED
from dpcalc.errors import AssumptionViolated
from dpcalc.guarantees import GDP


class Law:
    def __init__(self, mean: list[float], covariance: list[list[float]]) -> None:
        self.mean, self.covariance = np.array(mean), np.array(covariance)


def test_printed_start_leaks_in_early_rounds() -> None:
    """δ(1) of the last iterate, computed elsewhere: 1, .951, .168, 2.9e-6, 2.3e-6."""
    rows = gradient_perturbed_admm.exact_last_iterates(DPADMM, 0)
    found = {int(row[0]): row[1] for row in rows}
    expected = {1: 1.0, 2: 0.951, 3: 0.168, 5: 2.9e-6, 10: 2.3e-6}
    for rounds, delta in expected.items():
        assert found[rounds] == pytest.approx(delta, rel=0.02)


def test_noise_on_gradients_is_damped_along_the_rows() -> None:
    """μ² at k = 2, 3, 4, 6, 8, computed elsewhere: 1, 1/2, 1/3, 1/5, 1/7."""
    found = {int(row[0]): row for row in gradient_admm_noisy_oracle.curve(0)}
    for k in (2, 3, 4, 6, 8):
        _, exact, certified, shortcut = found[k]
        assert exact == pytest.approx(1 / (k - 1), rel=1e-4)
        assert shortcut < exact <= certified * (1 + 1e-9)


def test_last_iterate_lies_below_the_certified_curve_and_falls() -> None:
    rows = gradient_admm.curve(0)
    exact = [row[1] for row in rows]
    assert all(row[1] <= row[2] * (1 + 1e-9) for row in rows)
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(exact))


@pytest.mark.parametrize("method", [PENALTY, RECYCLED], ids=["penalty", "recycled"])
@pytest.mark.parametrize(
    "setting",
    [objective_perturbation.STRONG, objective_perturbation.CURVED],
    ids=["free", "curved"],
)
def test_crafted_outcomes_come_within_one_per_cent_of_the_bound(
    method: objective_perturbation.Method, setting: tuple[float, float]
) -> None:
    _, _, found = objective_perturbation.worst_pair(method, *setting)
    certified = objective_perturbation.bound(method, *setting).certified().guarantee.epsilon(0.0)
    assert 0.99 * certified < found.max() <= certified


def test_mixture_ratio_agrees_with_the_algorithms_own_density() -> None:
    attacked = averaging.algorithm(6, 4, 0.7)
    other = averaging.neighbour(attacked)
    transcript = attacked.run(5, runs=40)
    own = attacked.log_density(transcript) - attacked.log_density(transcript, other)
    ratio = noisy_subgradients.sampled_target(attacked, other).log_ratio
    assert ratio is not None
    assert ratio(transcript) == pytest.approx(own, abs=1e-9)


def test_the_search_finds_the_opposite_record() -> None:
    attacked = gradient_perturbed_admm.algorithm(rounds=3, sigma=1.0)
    found, distance = worst(attacked, replacements(attacked.problem.records))
    assert found.labels[0] * found.features[0] == pytest.approx([-1.0, 0.0])
    assert distance == pytest.approx(3 * (2 / gradient_perturbed_admm.RECORDS) ** 2)


def test_separation_of_gaussians() -> None:
    mu, direction, middle = separation.separation(
        Law([3.0, 0.0], [[4.0, 0.0], [0.0, 1e-12]]), Law([0.0, 0.0], [[4.0, 0.0], [0.0, 1e-12]])
    )
    assert mu == pytest.approx(1.5)
    assert direction @ (np.array([3.0, 0.0]) - middle) == pytest.approx(1.5**2 / 2)


def test_a_difference_without_noise_separates_for_certain() -> None:
    singular = [[1.0, 0.0], [0.0, 0.0]]
    assert separation.separation(Law([0.0, 1.0], singular), Law([0.0, 0.0], singular))[0] == np.inf


def test_separation_refuses_two_covariances() -> None:
    with pytest.raises(AssumptionViolated, match="one covariance"):
        separation.separation(Law([0.0], [[1.0]]), Law([1.0], [[2.0]]))


def test_reconstruction_improves_with_the_rounds() -> None:
    """The cosine of a wrong direction would be spread over [-1, 1]."""
    rows = reconstruction.with_public_penalty(PENALTY, 1.0, 1.0, 3, horizons=(10, 300))
    assert rows[0][1] < rows[-1][1]
    assert rows[-1][1] > 0.95


def test_a_private_penalty_can_be_read_off_the_broadcasts() -> None:
    """A wrong penalty gives a wrong direction; the estimated one the right one."""
    ((_, true, estimate, cosine, guessed),) = reconstruction.with_private_penalty(
        3, horizons=(300,)
    )
    assert estimate == pytest.approx(true, rel=0.15)
    assert cosine > 0.99
    assert guessed < cosine


def test_equation_23_promises_more_than_a_triangle_has() -> None:
    """.249 against .00353 elsewhere; the slowest quadratic contracts by less than (23) says."""
    rows = {row[0]: row for row in convergence_counterexamples.printed_rate(0)}
    _, printed, allowed, slowest = rows[0.01]
    assert printed == pytest.approx(0.249, abs=5e-4)
    assert allowed == pytest.approx(0.00353, abs=5e-6)
    assert allowed <= slowest < printed


def test_mr_admm_converges_to_another_optimum() -> None:
    """3/7 in place of 1: the dual steps weigh every node by one over its penalty."""
    rows = convergence_counterexamples.mr_admm_limit(0)
    assert rows[-1][1] == pytest.approx(3 / 7, abs=1e-6)
    assert rows[-1][3] == 1.0


def test_growing_penalties_stall() -> None:
    rows = convergence_counterexamples.m_admm_stalls(0)
    assert rows[-1][1] == pytest.approx(1 - 0.99229, abs=1e-5)
    assert all(row[1] == pytest.approx(row[2], rel=1e-6) for row in rows)


@pytest.mark.parametrize(("reach", "outcome"), [(0.6, "NOT REFUTED"), (0.4, "UNDERPOWERED")])
def test_an_outcome_near_the_claim_is_power(reach: float, outcome: str) -> None:
    claim = Claim.of(epsilon=1.0, adjacency="replace-one")
    found = Finding(
        check="pointwise", severity=Severity.HOLDS, text="found", numbers={"largest": reach}
    )
    assert decide(claim, [], [found])[0].value == outcome


def test_dependent_runs_void_every_bound() -> None:
    """A bound from runs that are not independent refutes nothing; other broken premises let it."""
    claim = Claim.of(epsilon=1.0, delta=1e-3, adjacency="replace-one")
    bound = Evidence(
        method="accuracy",
        quantity=Quantity.EPSILON,
        lower=2.0,
        alpha=0.05,
        delta=1e-3,
        access=AdversaryAccess.RUNS,
        runs=100,
    )
    for check, failed, expected in (
        ("disclosure", [], "PRECONDITION FAILED"),
        ("noise", ["the two worlds"], "PRECONDITION FAILED"),
        ("noise", ["scale"], "REFUTED"),
        ("sensitivity", [], "REFUTED"),
    ):
        found = Finding(
            check=check, severity=Severity.PREMISE, text="broken", numbers={"failed": failed}
        )
        assert decide(claim, [bound], [found])[0].value == expected


def test_the_share_that_counts_as_power_can_be_chosen() -> None:
    claim = Claim.of(epsilon=1.0, adjacency="replace-one")
    found = Finding(
        check="pointwise", severity=Severity.HOLDS, text="found", numbers={"largest": 0.6}
    )
    outcome, reason = decide(claim, [], [found])
    assert outcome.value == "NOT REFUTED"
    assert "attains 60 per cent" in reason
    assert decide(claim, [], [found], detectable_ratio=1.5)[0].value == "UNDERPOWERED"


def test_what_noisy_sgd_is_said_to_attain_is_the_exact_law_of_its_instance() -> None:
    paper = noisy_gradient_descent.theorem("pnsgd", position=1)
    attained, certified = paper.attained().numbers["mu"], paper.certified().numbers["mu"]
    assert attained == pytest.approx(worst_descents._walk(paper).separation(), rel=1e-9)
    assert attained <= certified
    assert attained == pytest.approx(certified, rel=1e-9)


@pytest.mark.parametrize("position", [4, 10])
def test_what_is_attained_is_at_least_what_linear_losses_leak(position: int) -> None:
    """Losses that forget the noise before the record's step count only where they leak more."""
    paper = noisy_gradient_descent.theorem("pnsgd", position=position)
    linear = GDP(worst_descents._walk(paper).separation())
    attained, certified = paper.attained().guarantee, paper.certified().guarantee
    for delta in (1e-3, 1e-6):
        assert linear.epsilon(delta) <= attained.epsilon(delta) * (1 + 1e-9)
        assert attained.epsilon(delta) <= certified.epsilon(delta)


@pytest.mark.parametrize("steps", [1, 7, 60])
def test_what_full_batch_descent_is_said_to_attain(steps: int) -> None:
    paper = noisy_gradient_descent.theorem("noisy-gd", steps=steps)
    found = worst_descents.full_batch(paper)
    assert found is not None
    assert found.log_ratio is not None
    x = np.linspace(-1, 1, 3)[:, None]
    slope = np.diff(found.log_ratio(x))  # of N(m, s²) against N(-m, s²): 2mx/s²
    law = Descent(
        factors=np.full(steps, 1 - paper.step_size * paper.strong_convexity),
        uses=np.full(steps, 1.0),
        noise=paper.step_size * paper.sigma,
    ).law(World.IN)
    assert slope[0] == pytest.approx(slope[1])
    attained = paper.attained().numbers["mu"]
    assert slope[0] * np.sqrt(law.covariance[0, 0]) == pytest.approx(attained, rel=1e-6)
