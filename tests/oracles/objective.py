"""The exact log-likelihood ratio of one objective-perturbed update, from the density's definition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Node:
    """One node's update: it releases the minimiser of its data term plus linear and quadratic terms.

    Attributes:
        others: feature-label products y·x of the unchanged records, shape (n, d).
        weight: C/B.
        stiffness: h, curvature of everything except the data.
        pull: the linear term that released quantities contribute, shape (d,).
        rate: rate of the effective linear noise.
    """

    others: Vector
    weight: float
    stiffness: float
    pull: Vector
    rate: float

    def noise(self, f: Vector, record: Vector) -> Vector:
        """The noise that makes f the minimiser."""
        rows = np.vstack([self.others, record])
        slopes = -expit(-(rows @ f))
        gradient = self.weight * (slopes[:, None] * rows).sum(axis=0)
        return -(gradient + self.stiffness * f + self.pull)

    def hessian(self, f: Vector, record: Vector) -> Vector:
        rows = np.vstack([self.others, record])
        s = expit(-(rows @ f))
        curvature = self.weight * (rows * (s * (1 - s))[:, None]).T @ rows
        return np.asarray(curvature + self.stiffness * np.eye(len(f)))

    def log_ratio(self, f: Vector, record: Vector, other: Vector) -> float:
        """ln p(f | record) - ln p(f | other)."""
        norms = np.linalg.norm(self.noise(f, other)) - np.linalg.norm(self.noise(f, record))
        log_dets = [np.linalg.slogdet(self.hessian(f, r))[1] for r in (record, other)]
        return float(self.rate * norms + log_dets[0] - log_dets[1])


def worst_ratio(node: Node, rng: np.random.Generator, tries: int) -> float:
    """The largest |ln ratio| found by random records and outputs, then improved by local steps."""
    d = node.others.shape[1]

    def draw(scale: float) -> tuple[Vector, Vector, Vector]:
        records = rng.normal(size=(2, d))
        records /= np.maximum(np.linalg.norm(records, axis=1, keepdims=True), 1e-12)
        return rng.normal(size=d) * scale, records[0], records[1]

    best, point = -np.inf, draw(1.0)
    for k in range(tries):
        if k < tries // 2:
            candidate = draw(10 ** rng.uniform(-2, 3))
        else:
            step = 10 ** rng.uniform(-4, 0)
            f = point[0] * (1 + step * rng.normal(size=d)) + step * rng.normal(size=d)
            records = [r + step * rng.normal(size=d) for r in point[1:]]
            records = [r / max(1.0, float(np.linalg.norm(r))) for r in records]
            candidate = (f, records[0], records[1])
        value = abs(node.log_ratio(*candidate))
        if value > best:
            best, point = value, candidate
    return best
