"""The decentralised methods against slow copies of their equations and against each other."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.algorithms import load
from dpcalc.algorithms.engine.schedules import geometric
from dpcalc.algorithms.problems.losses import Logistic, SmoothedHinge
from tests.algorithms.network_problems import EDGES, plain, problem
from tests.oracles.algorithms import network as oracle

ROUNDS = 4


def noise_of(algorithm, seed):
    """The unit noise of run 0 in every round; None where a round draws none."""
    state = algorithm.start(seed)
    drawn = []
    for t in range(1, algorithm.rounds + 1):
        kinds = list(algorithm._draws(t).values())
        drawn.append(state.streams.draw(kinds[0], 0, t)[0] if kinds else None)
    return drawn


START = np.array([[0.3, -0.2], [0.0, 0.5], [-0.4, 0.1], [0.2, 0.2]])

ETA = geometric([0.5, 0.7, 0.6, 0.8], [1.1, 1.0, 1.2, 1.05], ROUNDS)

THETA = geometric([0.5, 0.4, 0.5, 0.3], 1.0, ROUNDS)

RATE = geometric([2.0, 3.0, 4.0, 2.5], 1.1, ROUNDS)


def compare(algorithm, expected, seed=0):
    found = algorithm.run(seed)["primal"][0]
    np.testing.assert_allclose(found, expected, atol=2e-6)


@pytest.mark.parametrize("loss", [Logistic(), SmoothedHinge()])
def test_decentralised_admm_follows_its_equations(loss):
    p = problem(loss)
    data, constants = plain(p)
    eta = np.full((ROUNDS, 4), 0.7)
    expected = oracle.admm(data, EDGES, rounds=ROUNDS, eta=eta, theta=eta, start=START, **constants)
    algorithm = load("decentralised-admm")(p, rounds=ROUNDS, penalty=0.7, initial=START)
    compare(algorithm, expected)


def test_m_admm_follows_its_equations():
    p = problem()
    data, constants = plain(p)
    expected = oracle.admm(
        data, EDGES, rounds=ROUNDS, eta=ETA, theta=THETA, start=START, **constants
    )
    algorithm = load("m-admm")(p, rounds=ROUNDS, penalty=ETA, dual_step=THETA, initial=START)
    compare(algorithm, expected)


def test_penalty_perturbation_follows_its_equations():
    p = problem()
    data, constants = plain(p)
    algorithm = load("penalty-perturbation")(
        p, rounds=ROUNDS, penalty=ETA, dual_step=THETA, noise_rate=RATE, initial=START
    )
    inside = [u / RATE[t][:, None] for t, u in enumerate(noise_of(algorithm, 5))]
    expected = oracle.admm(
        data, EDGES, rounds=ROUNDS, eta=ETA, theta=THETA, start=START, inside=inside, **constants
    )
    compare(algorithm, expected, 5)


def test_dual_variable_perturbation_follows_its_equations():
    p = problem()
    data, constants = plain(p)
    algorithm = load("dual-variable-perturbation")(
        p, rounds=ROUNDS, penalty=0.7, noise_rate=RATE, initial=START
    )
    linear = [2 * u / RATE[t][:, None] for t, u in enumerate(noise_of(algorithm, 5))]
    eta = np.full((ROUNDS, 4), 0.7)
    expected = oracle.admm(
        data, EDGES, rounds=ROUNDS, eta=eta, theta=eta, start=START, linear=linear, **constants
    )
    compare(algorithm, expected, 5)


def test_primal_variable_perturbation_follows_its_equations():
    p = problem()
    data, constants = plain(p)
    algorithm = load("primal-variable-perturbation")(
        p, rounds=ROUNDS, penalty=0.7, noise_rate=RATE, initial=START
    )
    after = [u / RATE[t][:, None] for t, u in enumerate(noise_of(algorithm, 5))]
    eta = np.full((ROUNDS, 4), 0.7)
    expected = oracle.admm(
        data, EDGES, rounds=ROUNDS, eta=eta, theta=eta, start=START, after=after, **constants
    )
    compare(algorithm, expected, 5)


def logistic_slope(m):
    return -1 / (1 + np.exp(m))


RECYCLED = {"rounds": ROUNDS, "eta": ETA, "gamma": 0.3, "slope": logistic_slope, "start": START}


def test_mr_admm_follows_its_equations_with_the_gradient_taken_anew():
    """The code recycles from the optimality condition; the oracle asks the data again."""
    p = problem()
    data, constants = plain(p)
    expected = oracle.mr_admm(
        data,
        EDGES,
        **RECYCLED,
        **constants,
    )
    algorithm = load("mr-admm")(
        p, rounds=ROUNDS, penalty=ETA[:2], proximal_weight=0.3, initial=START
    )
    compare(algorithm, expected)


def test_private_mr_admm_follows_its_equations():
    p = problem()
    data, constants = plain(p)
    algorithm = load("private-mr-admm")(
        p, rounds=ROUNDS, penalty=ETA[:2], noise_rate=RATE[:2], proximal_weight=0.3, initial=START
    )
    drawn = noise_of(algorithm, 5)
    assert drawn[1] is None
    assert drawn[3] is None
    linear = [drawn[2 * k] / RATE[k][:, None] for k in range(2)]
    expected = oracle.mr_admm(
        data,
        EDGES,
        **RECYCLED,
        linear=linear,
        **constants,
    )
    compare(algorithm, expected, 5)


def same(left, right, seed=1):
    one, other = left.run(seed, runs=2)["primal"], right.run(seed, runs=2)["primal"]
    np.testing.assert_allclose(one, other, atol=1e-11)


def test_m_admm_with_one_penalty_is_admm():
    p = problem()
    same(
        load("m-admm")(p, rounds=5, penalty=0.7, dual_step=0.7),
        load("decentralised-admm")(p, rounds=5, penalty=0.7),
    )


def test_mr_admm_with_one_penalty_is_r_admm():
    p = problem()
    same(
        load("mr-admm")(p, rounds=6, penalty=np.full((3, 4), 0.7), proximal_weight=0.2),
        load("r-admm")(p, rounds=6, penalty=0.7, proximal_weight=0.2),
    )
    same(
        load("private-mr-admm")(p, rounds=6, penalty=[0.7] * 3, noise_rate=2.0),
        load("private-r-admm")(p, rounds=6, penalty=0.7, noise_rate=2.0),
    )


def test_methods_without_noise_coincide():
    p = problem()
    plain_admm = load("decentralised-admm")(p, rounds=5, penalty=0.7)
    quiet = {"rounds": 5, "penalty": 0.7, "noise_rate": np.inf}
    same(load("penalty-perturbation")(p, dual_step=0.7, **quiet), plain_admm)
    same(load("dual-variable-perturbation")(p, **quiet), plain_admm)
    same(load("primal-variable-perturbation")(p, **quiet), plain_admm)
    same(load("private-r-admm")(p, **quiet), load("r-admm")(p, rounds=5, penalty=0.7))


def test_penalty_noise_is_dual_noise_in_another_unit():
    """Rate α inside the penalty is rate α/(ηV) on the dual: zhang2018's remark, with its unit."""
    p = problem()
    degrees = p.network.degrees
    same(
        load("penalty-perturbation")(
            p, rounds=4, penalty=0.7, dual_step=0.7, noise_rate=[[3.0, 2.0, 4.0, 5.0]]
        ),
        load("dual-variable-perturbation")(
            p,
            rounds=4,
            penalty=0.7,
            noise_rate=np.array([[3.0, 2.0, 4.0, 5.0]]) / (0.7 * degrees),
        ),
    )
