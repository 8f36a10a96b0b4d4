"""Densities, accesses and refusals of the decentralised methods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.builtin import classification
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Hinge, Logistic
from dpcalc.algorithms.problems.networks import from_edges, ring, star
from dpcalc.algorithms.problems.noise import ExponentialNorm
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.vocabulary import Adjacency
from tests.algorithms.network_problems import problem


def test_the_density_of_one_round_integrates_to_one():
    """Two nodes, one feature: integrate exp(log_density) over both released numbers."""
    p = ConsensusProblem(
        records=classification(6, 1, nodes=2), network=ring(2), loss=Logistic(), ridge=0.5
    )
    from dpcalc.transcript import Series, Transcript

    for key, extra in (
        ("penalty-perturbation", {"dual_step": 0.5}),
        ("dual-variable-perturbation", {}),
        ("primal-variable-perturbation", {}),
        ("private-r-admm", {}),
    ):
        algorithm = load(key)(p, rounds=1, penalty=0.5, noise_rate=2.0, **extra)
        grid = np.linspace(-12, 12, 301)
        first, second = (g.ravel() for g in np.meshgrid(grid, grid))
        primal = np.stack([first, second], axis=1)[:, None, :, None]
        made = Transcript(
            algorithm=key,
            release="every iterate",
            rounds=1,
            released={
                "initial": Series(
                    values=np.zeros((len(first), 2, 1)), axes=("runs", "n", "d"), meaning="-"
                ),
                "primal": Series(values=primal, axes=("runs", "rounds", "n", "d"), meaning="-"),
            },
        )
        mass = np.exp(algorithm.log_density(made)).sum() * (grid[1] - grid[0]) ** 2
        assert mass == pytest.approx(1, abs=1e-3), key


def test_accesses_carry_the_numbers_of_the_theorems():
    """One node of C=1750, B=8000, ρ=.22, N=5, V=3, η=1, α=1."""
    whole = classification(40, 2)
    from dpcalc.algorithms.problems.records import split

    p = ConsensusProblem(
        records=split(whole.features, whole.labels, sizes=(8,) * 5),
        network=from_edges([(0, 1), (0, 2), (0, 3), (1, 4), (2, 3)]),
        loss=Logistic(),
        loss_weight=1.75,
        ridge=0.22,
    )
    algorithm = load("private-r-admm")(p, rounds=50, penalty=1.0, noise_rate=1.0)
    accesses = algorithm.data_accesses()
    assert len(accesses) == 25 * 5
    assert {a.round for a in accesses} == set(range(1, 51, 2))
    one = accesses[0]
    assert p.network.degrees[0] == 3
    assert one.sensitivity == pytest.approx(2 * 1.75 / 8)
    assert one.noise == ExponentialNorm(1.0)
    assert one.curvature_change == pytest.approx(1.75 / 8 / 4)
    assert one.curvature_floor == pytest.approx(0.22 / 5 + 2 * 3)
    assert one.adjacency == Adjacency.REPLACE_ONE
    penalty = load("penalty-perturbation")(
        p, rounds=1, penalty=2.0, dual_step=0.5, noise_rate=3.0
    ).data_accesses()[0]
    assert penalty.noise.rate == pytest.approx(3.0 / (2 * 2.0 * 3))
    dual = load("dual-variable-perturbation")(p, rounds=1, penalty=2.0, noise_rate=3.0)
    assert dual.data_accesses()[0].noise.rate == pytest.approx(1.5)
    primal = load("primal-variable-perturbation")(p, rounds=1, penalty=2.0, noise_rate=3.0)
    assert primal.data_accesses()[0].sensitivity == pytest.approx(2 * 1.75 / 8 / (0.22 / 5 + 12))
    with pytest.raises(InvalidInput, match="adjacency"):
        algorithm.data_accesses(Adjacency.ADD_REMOVE)


def test_the_one_node_cost_of_the_theory_page_is_not_exceeded():
    """|log-ratio| of one objective perturbation stays below 2aC/B + ln(1 + Cc₁/(Bh))."""
    p = problem(network=star(4))
    algorithm = load("private-r-admm")(p, rounds=1, penalty=0.3, noise_rate=1.5)
    transcript = algorithm.run(2, runs=3000)
    here = algorithm.log_density(transcript)
    worst = 0.0
    for row in range(5):
        for turned in ([1.0, 0.0], [0.0, -1.0], [0.0, 0.0]):
            other = p.records.replaced(row, turned, -p.records.labels[row])
            worst = max(worst, float(np.abs(algorithm.log_density(transcript, other) - here).max()))
    access = algorithm.data_accesses()[0]
    bound = access.sensitivity * access.noise.rate + np.log1p(
        access.curvature_change / access.curvature_floor
    )
    assert 0.4 * bound < worst <= bound * (1 + 1e-9)


def test_a_kinked_loss_has_no_exact_minimiser():
    with pytest.raises(AssumptionViolated, match="SmoothedHinge"):
        load("decentralised-admm")(problem(Hinge()), rounds=1, penalty=1.0).run(0)


@pytest.mark.parametrize(
    "bad",
    [
        {"penalty": -1.0},
        {"penalty": [1.0, 2.0]},
        {"penalty": np.nan},
        {"noise_rate": 0.0},
        {"noise_rate": "loud"},
        {"initial": np.zeros(3)},
        {"initial": "best"},
        {"proximal_weight": -1.0},
    ],
)
def test_bad_parameters_are_refused_by_name(bad):
    good = {"rounds": 6, "penalty": 1.0, "noise_rate": 1.0}
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        load("private-mr-admm")(problem(), **(good | bad)).run(0)


def test_r_admm_refuses_several_penalties():
    with pytest.raises(InvalidInput, match="mr-admm"):
        load("r-admm")(problem(), rounds=4, penalty=[1.0, 2.0])


def test_a_random_start_is_the_runs_own_and_is_released():
    algorithm = replace(load("decentralised-admm").example(), initial="random")
    batch = algorithm.run(3, runs=4)
    assert np.unique(batch["initial"].round(9)).size == batch["initial"].size
    np.testing.assert_array_equal(algorithm.run(3, first_run=2)["initial"][0], batch["initial"][2])


def test_a_transcript_made_with_other_parameters_is_noticed():
    algorithm = load("private-r-admm").example()
    other = replace(algorithm, proximal_weight=3.0)
    with pytest.raises(InvalidInput, match="these parameters"):
        other.log_density(algorithm.run(1))
