"""Divergences of one objective-perturbed update, by quadrature over its noise.

Two sources: the update itself, for records that are given, and the bound as it is stated, from the
distribution of A alone. Neither knows of cells, atoms or laws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln

Vector = NDArray[np.float64]


def noise_points(d: int, panels: int, angles: int) -> tuple[Vector, Vector]:
    """Points b and weights of the density ∝ e^{-|b|} in 1 to 3 dimensions; shapes (n, d) and (n,)."""
    nodes, weights = np.polynomial.legendre.leggauss(6)
    edges = np.linspace(0, 1, panels + 1) ** 2 * 45
    half = np.diff(edges) / 2
    r = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    radial = (half[:, None] * weights * np.exp(-r + (d - 1) * np.log(r) - gammaln(d))).ravel()
    r = r.ravel()
    if d == 1:
        return np.concatenate([r, -r])[:, None], np.tile(radial / 2, 2)
    turn = (np.arange(angles) + 0.5) * 2 * np.pi / angles
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    directions, share = circle, np.full(angles, 1 / angles)
    if d == 3:
        height, w = np.polynomial.legendre.leggauss(angles // 2)
        flat = np.sqrt(1 - height**2)[:, None, None] * circle
        tall = np.broadcast_to(height[:, None, None], (*flat.shape[:2], 1))
        directions = np.concatenate([flat, tall], axis=2).reshape(-1, 3)
        share = np.outer(w / 2, share).ravel()
    points = r[:, None, None] * directions
    return points.reshape(-1, d), np.outer(radial, share).ravel()


@dataclass(frozen=True)
class Instance:
    """An update of one node whose other records vanish.

    Attributes:
        weight: C/B.
        stiffness: h.
        rate: of the effective noise.
        pull: the linear term of what was released, shape (d,).
    """

    weight: float
    stiffness: float
    rate: float
    pull: Vector

    @property
    def bound(self) -> float:
        return self.rate * self.weight

    @property
    def curvature(self) -> float:
        return self.weight / self.stiffness

    def released(self, noise: Vector, record: Vector) -> Vector:
        """The minimiser, of a monotone equation for the margin, by bisection; (n, d)."""
        linear = -(noise + self.pull)
        target = linear @ record / self.stiffness
        reach = self.weight * float(record @ record) / self.stiffness
        low, high = target, target + reach
        for _ in range(70):
            middle = (low + high) / 2
            below = middle - reach * expit(-middle) < target
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        slope = expit(-(low + high) / 2)
        return (linear + self.weight * slope[:, None] * record) / self.stiffness

    def noise_of(self, f: Vector, record: Vector) -> Vector:
        """The noise that makes f the minimiser; (n, d)."""
        s = expit(-(f @ record))
        return self.weight * s[:, None] * record - self.stiffness * f - self.pull

    def losses(self, noise: Vector, record: Vector, other: Vector) -> Vector:
        """Ln of the densities' ratio at the outputs of ``noise``; (n,)."""
        f = self.released(noise, record)
        far = np.linalg.norm(self.noise_of(f, other), axis=1)
        near = np.linalg.norm(noise, axis=1)
        return self.rate * (far - near) + self._bend(f, record) - self._bend(f, other)

    def _bend(self, f: Vector, record: Vector) -> Vector:
        s = expit(-(f @ record))
        return np.log1p(self.curvature * float(record @ record) * s * (1 - s))

    def divergence(
        self, record: Vector, other: Vector, epsilons: Vector, points: tuple[Vector, Vector]
    ) -> Vector:
        """P - e^ε Q over the best event, for each ε."""
        noise, weights = points
        losses = self.losses(noise / self.rate, record, other)
        gains = -np.expm1(np.minimum(epsilons[:, None] - losses, 0.0))
        return gains @ weights


def divergences(a: Vector, linked: Vector, weights: Vector, logs: Vector) -> tuple[Vector, Vector]:
    """R and R* at k = e^x for each x, from A at points with weights and the loss linked to each."""

    def h(x: float) -> float:
        return float(weights @ np.maximum(1 - np.exp(x - a), 0))

    def removed(x: float) -> float:
        if x < 0:
            return h(x)
        share = np.maximum(1 - np.exp(x - linked), 0) / np.maximum(-np.expm1(-linked), 1e-300)
        return float(weights @ (np.maximum(-np.expm1(-a), 0) * share))

    def added(x: float) -> float:
        return h(x) if x >= 0 else -math.expm1(x) + math.exp(x) * removed(-x)

    return np.array([removed(x) for x in logs]), np.array([added(x) for x in logs])


def stated_profile(bound: float, curvature: float, d: int, logs: Vector) -> tuple[Vector, Vector]:
    """R and R* at k = e^x for each x, from the law of A = a(|b + u| - |b|)."""
    noise, weights = noise_points(d, 24, 24 if d == 3 else 64)
    shift = np.zeros(d)
    shift[0] = bound
    a = np.linalg.norm(noise + shift, axis=1) - np.linalg.norm(noise, axis=1)
    s = np.linspace(0, 1, 401)
    table = np.log1p(curvature * s * (1 - s))
    grid = np.linspace(0, bound, 200)
    linked = np.interp(a, grid, np.max(grid[:, None] * s + table, axis=1))
    return divergences(a, linked, weights, logs)
