"""DP-ADMM against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.theorems.convergence.dp_admm_utility import DPADMMUtility
from tests.oracles.convergence.quadratic_runs import RUNS, Quadratic
from tests.oracles.convergence.simulate import dp_admm


@pytest.mark.parametrize("start", ["data", "zero", "noised"])
@pytest.mark.parametrize("seed", range(4))
def test_dp_admm_stays_below_the_certified_utility(start, seed):
    rng = np.random.default_rng(seed)
    d3 = int(rng.integers(1, 4))
    d1 = d3 + int(rng.integers(0, 3))
    a = rng.normal(size=(d3, d1))
    problem = Quadratic(rng, a)
    rho = 10 ** rng.uniform(-1, 0.5)
    eta = 0.9 / problem.smooth
    sigma, rounds = 0.3, 40
    x0 = problem.x + rng.normal(size=d1)
    result = DPADMMUtility(
        matrix=a.tolist(),
        penalty=rho,
        step_size=eta,
        smoothness=problem.smooth * (1 + 1e-12),
        distance=np.linalg.norm(x0 - problem.x) * (1 + 1e-12),
        sigma=sigma,
        rounds=rounds,
        dual_start=start,
        multiplier_norm=np.linalg.norm(problem.k * (problem.y - problem.r)) * (1 + 1e-9)
        if start == "zero"
        else None,
    )
    pseudo = np.linalg.pinv(a.T)
    u0 = np.zeros((RUNS, d3))
    if start != "zero":
        noise = sigma * rng.standard_normal((RUNS, d1)) * (start == "noised")
        u0 = -(problem.gradient(x0) + noise) @ pseudo.T / rho
    x, y = dp_admm(
        rng,
        problem.gradient,
        lambda v: (problem.k * problem.r + rho * v) / (problem.k + rho),
        a,
        -np.eye(d3),
        np.zeros(d3),
        rho,
        eta,
        result.weight(),
        sigma,
        rounds,
        np.tile(x0, (RUNS, 1)),
        u0,
    )
    observed = problem.bregman(x, y).mean()
    bound = result.certified().value
    assert observed <= bound
    if start == "data":
        assert result.attained().value <= bound


def test_the_noise_term_of_dp_admm_is_of_the_right_size():
    # Started at the optimum with the optimal dual only noise is left; no round is 20 times below.
    rng = np.random.default_rng(3)
    a = np.eye(4)
    problem = Quadratic(rng, a)
    eta = 0.5 / problem.smooth
    result = DPADMMUtility(
        matrix=1,
        dimension=4,
        penalty=1,
        step_size=eta,
        smoothness=problem.smooth,
        distance=1e-9,
        sigma=1,
        rounds=1,
    )
    u0 = -np.tile(problem.gradient(problem.x), (4000, 1))
    x, y = dp_admm(
        rng,
        problem.gradient,
        lambda v: (problem.k * problem.r + v) / (problem.k + 1),
        a,
        -np.eye(4),
        np.zeros(4),
        1.0,
        eta,
        result.weight(),
        1.0,
        1,
        np.tile(problem.x, (4000, 1)),
        u0,
    )
    observed = problem.bregman(x, y).mean()
    assert observed <= result.certified().value
    assert observed >= result.certified().value / 20


def test_the_printed_utility_is_exceeded_without_the_square():
    # L_f = 50, ρ = 1, one round: R of the line problem is far above the printed bound.
    result = DPADMMUtility(
        matrix=1,
        dimension=1,
        penalty=1,
        step_size=0.02,
        smoothness=50,
        distance=1,
        sigma=0,
        rounds=1,
    )
    attained = result.attained()
    x0, u0 = np.array([[1.0]]), np.array([[-50.0]])
    found = []
    for k in (0.1, 0.3, 1, 3, 10):
        x, y = dp_admm(
            np.random.default_rng(0),
            lambda x: 50 * x,
            lambda v, k=k: v / (k + 1),
            np.eye(1),
            -np.eye(1),
            np.zeros(1),
            1.0,
            0.02,
            result.weight(),
            0.0,
            1,
            x0,
            u0,
        )
        found.append(float((25 * x**2 + k / 2 * y**2)[0, 0]))
    assert attained.value == pytest.approx(max(found), rel=1e-8)
    assert result.claimed().value < attained.value <= result.certified().value


def test_lemma_4_fails_without_full_row_rank():
    # A = [2; 1], f = ½(x - 3)², g = ½|y|₁, Ax = y: the optimal scaled dual is (.5, .5).
    a = np.array([[2.0], [1.0]])
    x_star = 3 - 0.5 * 3  # x - 3 + 2·½ + 1·½ = 0 with y > 0
    gradient = np.array([x_star - 3])
    assert -np.linalg.pinv(a.T) @ gradient == pytest.approx([0.6, 0.3])
    assert a.T @ np.array([0.5, 0.5]) == pytest.approx(-gradient)  # and both in ∂g(y) = ½·sign
    result = DPADMMUtility(
        matrix=a.tolist(),
        penalty=1,
        step_size=0.5,
        smoothness=1,
        distance=2,
        sigma=0.1,
        rounds=10,
    )
    assert result.violations_of_claim()
    assert result.certified().value == np.inf
    assert result.replace(dual_start="zero", multiplier_norm=0.8).certified().value < np.inf
