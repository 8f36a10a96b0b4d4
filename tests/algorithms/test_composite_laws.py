"""Laws and sensitivities of ADMM for f(x) + g(y), against many runs and exact laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.builtin import regression
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import Constraint, copies, graph_guided
from dpcalc.algorithms.problems.losses import Linear, Squared
from dpcalc.algorithms.problems.noise import Gaussian, NoNoise
from dpcalc.algorithms.problems.records import split
from dpcalc.algorithms.problems.regularisers import ridge
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.vocabulary import Adjacency, Release
from tests.algorithms.composite_problems import (
    ETA,
    FUSED,
    RHO,
    START,
    compare,
    functions,
    parts,
    problem,
)
from tests.oracles.algorithms import composite as oracle


def test_the_printed_start_gives_the_data_away():
    """Other data make the release impossible; with a sound start they only make it less likely."""
    p = problem()
    other = p.records.replaced(3, [1.0, 0.0], -p.records.labels[3])
    settings = {"rounds": 3, "penalty": RHO, "step_size": ETA, "sigma": 0.5}
    for start, finite in (("printed", False), ("zero", True), ("noised", True), ("shared", True)):
        algorithm = load("dp-admm")(p, dual_start=start, **settings)
        run = algorithm.run(1, runs=4)
        assert np.isfinite(algorithm.log_density(run)).all()
        assert np.isfinite(algorithm.log_density(run, other)).all() == finite
        laws = [a.noise for a in algorithm.data_accesses()]
        assert (NoNoise() in laws) == (not finite)
        assert len(laws) == 3 + (start in ("printed", "noised"))


def test_the_exact_last_iterate_law_shows_what_the_printed_start_costs():
    """δ(1) of (x_T, y_T) for the noise prescribed for (1, 1e-3): 1, .951, .168, 2.9e-6, 2.3e-6.

    A = I₂, B = -I, g = ¼‖y‖², ρ = 1, η = .01; f linear, one gradient of norm 1 present or absent.
    """
    records = split(np.zeros((100, 2)), np.ones(100))
    other = records.replaced(0, [1.0, 0.0], 1.0)
    p = CompositeProblem(
        records=records, loss=Linear(), regulariser=ridge(0.5), constraint=copies(2)
    )
    alpha = np.log(1e3) / 0.5 + 1
    expected = {1: 1.0, 2: 0.951, 3: 0.168, 5: 2.9e-6, 10: 2.3e-6}
    for rounds, delta in expected.items():
        algorithm = load("dp-admm")(
            p,
            rounds=rounds,
            penalty=1.0,
            step_size=0.01,
            sigma=np.sqrt(alpha * rounds) / 100,
            dual_start="printed",
        )
        laws = [algorithm.last_iterate_law(records=r).marginal("x", "y") for r in (records, other)]
        mu = gaussian_distance(*laws)
        found = norm.cdf(mu / 2 - 1 / mu) - np.e * norm.cdf(-mu / 2 - 1 / mu) if mu < 1e6 else 1.0
        assert found == pytest.approx(delta, rel=0.02)


def gaussian_distance(one, other):
    """The μ of two Gaussians with one covariance; infinite if they live on different planes."""
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-15)
    values, vectors = np.linalg.eigh(one.covariance)
    gap = vectors.T @ (one.mean - other.mean)
    flat = values <= 1e-12 * values.max()
    if (np.abs(gap[flat]) > 1e-12).any():
        return np.inf
    return float(np.sqrt((gap[~flat] ** 2 / values[~flat]).sum()))


@pytest.mark.parametrize("start", ["zero", "printed", "noised", "shared"])
@pytest.mark.parametrize("key", ["dp-admm", "dp-acc-admm"])
def test_the_law_of_the_last_iterate_is_that_of_many_runs(key, start):
    """Mean and covariance of 40,000 runs within five standard errors of every entry."""
    p = CompositeProblem(
        records=regression(20, 2), loss=Squared(), regulariser=ridge(0.3), constraint=FUSED
    )
    algorithm = load(key)(
        p, rounds=5, penalty=RHO, step_size=ETA, sigma=0.5, dual_start=start, initial=START
    )
    law = algorithm.last_iterate_law().marginal("x", "y")
    run = algorithm.run(3, runs=40_000, release=Release.LAST_ITERATE)
    found = np.concatenate([run["x"], run["y"]], axis=1)
    spread = np.sqrt(np.diagonal(law.covariance))
    standard = spread / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - law.mean) <= 5 * standard).all()
    error = np.sqrt(2) * np.outer(spread, spread) / np.sqrt(len(found))
    assert (np.abs(np.cov(found.T) - law.covariance) <= 5 * error).all()


def test_a_law_needs_quadratic_functions():
    algorithm = load("dp-admm").example()
    with pytest.raises(AssumptionViolated, match="quadratic"):
        algorithm.last_iterate_law()


def test_sensitivities_carry_their_adjacency():
    p = problem()
    algorithm = load("dp-admm")(p, rounds=2, penalty=RHO, step_size=ETA, sigma=0.5)
    replace_one = algorithm.data_accesses()
    add_remove = algorithm.data_accesses(Adjacency.ADD_REMOVE)
    assert [a.sensitivity for a in replace_one] == pytest.approx([2 / 12] * 2)
    assert [a.sensitivity for a in add_remove] == pytest.approx([1 / 12] * 2)
    assert replace_one[0].noise == Gaussian(0.5)
    with pytest.raises(InvalidInput, match="adjacency"):
        algorithm.data_accesses(Adjacency.NEIGHBOURING_FUNCTIONS)


def test_the_printed_start_is_declared_with_the_stretch_of_the_pseudo_inverse():
    algorithm = load("dp-admm")(
        problem(), rounds=2, penalty=RHO, step_size=ETA, sigma=0.5, dual_start="printed"
    )
    first = algorithm.data_accesses()[0]
    assert first.round == 0
    assert first.released == "initial_dual"
    smallest = np.linalg.svd(FUSED.A, compute_uv=False).min()
    assert first.sensitivity == pytest.approx(2 / 12 / smallest / RHO)


@pytest.mark.parametrize(
    "bad",
    [
        {"penalty": 0.0},
        {"step_size": np.inf},
        {"sigma": -1.0},
        {"sigma": [1.0, 2.0]},
        {"proximal_weight": 0.0},
        {"initial": np.zeros(5)},
        {"dual_start": "guess"},
    ],
)
def test_bad_parameters_are_refused_by_name(bad):
    good = {"rounds": 3, "penalty": 1.0, "step_size": 1.0, "sigma": 1.0}
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        load("dp-admm")(problem(), **(good | bad))


def test_correlated_columns_need_a_quadratic_regulariser():
    crossed = Constraint(A=np.eye(2), B=np.array([[1.0, 1.0], [0.0, 1.0]]), c=np.zeros(2))
    with pytest.raises(AssumptionViolated, match="orthogonal"):
        load("admm")(problem(constraint=crossed), rounds=1, penalty=1.0).run(0)
    run = load("admm")(problem(ridge(0.4), crossed), rounds=3, penalty=RHO, initial=START)
    p = run.problem
    f, _, g = functions(p)
    expected = oracle.admm(f, g, *parts(p), rounds=3, rho=RHO, x0=START, u0=np.zeros(2))
    compare(run, expected)


def test_an_exact_x_step_needs_a_unique_minimiser():
    flat = Constraint(A=np.array([[1.0, 0.0]]), B=-np.eye(1), c=np.zeros(1))
    with pytest.raises(AssumptionViolated, match="full column rank"):
        load("admm")(problem(constraint=flat, own=0.0), rounds=1, penalty=1.0).run(0)


def test_records_must_fit_the_constraint():
    with pytest.raises(InvalidInput, match="columns"):
        replace(problem(), constraint=copies(3))
    with pytest.raises(InvalidInput, match="one weight per edge"):
        graph_guided(3, [(0, 1)], weights=[1.0, 2.0])
    with pytest.raises(InvalidInput, match="two features"):
        graph_guided(3, [(0, 3)])
    with pytest.raises(InvalidInput, match="number of rows"):
        Constraint(A=np.eye(2), B=np.eye(3), c=np.zeros(2))


def test_graph_guided_rows_are_weighted_differences():
    A = graph_guided(3, [(0, 1), (1, 2)], weights=[2.0, -0.5]).A
    np.testing.assert_array_equal(A[:2], [[2, -2, 0], [0, 0.5, 0.5]])
    np.testing.assert_array_equal(A[2:], np.eye(3))


def test_the_central_optimum_is_that_of_a_direct_search():
    from dpcalc.algorithms.problems.optimum import composite_optimum
    from dpcalc.errors import NumericalFailure

    p = problem()
    f, _, g = functions(p)
    A = p.constraint.A
    best = oracle.smallest(lambda x: f(x) + g(A @ x), np.zeros(2))
    x, value = composite_optimum(p)
    np.testing.assert_allclose(x, best, atol=1e-7)
    assert value == pytest.approx(f(best) + g(A @ best), abs=1e-12)
    with pytest.raises(NumericalFailure, match="another penalty"):
        composite_optimum(p, rounds=2)


def test_the_central_optimum_of_the_elastic_net_satisfies_its_optimality_condition():
    """|∇f + 2c₂x| <= c₁ where x = 0, and = -c₁·sign(x) elsewhere."""
    from dpcalc.algorithms.problems.data.elastic_net import elastic_net
    from dpcalc.algorithms.problems.optimum import composite_optimum

    p = elastic_net(radius=0.5, seed=18).problem
    x, _ = composite_optimum(p, penalty=0.3)
    a, b = p.records.features, p.records.labels
    slope = 2 * a.T @ (a @ x - b) / len(b) + 0.2 * x
    moving = np.abs(x) > 1e-6
    assert moving.any()
    np.testing.assert_allclose(slope[moving], -0.01 * np.sign(x[moving]), atol=1e-8)
    assert (np.abs(slope[~moving]) <= 0.01 + 1e-8).all()
