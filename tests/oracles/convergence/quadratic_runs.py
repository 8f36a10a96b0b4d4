"""Quadratic functions on which gradient methods are simulated."""

from __future__ import annotations

import numpy as np

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
