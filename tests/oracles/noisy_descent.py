"""Exact laws of noisy gradient descent, from its update equations; no code of dpcalc is used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def quadratic_mu_squared(
    hessians: list[Reals], steps: Reals, noises: Reals, changes: Reals
) -> float:
    """μ² of x_T for x ← x - η_t(H_t x + [change_t]) + ω_t Z: the two laws differ in their mean only.

    Args:
        hessians: H_t, each (d, d).
        steps: η_t.
        noises: ω_t, the noise that reaches x.
        changes: how the record's replacement moves the gradient of step t, shape (T, d).
    """
    d = len(hessians[0])
    mean, covariance = np.zeros(d), np.zeros((d, d))
    for hessian, eta, omega, change in zip(hessians, steps, noises, changes, strict=True):
        linear = np.eye(d) - eta * hessian
        mean = linear @ mean - eta * change
        covariance = linear @ covariance @ linear.T + omega**2 * np.eye(d)
    return float(mean @ np.linalg.solve(covariance, mean))


class Interval:
    """Laws on [0, width] with atoms at both ends, under x ← clip(φ(x) + N(0, ω²)).

    Gauss–Legendre nodes carry the density; every function integrated is smooth inside.
    """

    def __init__(self, width: float, nodes: int = 160) -> None:
        points, weights = np.polynomial.legendre.leggauss(nodes)
        self.width = width
        self.x = np.concatenate([[0.0], width * (points + 1) / 2, [width]])
        self.weights = width * weights / 2

    def start(self, at_end: bool = False) -> Reals:
        """All mass at one end: shape (nodes + 2,), masses at the ends, densities inside."""
        law = np.zeros(len(self.x))
        law[-1 if at_end else 0] = 1.0
        return law

    def step(self, law: Reals, centres: list[tuple[float, Reals]], omega: float) -> Reals:
        """One step; ``centres`` are φ at all nodes, with probabilities."""
        from scipy.special import ndtr

        mass = law.copy()
        mass[1:-1] *= self.weights
        result = np.zeros(len(law))
        for probability, centre in centres:
            low = ndtr(-centre / omega)
            high = ndtr((centre - self.width) / omega)
            inside = np.exp(-((self.x[1:-1] - centre[:, None]) ** 2) / (2 * omega**2))
            inside /= omega * np.sqrt(2 * np.pi)
            result[0] += probability * mass @ low
            result[-1] += probability * mass @ high
            result[1:-1] += probability * mass @ inside
        return result

    def delta(self, p: Reals, q: Reals, epsilon: float) -> float:
        """∫(p - e^ε q)₊: the polynomial through the nodes, cut at zero on a fine grid."""
        gap = p - np.exp(epsilon) * q
        ends = max(gap[0], 0.0) + max(gap[-1], 0.0)
        degree = len(self.weights)
        nodes = 2 * self.x[1:-1] / self.width - 1
        table = np.polynomial.legendre.legvander(nodes, degree - 1)
        scale = (2 * np.arange(degree) + 1) / self.width
        series = scale * (table.T @ (self.weights * gap[1:-1]))
        fine = np.linspace(-1, 1, 20001)
        inside = np.maximum(np.polynomial.legendre.legval(fine, series), 0.0)
        return float(ends + np.trapezoid(inside, fine) * self.width / 2)


def mean_mu_squared(factors: Reals, jumps: Reals, omega: float) -> float:
    """μ² of the mean of all x_t, x_t = a_t x_{t-1} + s_t + ωZ_t in one dimension, by brute force.

    Args:
        factors: a_t; the first does not matter.
        jumps: s_t.
        omega: ω.
    """
    steps = len(factors)
    carried = np.zeros((steps, steps))
    for j in range(steps):
        carried[j, j] = 1.0
        for t in range(j + 1, steps):
            carried[t, j] = factors[t] * carried[t - 1, j]
    share = carried.sum(axis=0)
    return float((share @ jumps) ** 2 / (omega**2 * (share @ share)))
