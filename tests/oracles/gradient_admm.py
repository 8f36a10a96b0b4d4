"""The exact Gaussian law of noisy gradient ADMM with quadratic functions, from its update equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """min f(x) + g(y), Ax + By = c with g = y'Gy/2; users have f = x'Hx/2."""

    A: Matrix
    B: Matrix
    G: Matrix
    hessians: list[Matrix]
    step: float
    penalty: float

    def linear_map(self, hessian: Matrix) -> Matrix:
        """The matrix of one iteration on the stacked (x, λ); affine parts do not matter."""
        m, d = self.A.shape
        eye = np.eye(d)
        beta, eta = self.penalty, self.step
        # y solves (G + βB'B) y = B'(λ - βAx)
        y_of = np.linalg.solve(self.G + beta * self.B.T @ self.B, self.B.T) @ np.hstack(
            [-beta * self.A, np.eye(m)]
        )
        lam = np.hstack([-beta * self.A, np.eye(m)]) - beta * self.B @ y_of
        inner = np.hstack([eye - eta * hessian, np.zeros((d, m))])
        inner = inner + eta * self.A.T @ (lam - beta * self.B @ y_of)
        x = np.linalg.solve(eye + eta * beta * self.A.T @ self.A, inner)
        return np.vstack([x, lam])

    def noise_map(self, *, on_gradient: bool) -> Matrix:
        """What unit noise does to x, stacked on zeros for λ."""
        m, d = self.A.shape
        eye = np.eye(d)
        spread = (
            self.step * np.linalg.inv(eye + self.step * self.penalty * self.A.T @ self.A)
            if on_gradient
            else eye
        )
        return np.vstack([spread, np.zeros((m, d))])

    def mu_squared(
        self,
        change: Matrix,
        sigma: float,
        *,
        on_gradient: bool,
        again: frozenset[int] = frozenset(),
    ) -> float:
        """μ² of the last (x, λ) if the first user's gradient differs by ``change``; infinite if exposed.

        ``again`` holds the later iterations, counted from 0, that use the same user's gradient.
        """
        m, d = self.A.shape
        damp = np.linalg.inv(np.eye(d) + self.step * self.penalty * self.A.T @ self.A)
        jump = np.concatenate([self.step * damp @ change, np.zeros(m)])
        difference = jump
        noise = sigma * self.noise_map(on_gradient=on_gradient)
        columns = noise
        for k, hessian in enumerate(self.hessians[1:], start=1):
            step = self.linear_map(hessian)
            difference = step @ difference + (jump if k in again else 0)
            columns = np.hstack([step @ columns, noise])
        # μ² is the squared length of the shortest noise that makes up for the difference.
        scale = np.linalg.norm(columns, axis=1)
        if np.any(np.abs(difference[scale == 0]) > 1e-12 * np.linalg.norm(difference)):
            return np.inf
        rows = scale > 0
        left = columns[rows] / scale[rows, None]
        right = difference[rows] / scale[rows]
        shortest = np.linalg.lstsq(left, right, rcond=1e-11)[0]
        if np.abs(left @ shortest - right).max(initial=0.0) > 1e-7 * np.abs(right).max():
            return np.inf
        return float(shortest @ shortest)


def random_problem(
    rng: np.random.Generator,
    *,
    iterations: int,
    smoothness: float,
    strong_convexity: float = 0.0,
    g_convexity: float = 0.0,
    square: bool,
    step: float,
    penalty: float,
) -> Problem:
    """Random matrices with the given extreme curvatures; A of full row rank."""
    m = int(rng.integers(1, 4))
    d = m if square else m + int(rng.integers(1, 3))
    rows = rng.normal(size=(m, d)) * 10 ** rng.uniform(-0.5, 0.5)
    p = int(rng.integers(1, 4))
    b = rng.normal(size=(m, p)) * 10 ** rng.uniform(-1, 1)
    g = _between(rng, p, g_convexity, g_convexity + 10 ** rng.uniform(-3, 2)) + 1e-5 * np.eye(p)
    hessians = [_between(rng, d, strong_convexity, smoothness) for _ in range(iterations)]
    return Problem(rows, b, g, hessians, step, penalty)


def _between(rng: np.random.Generator, d: int, low: float, high: float) -> Matrix:
    q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    values = rng.uniform(low, high, d)
    if rng.random() < 0.5:
        values = rng.choice([low, high], d)
    return np.asarray((q * values) @ q.T)


def scalar_mu_squared(
    pull: Matrix,
    moved: Matrix,
    kept: Matrix,
    *,
    step_sensitivity: float | Matrix,
    noise: float | Matrix,
    again: frozenset[int] = frozenset(),
) -> Matrix:
    """Exact μ² of many one-dimensional instances at once, in the coordinates (x, λ/(βA)).

    With A, B, g = Gy²/2 and f_t = h_t x²/2 numbers, y solves a linear equation and one iteration is
    ``λ ← r(λ - x)``, ``x ← ((1 - ηh_t)x + e(2r - 1)(λ_old - x))/(1 + e)``, e = ηβA², r = G/(G + βB²).

    Args:
        pull: e, shape (instances,).
        moved: 1 - ηh_t, shape (instances, iterations); the first column is not used.
        kept: r in (0, 1), shape (instances,).
        step_sensitivity: how far the user's own iteration moves x.
        noise: standard deviation of the noise that reaches x.
        again: later iterations, counted from 0, that move x as well.
    """
    count, iterations = moved.shape
    mean = np.stack([step_sensitivity * np.ones(count), np.zeros(count)], axis=-1)
    covariance = np.zeros((count, 2, 2))
    covariance[:, 0, 0] = np.broadcast_to(np.square(noise), count)
    fresh = covariance.copy()
    for t in range(1, iterations):
        step = np.empty((count, 2, 2))
        swing = pull * (2 * kept - 1)
        step[:, 0, 0] = (moved[:, t] - swing) / (1 + pull)
        step[:, 0, 1] = swing / (1 + pull)
        step[:, 1, 0], step[:, 1, 1] = -kept, kept
        mean = np.einsum("nij,nj->ni", step, mean)
        covariance = step @ covariance @ step.swapaxes(1, 2) + fresh
        if t in again:
            mean[:, 0] += step_sensitivity
    if iterations == 1:
        return np.asarray(mean[:, 0] ** 2 / covariance[:, 0, 0])
    (a, b), (_, d) = covariance[:, 0].T, covariance[:, 1].T
    x, y = mean.T
    return np.asarray((d * x**2 - 2 * b * x * y + a * y**2) / (a * d - b**2))
