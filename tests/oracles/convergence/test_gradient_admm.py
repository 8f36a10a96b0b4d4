"""Noisy gradient ADMM against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.theorems.convergence.gradient_admm_utility import GradientADMMUtility
from tests.oracles.convergence.quadratic_runs import RUNS, Quadratic
from tests.oracles.convergence.simulate import gradient_admm


@pytest.mark.parametrize("noise_in", ["gradient", "state"])
@pytest.mark.parametrize("seed", range(4))
def test_gradient_admm_stays_below_the_certified_utility(noise_in, seed):
    rng = np.random.default_rng(20 + seed)
    d3 = int(rng.integers(1, 4))
    d1 = int(rng.integers(1, 4))
    a = rng.normal(size=(d3, d1))
    problem = Quadratic(rng, a)
    beta, rounds, kappa = 10 ** rng.uniform(-1, 0.5), 40, 1.5
    eta = 0.8 / problem.smooth
    sigma = 0.3 if noise_in == "gradient" else 0.05
    x0 = problem.x + rng.normal(size=d1)
    result = GradientADMMUtility(
        matrix=a.tolist(),
        penalty=beta,
        step_size=eta,
        smoothness=problem.smooth,
        distance=np.linalg.norm(x0 - problem.x) * (1 + 1e-12),
        gradient_deviation=0,
        sigma=sigma,
        noise_in=noise_in,
        feasibility_weight=kappa,
        rounds=rounds,
    )
    # y = argmin g - ⟨w, By⟩ + (β/2)|By|² with B = -1, c = 0: k(y - r) + w + βy = 0.
    xs, ys = gradient_admm(
        rng,
        problem.gradient,
        lambda w: (problem.k * problem.r - w) / (problem.k + beta),
        a,
        -np.eye(d3),
        np.zeros(d3),
        eta,
        beta,
        sigma,
        rounds,
        np.tile(x0, (RUNS, 1)),
        state_noise=noise_in == "state",
    )
    x, y = xs[1:].mean(0), ys.mean(0)
    gap = problem.f(x) + problem.g(y) - problem.f(problem.x) - problem.g(problem.y)
    observed = (gap + kappa * np.linalg.norm(x @ a.T - y, axis=-1)).mean()
    bound = result.certified().value
    assert observed <= bound
    assert bound <= 200 * max(observed, 1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_the_reconstructed_claim_of_gradient_admm_holds(seed):
    # Bounded gradients that differ between rounds; any step size, kinks allowed in the large.
    rng = np.random.default_rng(40 + seed)
    targets = rng.normal(size=(6, 2))
    beta, rounds, kappa, sigma, eta = 0.5, 50, 0.7, 0.2, 10 ** rng.uniform(-1.5, 0.5)

    def gradient(x):
        drawn = targets[rng.integers(6, size=len(x))]
        return np.tanh(x - drawn)

    def f(x):
        return np.log(np.cosh(x[..., None, :] - targets)).sum(-1).mean(-1)

    # g = ½|y|², A = 1, B = -1.
    best = np.zeros(2)
    for _ in range(2000):
        best = best - 0.3 * (np.tanh(best - targets).mean(0) + best)
    optimum = f(best) + best @ best / 2
    x0 = best + rng.normal(size=2)
    result = GradientADMMUtility(
        matrix=1,
        dimension=2,
        penalty=beta,
        step_size=eta,
        smoothness=1,
        distance=np.linalg.norm(x0 - best) * (1 + 1e-9),
        gradient_bound=np.sqrt(2),
        sigma=sigma,
        feasibility_weight=kappa,
        rounds=rounds,
    )
    xs, ys = gradient_admm(
        rng,
        gradient,
        lambda w: -w / (1 + beta),
        np.eye(2),
        -np.eye(2),
        np.zeros(2),
        eta,
        beta,
        sigma,
        rounds,
        np.tile(x0, (RUNS, 1)),
    )
    for x in (xs[:-1].mean(0), xs[1:].mean(0)):
        y = ys.mean(0)
        value = f(x) + (y**2).sum(-1) / 2 - optimum + kappa * np.linalg.norm(x - y, axis=-1)
        assert value.mean() <= result.claimed().value
        assert value.mean() <= result.certified().value * (1 + 1e-9)


def test_certified_gradient_admm_by_hand():
    # The two noise terms and the start, written out with dense matrices.
    a = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 0.0]])
    eta, beta, sigma, s, r, kappa, dual, rounds = 0.3, 0.7, 0.2, 1.1, 2.0, 0.5, 0.4, 9
    m = np.eye(2) + eta * beta * a.T @ a
    start = r**2 / (2 * eta) + (dual + beta * np.linalg.norm(a, 2) * r + kappa) ** 2 / (2 * beta)
    sampled = eta * s**2 / np.linalg.eigvalsh(m)[0]
    expected = {
        "gradient": start / rounds + sampled + eta * sigma**2 * np.trace(np.linalg.inv(m)),
        "state": start / rounds + sampled + sigma**2 / eta * np.trace(m),
    }
    for noise_in, value in expected.items():
        result = GradientADMMUtility(
            matrix=a.tolist(),
            penalty=beta,
            step_size=eta,
            smoothness=3,
            distance=r,
            dual_norm=dual,
            gradient_deviation=s,
            sigma=sigma,
            noise_in=noise_in,
            feasibility_weight=kappa,
            rounds=rounds,
        )
        found = result.certified().value
        assert found == pytest.approx(value, rel=1e-10)
        assert found >= value * (1 - 1e-14)
