"""Divergences of one objective-perturbed update with normal noise, by quadrature over its noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.oracles.objective_profile import Instance

Vector = NDArray[np.float64]


def normal_points(d: int, per_axis: int) -> tuple[Vector, Vector]:
    """Points and weights of N(0, I) in 1 to 3 dimensions, Gauss-Legendre on [-7, 7] per axis."""
    nodes, weights = np.polynomial.legendre.leggauss(per_axis)
    z = 7 * nodes
    w = 7 * weights * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    points = np.stack(np.meshgrid(*[z] * d, indexing="ij"), axis=-1).reshape(-1, d)
    mass = w
    for _ in range(d - 1):
        mass = np.multiply.outer(mass, w)
    return points, mass.ravel()


@dataclass(frozen=True)
class NormalInstance(Instance):
    """An update whose other records vanish; ``rate`` is one over the standard deviation."""

    def losses(self, noise: Vector, record: Vector, other: Vector) -> Vector:
        """Ln of the densities' ratio at the outputs of ``noise``; (n,)."""
        f = self.released(noise, record)
        far, near = self.noise_of(f, other), noise
        squares = ((far - near) * (far + near)).sum(axis=1)
        bend = self._bend(f, record) - self._bend(f, other)
        return np.asarray(self.rate**2 * squares / 2 + bend)
