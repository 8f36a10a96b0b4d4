"""Shifted interpolation against exact laws, a general-purpose optimiser and random allocations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcalc.accounting.iteration import optimal_shifts
from tests.oracles.noisy_descent import quadratic_mu_squared
from tests.property.descent_instances import LONG, example_of

INSTANCES = 6000 if LONG else 250


def _curved(rng: np.random.Generator, d: int, low: float, high: float) -> NDArray[np.float64]:
    q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    values = rng.uniform(low, high, d)
    if rng.random() < 0.5:
        values = rng.choice([low, high], d)
    return np.asarray((q * values) @ q.T)


def _unit(rng: np.random.Generator, d: int) -> NDArray[np.float64]:
    v = rng.normal(size=d)
    return v / np.linalg.norm(v)


def test_any_chain_is_never_below_the_exact_law_and_reaches_it() -> None:
    """Different curvatures, step sizes and noises in every step; a record used at random steps."""
    rng = np.random.default_rng(5)
    closest = 0.0
    for _ in range(INSTANCES):
        steps, d = int(rng.integers(1, 12)), int(rng.integers(1, 4))
        smooth = 10 ** rng.uniform(-1, 1)
        strong = smooth * rng.choice([0, rng.uniform(0, 1), 1])
        eta = rng.uniform(0.02, 1.99, steps) / smooth
        omega = 10 ** rng.uniform(-1, 1, steps)
        used = rng.random(steps) < rng.choice([0.2, 1.0])
        direction = _unit(rng, d)
        changes = np.outer(used * rng.uniform(0, 1, steps), direction)
        hessians = [_curved(rng, d, strong, smooth) for _ in range(steps)]
        exact = quadratic_mu_squared(hessians, eta, omega, changes)
        contraction = np.maximum(abs(1 - eta * strong), abs(1 - eta * smooth))
        jumps = eta * np.linalg.norm(changes, axis=1)
        found = optimal_shifts(jumps, np.minimum(contraction * (1 + 1e-15), 1), omega).mu[0] ** 2
        assert exact <= found * (1 + 1e-9) + 1e-300
        if found > 0:
            closest = max(closest, exact / found)
    assert closest > 1 - 1e-9


@pytest.mark.parametrize("key", ["noisy-cgd", "noisy-gd", "pnsgd", "pnsgd-strongly-convex"])
def test_theorems_are_never_below_the_exact_law_of_quadratics(key: str) -> None:
    rng = np.random.default_rng(sum(key.encode()))
    closest = 0.0
    for _ in range(INSTANCES // 2):
        smooth = 10 ** rng.uniform(-1, 1)
        strong = 0.0 if key == "pnsgd" else smooth * rng.uniform(0.01, 1)
        eta, sigma = float(rng.uniform(0.02, 1.95)) / smooth, 10 ** rng.uniform(-1, 1)
        shared = {"step_size": eta, "sigma": sigma, "smoothness": smooth * (1 + 1e-12)}
        if key == "noisy-gd":
            steps, used = int(rng.integers(1, 15)), None
            changed = {"n_records": 3, "steps": steps, "strong_convexity": strong, "sensitivity": 3}
        elif key == "noisy-cgd":
            batches, passes = (int(x) for x in rng.integers(1, 5, 2))
            position = int(rng.integers(1, batches + 1))
            steps, used = batches * passes, np.arange(position - 1, batches * passes, batches)
            changed = {
                "n_batches": batches,
                "passes": passes,
                "position": position,
                "batch_size": 1,
                "sensitivity": 1,
                "strong_convexity": strong,
            }
        else:
            steps = int(rng.integers(1, 10))
            position = int(rng.integers(1, steps + 1))
            used = np.array([position - 1])
            changed = {"n_records": steps, "position": position, "lipschitz": 0.5}
            if key == "pnsgd-strongly-convex":
                changed["strong_convexity"] = strong
        theorem = example_of(key, **shared, **changed)
        d = int(rng.integers(1, 4))
        same = rng.random() < 0.5 or key == "noisy-gd"
        first = _curved(rng, d, strong, smooth)
        hessians = [first if same else _curved(rng, d, strong, smooth) for _ in range(steps)]
        if rng.random() < 0.3:
            hessians = [strong * np.eye(d)] * steps
        changes = np.zeros((steps, d))
        changes[slice(None) if used is None else used] = _unit(rng, d)
        exact = quadratic_mu_squared(
            hessians, np.full(steps, eta), np.full(steps, eta * sigma), changes
        )
        certified = theorem.certified().numbers["mu"] ** 2
        assert exact <= certified * (1 + 1e-9)
        closest = max(closest, exact / certified)
    assert closest > 1 - 1e-9


def test_claims_that_stand_are_equalled_by_the_exact_law() -> None:
    """Bok, Su and Altschuler's exactness, at any number of steps up to 2/(m + M)."""
    rng = np.random.default_rng(8)
    for _ in range(40):
        strong = rng.uniform(0.05, 1)
        eta = float(rng.uniform(0.01, 1) * 2 / (strong + 2))
        steps = int(rng.integers(1, 200))
        theorem = example_of("noisy-gd", step_size=eta, strong_convexity=strong, steps=steps)
        omega = eta * theorem.noise_level()
        exact = quadratic_mu_squared(
            [np.full((1, 1), strong)] * steps,
            np.full(steps, eta),
            np.full(steps, omega),
            np.full((steps, 1), 1 / 100),
        )
        assert theorem.claimed().numbers["mu"] ** 2 == pytest.approx(exact, rel=1e-9)
        assert theorem.certified().numbers["mu"] ** 2 == pytest.approx(exact, rel=1e-9)


def test_composing_fewer_passes_would_be_caught() -> None:
    """A planted bug: one pass fewer is below the exact law."""
    steps, eta = 12, 0.25
    fewer = example_of("noisy-gd", steps=steps - 1).certified().numbers["mu"] ** 2
    exact = quadratic_mu_squared(
        [np.full((1, 1), 0.125)] * steps,
        np.full(steps, eta),
        np.full(steps, eta * 0.05),
        np.full((steps, 1), 0.01),
    )
    assert exact > fewer * 1.01
