"""DP-ADMM and noisy gradient ADMM against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.theorems.convergence.dp_admm_utility import DPADMMUtility
from dpcalc.theorems.convergence.gradient_admm_utility import GradientADMMUtility
from tests.oracles.convergence.simulate import dp_admm, gradient_admm

RUNS = 300


class Quadratic:
    """f = ½ (x - p)'H(x - p), g = (k/2)|y - r|², Ax - y = 0."""

    def __init__(self, rng, a):
        d3, d1 = a.shape
        root = rng.normal(size=(d1, d1))
        self.h = root @ root.T / d1 + 0.05 * np.eye(d1)
        self.p, self.r, self.k, self.a = rng.normal(size=d1), rng.normal(size=d3), 0.7, a
        self.smooth = np.linalg.eigvalsh(self.h)[-1]
        self.x = np.linalg.solve(self.h + self.k * a.T @ a, self.h @ self.p + self.k * a.T @ self.r)
        self.y = a @ self.x

    def gradient(self, x):
        return (x - self.p) @ self.h

    def f(self, x):
        return 0.5 * np.einsum("...i,ij,...j", x - self.p, self.h, x - self.p)

    def g(self, y):
        return self.k / 2 * ((y - self.r) ** 2).sum(-1)

    def bregman(self, x, y):
        first = 0.5 * np.einsum("...i,ij,...j", x - self.x, self.h, x - self.x)
        return first + self.k / 2 * ((y - self.y) ** 2).sum(-1)


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
