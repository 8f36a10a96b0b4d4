"""ADMM for f(x) + g(y), Ax + By = c, against slow copies of its equations and exact laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.builtin import classification, regression
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import Constraint, copies, graph_guided
from dpcalc.algorithms.problems.losses import Linear, Logistic, Squared
from dpcalc.algorithms.problems.noise import Gaussian, NoNoise
from dpcalc.algorithms.problems.records import split
from dpcalc.algorithms.problems.regularisers import ElasticNet, lasso, ridge
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.vocabulary import Adjacency, Release
from tests.oracles.algorithms import composite as oracle

RHO, ETA = 0.8, 0.4
START = np.array([0.3, -0.6])
FUSED = graph_guided(2, [(0, 1)])


def problem(regulariser=None, constraint=FUSED, own=0.1):
    return CompositeProblem(
        records=classification(12, 2, seed=4),
        loss=Logistic(),
        regulariser=regulariser or lasso(0.05),
        constraint=constraint,
        ridge=own,
    )


def functions(p):
    """f, its gradient and g for the oracle."""
    rows = p.records.labels[:, None] * p.records.features

    def f(x):
        return np.mean([np.log1p(np.exp(-r @ x)) for r in rows]) + p.ridge / 2 * x @ x

    def gradient(x):
        return -np.mean([r / (1 + np.exp(r @ x)) for r in rows], axis=0) + p.ridge * x

    def g(y):
        return p.regulariser.l1 * np.abs(y).sum() + p.regulariser.l2 / 2 * y @ y

    return f, gradient, g


def parts(p):
    return p.constraint.A, p.constraint.B, p.constraint.c


def noise_of(algorithm, seed):
    state = algorithm.start(seed)
    kind = algorithm._draws(2)["noise"]
    return [state.streams.draw(kind, 0, t)[0] for t in range(1, algorithm.rounds + 1)]


def compare(algorithm, expected, seed=0):
    run = algorithm.run(seed)
    for t, (x, y, u) in enumerate(expected):
        np.testing.assert_allclose(run["x"][0, t], x, atol=3e-6)
        np.testing.assert_allclose(run["y"][0, t], y, atol=3e-6)
        np.testing.assert_allclose(run["dual"][0, t], u, atol=3e-6)


SHIFTED = Constraint(
    A=np.array([[1.0, 0.5], [0.0, 2.0]]), B=-2 * np.eye(2), c=np.array([0.2, -0.1])
)


@pytest.mark.parametrize("constraint", [FUSED, SHIFTED], ids=["fused", "shifted"])
def test_admm_follows_its_equations(constraint):
    p = problem(ElasticNet(l1=0.05, l2=0.3), constraint)
    f, _, g = functions(p)
    expected = oracle.admm(
        f, g, *parts(p), rounds=4, rho=RHO, x0=START, u0=np.zeros(len(constraint.c))
    )
    compare(load("admm")(p, rounds=4, penalty=RHO, initial=START), expected)


@pytest.mark.parametrize("start", ["zero", "printed", "noised", "shared"])
@pytest.mark.parametrize("key", ["dp-admm", "dp-acc-admm"])
def test_dp_admm_and_its_acceleration_follow_their_equations(key, start):
    p = problem()
    algorithm = load(key)(
        p,
        rounds=4,
        penalty=RHO,
        step_size=ETA,
        sigma=[0.2, 0.1, 0.3, 0.2],
        initial=START,
        dual_start=start,
    )
    A, B, c = parts(p)
    _, gradient, g = functions(p)
    noise = [s * u for s, u in zip([0.2, 0.1, 0.3, 0.2], noise_of(algorithm, 5), strict=True)]
    state = algorithm.start(5)
    extra = {
        "zero": None,
        "printed": np.zeros(2),
        "shared": noise[0],
        "noised": 0.2 * state.streams.draw(algorithm._draws(2)["noise"], 1, 1)[0],
    }[start]
    u0 = np.zeros(3) if extra is None else -np.linalg.pinv(A.T) @ (gradient(START) + extra) / RHO
    gamma = ETA * RHO * np.linalg.eigvalsh(A.T @ A).max() + 1
    assert algorithm.proximal_weight == pytest.approx(gamma)
    slow = {"dp-admm": oracle.dp_admm, "dp-acc-admm": oracle.dp_acc_admm}[key]
    expected = slow(
        gradient, g, A, B, c, rounds=4, rho=RHO, eta=ETA, gamma=gamma, noise=noise, x0=START, u0=u0
    )
    compare(algorithm, expected, 5)
    np.testing.assert_allclose(algorithm.run(5)["initial_dual"][0], u0, atol=1e-9)


def test_acc_admm_is_dp_acc_admm_without_noise():
    settings = {"rounds": 6, "penalty": RHO, "step_size": ETA, "initial": START}
    quiet = load("acc-admm")(problem(), **settings).run(0)
    same = load("dp-acc-admm")(problem(), sigma=0.0, **settings).run(0)
    np.testing.assert_array_equal(quiet["x"], same["x"])
    with pytest.raises(InvalidInput, match="dp-acc-admm"):
        load("acc-admm")(problem(), sigma=0.1, **settings)


@pytest.mark.parametrize(
    ("key", "settings", "rounds"),
    [
        ("admm", {}, 300),
        ("dp-admm", {"step_size": 1.0}, 3000),
        ("dp-admm", {"step_size": 1.0, "dual_start": "printed"}, 3000),
        ("acc-admm", {"step_size": 0.5}, 3000),
    ],
)
def test_without_noise_the_optimum_is_reached(key, settings, rounds):
    p = problem()
    f, _, g = functions(p)
    A = p.constraint.A
    best = oracle.smallest(lambda x: f(x) + g(A @ x), np.zeros(2))
    run = load(key)(p, rounds=rounds, penalty=RHO, **settings).run(0, diagnostics=True)
    tolerance = 1e-4 if key == "acc-admm" else 1e-6
    np.testing.assert_allclose(run["x"][0, -1], best, atol=tolerance)
    assert run.diagnostic("feasibility_gap")[0, -1] < tolerance
    assert run.diagnostic("objective")[0, -1] == pytest.approx(f(best) + g(A @ best), abs=tolerance)


# ---- the printed start of the dual


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


# ---- accesses and errors


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


# ---- the central optimum


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
