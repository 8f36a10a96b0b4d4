"""Noisy gradient ADMM against a slow copy of its iteration, exact laws and orders of users."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.builtin import classification, regression, users_example
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import Constraint, copies
from dpcalc.algorithms.problems.data.elastic_net import elastic_net
from dpcalc.algorithms.problems.losses import Logistic, Squared
from dpcalc.algorithms.problems.regularisers import ElasticNet, ridge
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.vocabulary import Adjacency, Release
from tests.oracles.algorithms import composite as oracle

KEYS = ("gradient-admm", "gradient-admm-noisy-oracle")
SETTINGS = {"rounds": 5, "penalty": 0.8, "step_size": 0.4, "sigma": 0.3}


def problem():
    return CompositeProblem(
        records=classification(5, 2, seed=2),
        loss=Logistic(),
        regulariser=ElasticNet(l1=0.05, l2=0.3),
        constraint=Constraint(A=np.array([[1.0, 0.5], [0.0, 2.0]]), B=-np.eye(2), c=np.ones(2) / 9),
        ridge=0.1,
    )


@pytest.mark.parametrize("key", KEYS)
def test_it_follows_its_iteration(key):
    p, start = problem(), np.array([0.4, -0.2])
    algorithm = load(key)(p, initial=start, **SETTINGS)
    state = algorithm.start(3)
    noise = [0.3 * state.streams.draw(algorithm._draws(1)["noise"], 0, t)[0] for t in range(1, 6)]
    rows = p.records.labels[:, None] * p.records.features
    gradients = [lambda x, r=r: -r / (1 + np.exp(r @ x)) + 0.1 * x for r in rows]

    def g(y):
        return 0.05 * np.abs(y).sum() + 0.15 * y @ y

    expected = oracle.gradient_admm(
        gradients,
        g,
        p.constraint.A,
        p.constraint.B,
        p.constraint.c,
        beta=0.8,
        eta=0.4,
        x0=start,
        **{"on_x" if key == "gradient-admm" else "on_gradient": noise},
    )
    run = algorithm.run(3)
    for t, (x, lam) in enumerate(expected):
        np.testing.assert_allclose(run["x"][0, t], x, atol=3e-6)
        np.testing.assert_allclose(run["dual"][0, t], lam, atol=3e-6)


def test_without_noise_and_with_one_user_the_optimum_is_reached():
    p = replace(problem(), records=classification(1, 2, seed=2))
    row = p.records.labels[0] * p.records.features[0]
    A, c = p.constraint.A, p.constraint.c

    def total(x):
        y = A @ x - c
        smooth = np.log1p(np.exp(-row @ x)) + 0.05 * x @ x
        return smooth + 0.05 * np.abs(y).sum() + 0.15 * y @ y

    best = oracle.smallest(total, np.zeros(2))
    run = load("gradient-admm")(p, rounds=2000, penalty=0.8, step_size=0.4, sigma=0.0).run(0)
    np.testing.assert_allclose(run["x"][0, -1], best, atol=1e-6)


# ---- the law of the last iterate


@pytest.mark.parametrize("key", KEYS)
def test_the_law_of_the_last_iterate_is_that_of_many_runs(key):
    """Mean and covariance of 40,000 runs within five standard errors of every entry."""
    p = replace(
        problem(), records=regression(5, 2), loss=Squared(scale=2.0), regulariser=ridge(0.3)
    )
    algorithm = load(key)(p, **SETTINGS)
    law = algorithm.last_iterate_law()
    run = algorithm.run(3, runs=40_000, release=Release.LAST_ITERATE)
    found = np.concatenate([run["x"], run["dual"]], axis=1)
    spread = np.sqrt(np.diagonal(law.covariance))
    assert (np.abs(found.mean(axis=0) - law.mean) <= 5 * spread / np.sqrt(len(found))).all()
    error = np.sqrt(2) * np.outer(spread, spread) / np.sqrt(len(found))
    assert (np.abs(np.cov(found.T) - law.covariance) <= 5 * error).all()


def test_the_law_with_no_dual_pull_is_a_geometric_sum():
    """Scalar contraction c = (1 - ημ): mean and variance in closed form, to 1e-12.

    A has no effect for β → 0; the users' functions are -b_i·x + (μ/2)x².
    """
    p = CompositeProblem(
        records=replace(users_example().records, features=np.full((5, 1), 0.7), labels=np.ones(5)),
        loss=users_example().loss,
        regulariser=ridge(1.0),
        constraint=copies(1),
        ridge=0.5,
    )
    algorithm = load("gradient-admm")(p, rounds=5, penalty=1e-14, step_size=0.4, sigma=0.3)
    law = algorithm.last_iterate_law().marginal("x")
    c, drift = 1 - 0.4 * 0.5, 0.4 * 0.7
    assert law.mean[0] == pytest.approx(drift * (1 - c**5) / (1 - c), rel=1e-12)
    assert law.covariance[0, 0] == pytest.approx(0.09 * (1 - c**10) / (1 - c**2), rel=1e-12)


def test_noise_in_the_oracle_reaches_x_damped_along_the_rows():
    """The published counterexample: A = B = 1, f = 0, g ≈ 0, η = 1, β = 100, Δ = σ' = 1.

    Exact μ² at k = 2, 3, 4, 6, 8 iterations is 1, .5, .333, .2, .143.
    """
    from dpcalc.algorithms.problems.losses import Linear
    from dpcalc.algorithms.problems.records import split

    records = split(np.zeros((8, 1)), np.ones(8))
    p = CompositeProblem(
        records=records,
        loss=Linear(),
        regulariser=ridge(1e-9),
        constraint=Constraint(A=np.ones((1, 1)), B=np.ones((1, 1)), c=np.zeros(1)),
    )
    other = records.replaced(0, [1.0], 1.0)
    expected = {2: 1.0, 3: 0.5, 4: 1 / 3, 6: 0.2, 8: 1 / 7}
    for k, square in expected.items():
        algorithm = load("gradient-admm-noisy-oracle")(
            p, rounds=k, penalty=100.0, step_size=1.0, sigma=1.0
        )
        here, there = algorithm.last_iterate_law(), algorithm.last_iterate_law(records=other)
        gap = here.mean - there.mean
        assert gap @ np.linalg.solve(here.covariance, gap) == pytest.approx(square, rel=1e-3)


def test_a_law_needs_quadratic_functions():
    with pytest.raises(AssumptionViolated, match="quadratic"):
        load("gradient-admm")(problem(), **SETTINGS).last_iterate_law()


# ---- orders and stopping


def test_a_permutation_uses_every_user_once_and_all_orders_occur_alike():
    """6,000 runs of three users: χ² over the six orders, false alarm 1e-4."""
    from scipy.stats import chi2

    p = replace(users_example(), records=classification(3, 3))
    run = load("gradient-admm")(
        p, rounds=3, penalty=1.0, step_size=0.1, sigma=1.0, order="permutation"
    ).run(1, runs=6000)
    counts = [
        (run["order"] == order).all(axis=1).sum() for order in itertools.permutations(range(3))
    ]
    assert sum(counts) == 6000
    assert ((np.array(counts) - 1000) ** 2 / 1000).sum() < chi2.isf(1e-4, 5)


def test_users_drawn_with_replacement_are_uniform():
    """30,000 draws from five users: χ², false alarm 1e-4."""
    from scipy.stats import chi2

    run = load("gradient-admm")(
        users_example(), rounds=6, penalty=1.0, step_size=0.1, sigma=1.0, order="with-replacement"
    ).run(1, runs=5000)
    counts = np.bincount(run["order"].ravel(), minlength=5)
    assert ((counts - 6000) ** 2 / 6000).sum() < chi2.isf(1e-4, 4)


def test_random_stopping_is_uniform_on_its_range_and_freezes_the_release():
    """9,000 runs over four stopping rounds: χ², false alarm 1e-4."""
    from scipy.stats import chi2

    algorithm = replace(load("gradient-admm").example(), order="fixed", stopping=(2, 5))
    run = algorithm.run(1, runs=9000)
    stopped = (run["order"] >= 0).sum(axis=1)
    counts = np.bincount(stopped, minlength=6)[2:]
    assert counts.sum() == 9000
    assert ((counts - 2250) ** 2 / 2250).sum() < chi2.isf(1e-4, 3)
    for r in range(50):
        frozen = run["x"][r, stopped[r] - 1 :]
        assert (frozen == frozen[0]).all()
    last = algorithm.run(1, runs=20, release=Release.LAST_ITERATE)
    assert set(last.released) == {"initial", "x", "dual"}
    assert last.diagnostics["order"].axes == ("runs", "rounds")


def test_the_chance_of_the_order_is_part_of_the_density():
    base = load("gradient-admm").example()
    fixed = replace(base, order="fixed", rounds=3)
    for order, chance in (("permutation", 1 / 60), ("with-replacement", 1 / 125)):
        algorithm = replace(base, order=order, rounds=3)
        run = algorithm.run(4, runs=400)
        cyclic = (run["order"] == [0, 1, 2]).all(axis=1)
        assert cyclic.any()
        gap = algorithm.log_density(run)[cyclic] - density_in_turn(fixed, run, cyclic)
        np.testing.assert_allclose(gap, math.log(chance), atol=1e-9)


def density_in_turn(fixed, run, chosen):
    from dpcalc.transcript import Transcript

    kept = {name: s for name, s in run.released.items() if name != "order"}
    made = Transcript(algorithm=run.algorithm, release=run.release, rounds=3, released=kept)
    runs = np.flatnonzero(chosen)
    return np.array([fixed.log_density(made.select(slice(r, r + 1)))[0] for r in runs])


def test_accesses_name_the_user_where_the_order_is_fixed():
    base = load("gradient-admm").example()
    fixed = replace(base, order="fixed", rounds=7).data_accesses()
    assert [a.node for a in fixed] == [0, 1, 2, 3, 4, 0, 1]
    assert fixed[0].adjacency == Adjacency.NEIGHBOURING_FUNCTIONS
    assert {a.node for a in base.data_accesses()} == {None}
    drawn = replace(base, order="with-replacement").data_accesses()
    assert drawn[0].sampling_rate == pytest.approx(1 / 5)


def test_sensitivity_is_damped_only_with_full_column_rank():
    wide = load("gradient-admm").example()  # two rows, three columns
    assert wide.data_accesses()[0].sensitivity == pytest.approx(0.5 * 2)
    square = replace(wide, problem=replace(wide.problem, constraint=copies(3)), gradient_gap=None)
    assert square.data_accesses()[0].sensitivity == pytest.approx(0.5 * 2 / (1 + 0.5 * 0.8))
    unbounded = load("gradient-admm")(elastic_net(radius=0.5, seed=0, users=9).problem, **SETTINGS)
    assert unbounded.data_accesses()[0].sensitivity == math.inf


@pytest.mark.parametrize(
    "bad",
    [
        {"penalty": 0.0},
        {"step_size": -1.0},
        {"sigma": np.nan},
        {"order": "random"},
        {"rounds": 6, "order": "permutation"},
        {"stopping": (0, 2)},
        {"stopping": (3, 9)},
        {"initial": np.zeros(9)},
        {"gradient_gap": -1.0},
    ],
)
def test_bad_parameters_are_refused_by_name(bad):
    word = list(bad)[-1]
    with pytest.raises(InvalidInput, match=word):
        load("gradient-admm")(problem(), **(SETTINGS | bad))


# ---- the experiment of the paper


def test_the_elastic_net_experiment_converges_and_noise_holds_it_up():
    data = elastic_net(radius=0.5, seed=18)
    problem_ = data.problem
    assert problem_.count == 1000
    norms = np.linalg.norm(problem_.records.features, axis=1)
    np.testing.assert_allclose(norms, 0.5)
    np.testing.assert_allclose(problem_.records.features.mean(axis=1), 0, atol=1e-12)
    settings = {
        "rounds": 100,
        "penalty": 0.9,
        "step_size": 1.753,
        "order": "with-replacement",
        "initial": np.full(64, 3.0),
    }
    objective = {
        sigma: load("gradient-admm")(problem_, sigma=sigma, **settings)
        .run(0, runs=100, diagnostics=True)
        .diagnostic("objective")
        .mean(axis=0)
        for sigma in (0.01, 0.5)
    }
    assert objective[0.01][-1] < objective[0.01][0] / 2
    assert objective[0.5][-1] > 2 * objective[0.01][-1]
