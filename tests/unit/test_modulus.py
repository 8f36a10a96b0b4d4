"""Bounds of characteristic functions hold on whole intervals, for lattices and for scattered losses."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.accounting.losses.modulus import ModulusBounds


def random_law(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    size = int(rng.integers(2, 40))
    losses = rng.normal(size=size)
    if rng.random() < 0.5:
        losses = rng.integers(-20, 20, size) * float(rng.uniform(0.01, 1))
    return losses, rng.dirichlet(np.full(size, rng.uniform(0.05, 2)))


@pytest.mark.parametrize("level", range(ModulusBounds.refinements))
def test_no_point_of_an_interval_exceeds_its_bound(level: int) -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        losses, weights = random_law(rng)
        mean = weights @ losses
        spread = float(np.sqrt(weights @ (losses - mean) ** 2)) * (1 + 1e-6) + 1e-12
        start = float(np.exp(rng.uniform(-3, 4))) / spread
        edges = np.geomspace(start, start * float(rng.uniform(1.01, 30)), 7)
        bound = ModulusBounds(losses, weights, spread).log_bound(edges, level)
        for low, high, most in zip(edges[:-1], edges[1:], bound, strict=True):
            y = np.linspace(low, high, 400)
            modulus = np.abs(np.exp(1j * np.multiply.outer(y, losses)) @ weights)
            assert modulus.max() <= np.exp(most) * (1 + 1e-12) + 1e-14


def test_two_atoms_attain_their_curvature() -> None:
    bounds = ModulusBounds(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 1 + 1e-6)
    edges = np.array([0.1, 0.1000001])
    truth = np.log(np.cos(0.1))
    assert truth <= bounds.log_bound(edges, 0)[0] <= 0.9 * truth


def test_returning_lattices_far_out_are_not_bounded_away() -> None:
    """At multiples of 2π/step a lattice's characteristic function has modulus one."""
    rng = np.random.default_rng(6)
    losses, weights = rng.integers(-9, 9, 26) * 0.25, rng.dirichlet(np.ones(26))
    y = 2 * np.pi / 0.25 * 10**8
    spread = float(losses.std()) * 3
    for level in range(ModulusBounds.refinements):
        bound = ModulusBounds(losses, weights, spread).log_bound(np.array([y, y * 1.0001]), level)
        assert bound[0] >= -1e-9
