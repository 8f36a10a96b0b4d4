"""The results on noisy gradient descent, from their pages; no code of dpcalc is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mpmath import mp, mpf

from tests.golden.oracle_profiles import Found, Table, gaussian, mean, sampled


def factor(p: Table) -> Any:
    """Contraction of a gradient step on strongly convex losses."""
    eta, small, large = (p[k] for k in ("step_size", "strong_convexity", "smoothness"))
    return max(abs(1 - eta * small), abs(1 - eta * large))


def taut_string(c: Any, jumps: Sequence[Any], omega: Any, start: Any = 0) -> Any:
    """μ² of the cheapest shifts, the greatest convex minorant by its definition.

    From each vertex the string goes to the point of least slope, the last of them.
    """
    steps = len(jumps)
    points = [(mpf(0), mpf(0))]
    for t, jump in enumerate(jumps):
        weight = c ** (steps - 1 - t)
        push = jump + (c * start if t == 0 else 0)
        w, u = points[-1]
        points.append((w + (weight * omega) ** 2, u + weight * push))
    cost, at = mpf(0), 0
    while at < steps:
        w, u = points[at]
        slopes = [((y - u) / (x - w), -j) for j, (x, y) in enumerate(points) if j > at]
        slope, minus = min(slopes)
        cost += slope**2 * (points[-minus][0] - w)
        at = -minus
    return cost


def noisy_gd(p: Table) -> Found:
    c, t = factor(p), p["steps"]
    mu = mp.sqrt((1 - c**t) / (1 + c**t) * (1 + c) / (1 - c))
    mu *= p["sensitivity"] / (p["n_records"] * p["sigma"])
    return gaussian(mu), {"mu": mu}


def uses(p: Table, position: int) -> list[Any]:
    """Jumps of a record at a position of every pass, counted from 0."""
    jump = p["step_size"] * p["sensitivity"] / p["batch_size"]
    steps = int(p["n_batches"] * p["passes"])
    return [jump if t % int(p["n_batches"]) == position else mpf(0) for t in range(steps)]


def noisy_cgd(p: Table) -> Found:
    c, omega = factor(p), p["step_size"] * p["sigma"]
    batches, passes = int(p["n_batches"]), int(p["passes"])
    worst = max(taut_string(c, uses(p, j), omega) for j in range(batches))
    tail = (1 - c ** (batches * (passes - 1))) / (1 + c ** (batches * (passes - 1)))
    square = 1 + c ** (2 * batches - 2) * (1 - c**2) / (1 - c**batches) ** 2 * tail
    printed = mp.sqrt(square) * p["sensitivity"] / (p["batch_size"] * p["sigma"])
    return gaussian(mp.sqrt(worst)), {"mu": printed}


def noisy_cgd_constrained(p: Table) -> Found:
    """Convex losses: the last ``left`` steps from a distance of D, every number of steps tried."""
    omega, batches = p["step_size"] * p["sigma"], int(p["n_batches"])
    squares = []
    for position in range(batches):
        jumps = uses(p, position)
        starts = (
            taut_string(mpf(1), jumps[k:], omega, p["diameter"]) for k in range(1, len(jumps))
        )
        squares.append(min(taut_string(mpf(1), jumps, omega), *starts))
    ratio = p["sensitivity"] / p["batch_size"]
    far = p["diameter"] / (p["step_size"] * ratio)
    assert p["passes"] >= far
    printed = ratio**2 * (1 + 3 * far / batches + mp.ceil(far) / batches)
    return gaussian(mp.sqrt(max(squares))), {"mu": mp.sqrt(printed) / p["sigma"]}


def step_mu(p: Table) -> Any:
    return 2 * p["lipschitz"] / (p["batch_size"] * p["sigma"])


def noisy_sgd(p: Table) -> Found:
    """The full batch by the straight line, or one step by sampling."""
    c, t, mu = factor(p), int(p["steps"]), step_mu(p)
    if p["batch_size"] < p["n_records"]:
        assert t == 1
        share = p["batch_size"] / p["n_records"]
        return sampled(mu, share), {"epsilon": sampled(mp.sqrt(2) * mu, share)}
    line = (1 - c**t) / (1 + c**t) * (1 + c) / (1 - c)
    return gaussian(mu * mp.sqrt(line)), {}


def constrained(p: Table) -> Callable[[Any], Any]:
    """One sampled step, or for the full batch min (D + τs)²/(τω²) and composition."""
    mu, t = step_mu(p), int(p["steps"])
    if p["batch_size"] < p["n_records"]:
        assert t == 1
        return sampled(mu, p["batch_size"] / p["n_records"])
    omega = p["step_size"] * p["sigma"]
    line = min((p["diameter"] / omega + k * mu) ** 2 / k for k in range(1, t + 1))
    return gaussian(mp.sqrt(min(line, t * mu**2)))


def noisy_sgd_constrained(p: Table) -> Found:
    far = p["diameter"] * p["n_records"] / (p["lipschitz"] * p["step_size"])
    tau = mp.ceil(far / 4)
    bracket = min(16 * p["steps"], 16 * tau + far**2 / tau)
    rate = (p["lipschitz"] / (p["n_records"] * p["sigma"])) ** 2 * bracket
    return constrained(p), {"divergence_per_order": rate}


def noisy_sgd_constrained_tradeoff(p: Table) -> Found:
    mu, omega = step_mu(p), p["step_size"] * p["sigma"]
    if p["batch_size"] < p["n_records"]:
        return constrained(p), {}
    if p["steps"] > 1:
        return constrained(p), {}
    printed = mp.sqrt(2 * (p["diameter"] / omega) ** 2 + 2 * mu**2)
    return constrained(p), {"epsilon": gaussian(printed)}


def pnsgd(p: Table) -> Found:
    left = p["n_records"] + 1 - p["position"]
    mu = 2 * p["lipschitz"] / (p["sigma"] * mp.sqrt(left))
    return gaussian(mu), {"rho": 2 * p["lipschitz"] ** 2 / (p["sigma"] ** 2 * left)}


def pnsgd_strongly_convex(p: Table) -> Found:
    left, c = int(p["n_records"] - p["position"]), factor(p)
    mu = 2 * p["lipschitz"] / p["sigma"] / mp.sqrt(mp.fsum(c ** (-2 * j) for j in range(left + 1)))
    eta, large, small = (p[k] for k in ("step_size", "smoothness", "strong_convexity"))
    decay = 1 - 2 * eta * large * small / (large + small)
    rho = 2 * p["lipschitz"] ** 2 / (left * p["sigma"] ** 2) * decay ** (mpf(left) / 2)
    return gaussian(mu), {"rho": rho}


def pnsgd_all_users(p: Table) -> Found:
    n, unit = int(p["n_records"]), p["lipschitz"] / p["sigma"]
    rate = 4 * unit**2 * mp.fsum(1 / mpf(k) for k in range(1, n + 1)) / n
    found = mean([2 * unit / mp.sqrt(t) for t in range(1, n + 1)])
    return found, {"divergence_per_order": rate}
