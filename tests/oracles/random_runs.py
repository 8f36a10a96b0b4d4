"""Random runs of noisy descent: each function draws one and returns an exact value over its bound.

All losses are quadratics or linear on a line, so that laws are normal, mixtures of normal ones or,
between walls, integrals of one variable.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from dpcalc.theorems.base import Bound
from dpcalc.theorems.catalogue import privacy_result
from tests.oracles.noisy_descent import Interval, Reals, mean_mu_squared

_LEAST = 1e-5
"""A δ below it is not judged between walls, where quadrature loses up to 1e-7."""

_RUNS = 40
"""Judged together where the certified δ of a setting takes seconds."""


def averaged(rng: np.random.Generator) -> float:
    """The mean of all iterates, with curvatures of every step's own."""
    batches, passes = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    eta, sigma, position = rng.uniform(0.05, 1.9), 10 ** rng.uniform(-1, 1), rng.integers(batches)
    strong = float(rng.choice([0.0, rng.uniform(0, 1)]))
    curvatures = rng.choice([strong, 1.0, rng.uniform(strong, 1)], batches * passes)
    if rng.random() < 0.5:
        curvatures[:] = rng.choice([strong, 1.0])
    jumps = np.zeros(batches * passes)
    jumps[position::batches] = eta
    exact = mean_mu_squared(1 - eta * curvatures, jumps, eta * sigma)
    certified = certified_descent(
        batches=batches, passes=passes, step_size=eta, strong=strong, sigma=sigma,
        position=int(position) + 1, release="average-of-iterates",
    )  # fmt: skip
    return exact / float(certified.numbers["mu"]) ** 2


def ordered_at_random(rng: np.random.Generator) -> float:
    """Batches in one random order, or in a new one in each pass: mixtures of normal laws."""
    batches, passes = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    eta, sigma = rng.uniform(0.05, 1.5), 10 ** rng.uniform(-0.7, 1)
    strong, again = float(rng.choice([0.0, rng.uniform(0, 1)])), bool(rng.integers(2))
    c = 1 - eta * float(rng.choice([strong, 1.0]))
    orders = (
        product(range(batches), repeat=passes) if again else ((p,) * passes for p in range(batches))
    )
    last = batches * passes - 1
    ends = [
        sum(eta * c ** (last - batches * k - p) for k, p in enumerate(order)) for order in orders
    ]
    spread = eta * sigma * np.sqrt(sum(c ** (2 * t) for t in range(last + 1)))
    certified = certified_descent(
        batches=batches, passes=passes, step_size=eta, strong=strong, sigma=sigma,
        order="reshuffled" if again else "shuffled-once",
    )  # fmt: skip
    epsilons = np.array([0.0, 0.3, 1.0, 2.0]) * max(map(abs, ends)) / spread
    exact = _of_mixtures(np.array(ends) / 2, np.full(len(ends), 1 / len(ends)), spread, epsilons)
    bounds = [certified.guarantee.delta(float(e)) for e in epsilons]
    return max(x / y for x, y in zip(exact, bounds, strict=True) if y > 1e-12)


def sampled_at_random(rng: np.random.Generator) -> float:
    """One record of n drawn in every step; forty runs with curvatures of every step's own.

    The differing record pushes either way when it is drawn, the others not.
    """
    n, steps, eta = int(rng.integers(2, 9)), int(rng.integers(1, 9)), rng.uniform(0.05, 1.5)
    sigma, strong = 10 ** rng.uniform(-0.5, 1), float(rng.choice([0.0, rng.uniform(0, 1)]))
    theorem = privacy_result("noisy-sgd").from_parameters(
        {
            "lipschitz": 1, "n_records": n, "batch_size": 1, "steps": steps, "step_size": eta,
            "smoothness": 1, "sigma": sigma, **({"strong_convexity": strong} if strong else {}),
        }
    )  # fmt: skip
    epsilon = rng.uniform(0.1, 1.5) * 2 / sigma
    used = np.array(list(product([0, 1], repeat=steps)))
    times = used.sum(axis=1)
    weights = (1 / n) ** times * (1 - 1 / n) ** (steps - times)
    largest = 0.0
    for run in range(_RUNS):
        curvatures = rng.choice([strong, 1.0, rng.uniform(strong, 1)], steps)
        if run < 2:
            curvatures[:] = (strong, 1.0)[run]
        left = np.append(np.cumprod((1 - eta * curvatures)[:0:-1])[::-1], 1.0)
        spread = eta * sigma * float(np.sqrt(left @ left))
        (exact,) = _of_mixtures(used @ left * eta, weights, spread, np.array([epsilon]))
        largest = max(largest, exact)
    return largest / theorem.certified().guarantee.delta(epsilon)


def sampled_between_walls(rng: np.random.Generator) -> float:
    """The same on an interval, with quadratics around its middle and any smaller pushes."""
    n, width, lipschitz = (
        int(rng.integers(2, 9)),
        10 ** rng.uniform(-0.5, 0.5),
        10 ** rng.uniform(-1, 0),
    )
    omega, steps = max(10 ** rng.uniform(-1, 0.3), width / 20), int(rng.integers(1, 25))
    theorem = privacy_result(
        ("noisy-sgd-constrained", "noisy-sgd-constrained-tradeoff")[int(rng.integers(2))]
    ).from_parameters(
        {
            "diameter": width, "lipschitz": lipschitz, "n_records": n, "batch_size": 1,
            "steps": steps, "step_size": 1, "sigma": omega, "smoothness": 1,
        }
    )  # fmt: skip
    epsilon, line = 10 ** rng.uniform(-2.5, -0.5) * lipschitz / omega, Interval(width)
    largest = 0.0
    for run in range(_RUNS // 4):
        slope = rng.uniform(0, min(1.0, 2 * lipschitz / width)) * (run > 0)
        push = lipschitz - slope * width / 2
        base = line.x - slope * (line.x - width / 2)
        p = q = line.start(at_end=bool(run % 2))
        for _ in range(steps):
            p = line.step(p, [(1 / n, base + push), (1 - 1 / n, base)], omega)
            q = line.step(q, [(1 / n, base - push), (1 - 1 / n, base)], omega)
        largest = max(largest, line.delta(p, q, epsilon) - 1e-7)
    return largest / theorem.certified().guarantee.delta(epsilon)


def between_walls(rng: np.random.Generator) -> float:
    """An interval, batches in a fixed order, curvature around its middle, opposite pushes."""
    width, jump = 10 ** rng.uniform(-0.5, 0.5), 10 ** rng.uniform(-1, 0)
    omega = max(10 ** rng.uniform(-1, 0.3), width / 20)
    strong, batches = float(rng.choice([0.0, rng.uniform(0, 0.5)])), int(rng.integers(1, 5))
    passes, position = int(rng.integers(1, 7)), int(rng.integers(batches))
    line, slope = Interval(width), float(rng.choice([strong, 1.0]))
    base = line.x - slope * (line.x - width / 2)
    p = q = line.start(at_end=bool(rng.integers(2)))
    for step in range(batches * passes):
        push = jump / 2 if step % batches == position else 0.0
        p = line.step(p, [(1.0, base + push)], omega)
        q = line.step(q, [(1.0, base - push)], omega)
    theorem = privacy_result("noisy-cgd-constrained").from_parameters(
        {
            "diameter": width, "sensitivity": jump, "batch_size": 1, "n_batches": batches,
            "passes": passes, "step_size": 1, "sigma": omega, "smoothness": 1,
            "position": position + 1, **({"strong_convexity": strong} if strong else {}),
        }
    )  # fmt: skip
    guarantee = theorem.certified().guarantee
    bounds = {epsilon: guarantee.delta(epsilon) for epsilon in (0.0, 0.5, 1.5)}
    told = {epsilon: bound for epsilon, bound in bounds.items() if bound > _LEAST}
    return max(((line.delta(p, q, e) - 1e-7) / bound for e, bound in told.items()), default=0.0)


def certified_descent(
    *, batches: int, passes: int, step_size: float, strong: float, sigma: float, **more: object
) -> Bound:
    """What is certified for sensitivity, smoothness and batches of one."""
    theorem = privacy_result("noisy-cgd").from_parameters(
        {
            "sensitivity": 1, "batch_size": 1, "n_batches": batches, "passes": passes,
            "step_size": step_size, "smoothness": 1, "sigma": sigma, **more,
            **({"strong_convexity": strong} if strong else {}),
        }
    )  # fmt: skip
    return theorem.certified()


def _of_mixtures(means: Reals, weights: Reals, spread: float, epsilons: Reals) -> list[float]:
    """P - e^ε Q of a mixture of normal laws and its mirror image, on the half-line best for them.

    That is δ(ε) if no mean is negative, since the densities' ratio is monotone then; else less.
    """
    found = []
    for epsilon in epsilons:
        low, high = 0.0, float(np.abs(means).max()) + 40 * spread + epsilon * spread**2
        for _ in range(200):
            middle = (low + high) / 2
            ahead, behind = (norm.logpdf(middle, sign * means, spread) for sign in (1, -1))
            gap = _log_mean(ahead, weights) - _log_mean(behind, weights)
            low, high = (middle, high) if gap < epsilon else (low, middle)
        tails = [weights @ ndtr((sign * means - high) / spread) for sign in (1, -1)]
        found.append(float(tails[0] - np.exp(epsilon) * tails[1]))
    return found


def _log_mean(logs: Reals, weights: Reals) -> float:
    top = logs.max()
    return float(top + np.log(weights @ np.exp(logs - top)))
