"""ADMM for f(x) + g(y), Ax + By = c, against slow copies of its equations and exact laws."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.constraints import Constraint
from dpcalc.algorithms.problems.regularisers import ElasticNet
from dpcalc.errors import InvalidInput
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


def noise_of(algorithm, seed):
    state = algorithm.start(seed)
    kind = algorithm._draws(2)["noise"]
    return [state.streams.draw(kind, 0, t)[0] for t in range(1, algorithm.rounds + 1)]


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
