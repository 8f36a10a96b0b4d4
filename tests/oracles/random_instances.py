"""Random instances of a bound: each function draws one and returns the exact value over the bound.

None where what was drawn is outside the assumptions. Shares of μ² (of divergences for a shift that
falls), so that one above 1 by more than `ROOM` contradicts the bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcalc.accounting.losses.falling_shift import removal_profile
from dpcalc.guarantees.sampled_replacement import SampledReplacement
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.theorems.iteration.admm_iteration_strongly_convex import admissible_steps
from tests.oracles import adaptive_sampling, falling_shift
from tests.oracles.gradient_admm import Problem, random_problem
from tests.oracles.noisy_descent import quadratic_mu_squared
from tests.oracles.random_runs import (
    averaged,
    between_walls,
    ordered_at_random,
    sampled_at_random,
    sampled_between_walls,
)
from tests.oracles.random_updates import exponential_update, normal_update

Draw = Callable[[np.random.Generator], float | None]


def certified_admm(problem: Problem, iterations: int, **extra: object) -> float:
    """The certified μ² of gradient ADMM with these matrices."""
    values = np.linalg.svd(problem.A, compute_uv=False)
    kind = privacy_result(
        "admm-iteration-strongly-convex" if "strong_convexity" in extra else "admm-iteration"
    )
    theorem = kind.from_parameters(
        {
            "sensitivity": 1,
            "step_size": problem.step,
            "penalty": problem.penalty,
            "sigma": 1,
            "iterations": iterations,
            "operator_norm": float(values[0]) * (1 + 1e-12),
            "min_singular_value": float(values[-1]) * (1 - 1e-12),
            "square": problem.A.shape[0] == problem.A.shape[1],
            **extra,
        }
    )
    return float(theorem.certified().numbers["mu"]) ** 2


def convex_admm(rng: np.random.Generator) -> float:
    """One use, noise in the state or on the gradient, A square or wide."""
    iterations, smoothness = int(rng.integers(1, 9)), 10 ** rng.uniform(-1, 1)
    problem = random_problem(
        rng, iterations=iterations, smoothness=smoothness, square=bool(rng.integers(2)),
        step=float(rng.uniform(0.05, 2)) / smoothness, penalty=10 ** rng.uniform(-1.5, 1.5),
    )  # fmt: skip
    on_gradient, d = bool(rng.integers(2)), problem.A.shape[1]
    changes = np.vstack([rng.normal(size=(6, d)), np.linalg.svd(problem.A)[2]])
    changes /= np.linalg.norm(changes, axis=1, keepdims=True)
    exact = max(problem.mu_squared(c, 1.0, on_gradient=on_gradient) for c in changes)
    room = 1 + 1e-12 if problem.step * smoothness < 1.999 else 1
    return exact / certified_admm(
        problem, iterations, smoothness=smoothness * room, noise_in=_place(on_gradient)
    )


def strongly_convex_admm(rng: np.random.Generator) -> float | None:
    """One use or several, strongly convex losses and regulariser, a step in the admissible range."""
    passes, gap = (
        (int(rng.integers(2, 5)), int(rng.integers(1, 6))) if rng.random() < 0.5 else (1, 10)
    )
    tail, nu = int(rng.integers(1, gap + 1)), 10 ** rng.uniform(-1, 1)
    mu, penalty = nu * rng.uniform(0.2, 1), 10 ** rng.uniform(-1.5, 1)
    draft = random_problem(
        rng, iterations=gap * (passes - 1) + tail, smoothness=nu, strong_convexity=mu,
        g_convexity=10 ** rng.uniform(-2, 1), square=bool(rng.integers(2)), step=1.0, penalty=penalty,
    )  # fmt: skip
    extra = {
        "strong_convexity": mu,
        "regularizer_strong_convexity": float(np.linalg.eigvalsh(draft.G)[0]) * (1 - 1e-9),
        "coupling_norm": float(np.linalg.norm(draft.A.T @ draft.B, 2)) * (1 + 1e-12),
    }
    low, high = (float(x) for x in admissible_steps(penalty=penalty, smoothness=nu, **extra))
    if not low * (1 + 1e-6) < high * (1 - 1e-6):
        return None
    step = low + (high - low) * rng.uniform(0.02, 0.98)
    problem = Problem(draft.A, draft.B, draft.G, draft.hessians, step, penalty)
    exact = _several_uses(problem, passes, gap, on_gradient=False)
    return exact / certified_admm(problem, tail, smoothness=nu, **extra, **_uses(passes, gap))


def repeated_admm(rng: np.random.Generator) -> float:
    """Convex losses, two to four uses in every so many iterations."""
    return _admm_with_uses(rng, int(rng.integers(2, 5)), 0.0)


def expanding_admm(rng: np.random.Generator) -> float:
    """Hessians in [-w, ν], one use to three."""
    return _admm_with_uses(rng, int(rng.integers(1, 4)), float(rng.choice([0.05, 0.3, 1.0])))


def expanding_descent(rng: np.random.Generator) -> float:
    """Hessians anywhere in [-w, M], changes in one direction, several uses in one order."""
    weak, smooth = rng.uniform(0, 1), 1.0
    batches, passes = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    position, eta = int(rng.integers(1, batches + 1)), float(rng.uniform(0.05, 2.5))
    d = int(rng.integers(1, 3))
    each = []
    for _ in range(batches):
        q, _ = np.linalg.qr(rng.normal(size=(d, d)))
        ends = rng.choice([-weak, 1 / eta if eta > 1 else smooth, smooth], d)
        each.append((q * ends) @ q.T)
    if rng.random() < 0.5:
        each = [-weak * np.eye(d)] * batches
    steps = batches * passes
    changes = np.zeros((steps, d))
    changes[position - 1 :: batches] = np.eye(d)[0]
    exact = quadratic_mu_squared(
        each * passes, np.full(steps, eta), np.full(steps, eta * 0.8), changes
    )
    theorem = privacy_result("noisy-cgd").from_parameters(
        {
            "sensitivity": 1, "batch_size": 1, "n_batches": batches, "passes": passes,
            "step_size": eta, "smoothness": 1, "weak_convexity": float(weak), "sigma": 0.8,
            "position": position,
        }
    )  # fmt: skip
    certified = theorem.certified().numbers["mu"] ** 2
    attained = theorem.attained().numbers["mu"] ** 2 if weak > 0.01 else 0.0
    return max(exact, attained) / certified


def falling(rng: np.random.Generator) -> float:
    """A shift that falls (theorem c of objective perturbation): the largest share over all k."""
    mu, stiffness = 10 ** rng.uniform(-3, 0.25), 10 ** rng.uniform(-0.3, 2.5)
    ratios, bounds = removal_profile(mu, stiffness * mu)
    path = falling_shift.drawn_path(rng, mu, stiffness * mu)
    found = falling_shift.divergences(mu, path, ratios)
    return float((found / np.maximum(bounds, 1e-12)).max())


def sampled_replacement(rng: np.random.Generator) -> float:
    """Rounds sampled without replacement, by adversaries who choose in every round."""
    mu, count = float(np.exp(rng.uniform(np.log(0.2), np.log(3)))), int(rng.integers(8, 25))
    total = float(np.exp(rng.uniform(np.log(0.02), np.log(5))))
    rate = min(0.6, float(np.sqrt(total / count / np.expm1(mu * mu))))
    angles, lengths = rng.uniform(0, 2 * np.pi, 3), np.minimum(rng.uniform(0, 1.6, 3), 1.0)
    flat = rng.random() < 0.6
    more = lengths * np.cos(angles), lengths * np.sin(angles) * (not flat)
    places = [(1.0, 0.0), (-1.0, 0.0), *zip(*more, strict=True)]
    ratios = np.exp(np.linspace(-1, 1, 121) * 4 * np.sqrt(total))
    choices = adaptive_sampling.rounds(mu, rate, places, 30 if flat else 12)
    reached = adaptive_sampling.reached(choices, count, ratios) / ratios
    bound = SampledReplacement(mu, rate, count)
    return max(float(reached[k]) / bound.delta(-float(np.log(ratios[k]))) for k in range(20, 60, 4))


ROOM: dict[Draw, float] = {
    convex_admm: 1e-6,  # least squares of ill-conditioned maps
    strongly_convex_admm: 1e-6,
    repeated_admm: 1e-6,
    expanding_admm: 1e-6,
    expanding_descent: 1e-9,  # covariances of expanding maps
    falling: 1e-12,  # sums of normal masses
    sampled_replacement: 1e-9,  # sums over cells
    exponential_update: 1e-9,  # the quadrature's error is taken off
    normal_update: 1e-9,
    averaged: 1e-9,  # sums of products of factors
    ordered_at_random: 1e-9,  # differences of normal tails
    sampled_at_random: 1e-9,
    between_walls: 1e-9,  # the quadrature's error is taken off
    sampled_between_walls: 1e-9,
}
"""What the exact values lose in doubles, relative."""


def _place(on_gradient: bool) -> str:
    return "gradient" if on_gradient else "state"


def _uses(passes: int, gap: int) -> dict[str, object]:
    return {"passes": passes, "pass_length": gap} if passes > 1 else {}


def _several_uses(problem: Problem, passes: int, gap: int, *, on_gradient: bool) -> float:
    again = frozenset(gap * k for k in range(1, passes))
    return max(
        problem.mu_squared(change, 1.0, on_gradient=on_gradient, again=again)
        for change in np.linalg.svd(problem.A)[2]
    )


def _admm_with_uses(rng: np.random.Generator, passes: int, weak: float) -> float:
    """Hessians down to -weak times the smoothness."""
    gap, nu, on_gradient = int(rng.integers(1, 6)), 10 ** rng.uniform(-1, 1), bool(rng.integers(2))
    tail = int(rng.integers(1, gap + 1))
    problem = random_problem(
        rng, iterations=gap * (passes - 1) + tail, smoothness=nu, strong_convexity=-weak * nu,
        square=bool(rng.integers(2)), step=float(rng.uniform(0.05, 1.9)) / nu,
        penalty=10 ** rng.uniform(-1.5, 1.5),
    )  # fmt: skip
    extra = {"weak_convexity": weak * nu * (1 + 1e-12)} if weak else {}
    exact = _several_uses(problem, passes, gap, on_gradient=on_gradient)
    return exact / certified_admm(
        problem, tail, smoothness=nu * (1 + 1e-12), noise_in=_place(on_gradient),
        **extra, **_uses(passes, gap),
    )  # fmt: skip
