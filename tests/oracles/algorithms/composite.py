"""ADMM for f(x) + g(y), Ax + By = c, straight from the equations: one run, scipy inside.

``f`` and ``g`` are functions of a vector, ``gradient`` that of f; ``noise`` one vector per round.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def smallest(function, start):
    """A minimiser of a convex function kinked along axes: line searches and simplex, in turn."""
    point = np.array(start, dtype=float)
    for _ in range(5):
        options = {"xtol": 1e-10, "ftol": 1e-15}
        point = np.atleast_1d(minimize(function, point, method="Powell", options=options).x)
        options = {"xatol": 1e-10, "fatol": 1e-15, "maxiter": 20000, "maxfev": 20000}
        point = minimize(function, point, method="Nelder-Mead", options=options).x
    return point


def smooth_minimum(function, start):
    point = np.array(start, dtype=float)
    for _ in range(3):
        point = minimize(function, point, method="BFGS", options={"gtol": 1e-10}).x
    return point


def y_step(g, A, B, c, x, u, rho, start):
    """(3)."""

    def lagrangian(y):
        gap = A @ x + B @ y - c + u
        return g(y) + rho / 2 * gap @ gap

    return smallest(lagrangian, start)


def admm(f, g, A, B, c, *, rounds, rho, x0, u0):
    """(3)-(5) of shang2021."""
    x, u, history = np.array(x0, dtype=float), np.array(u0, dtype=float), []
    y = np.zeros(B.shape[1])
    for _ in range(rounds):
        y = y_step(g, A, B, c, x, u, rho, y)

        def lagrangian(v, y=y, u=u):
            gap = A @ v + B @ y - c + u
            return f(v) + rho / 2 * gap @ gap

        x = smooth_minimum(lagrangian, x)
        u = u + A @ x + B @ y - c
        history.append((x, y, u))
    return history


def dp_admm(gradient, g, A, B, c, *, rounds, rho, eta, gamma, noise, x0, u0):
    """Algorithm 2 of shang2021; step 3 by minimising (7) with its G-norm, numerically."""
    x, u, history = np.array(x0, dtype=float), np.array(u0, dtype=float), []
    y = np.zeros(B.shape[1])
    G = gamma * np.eye(len(x)) - eta * rho * A.T @ A
    for t in range(rounds):
        y = y_step(g, A, B, c, x, u, rho, y)
        slope = gradient(x) + noise[t]

        def surrogate(v, y=y, u=u, x=x, slope=slope):
            gap = A @ v + B @ y - c + u
            return slope @ v + rho / 2 * gap @ gap + (v - x) @ G @ (v - x) / (2 * eta)

        x = smooth_minimum(surrogate, x)
        u = u + A @ x + B @ y - c
        history.append((x, y, u))
    return history


def dp_acc_admm(gradient, g, A, B, c, *, rounds, rho, eta, gamma, noise, x0, u0):
    """Algorithm 3 of shang2021, its seven steps in order."""
    x = x_hat = np.array(x0, dtype=float)
    u = u_hat = np.array(u0, dtype=float)
    y, theta, history = np.zeros(B.shape[1]), 1.0, []
    for t in range(rounds):
        y = y_step(g, A, B, c, x_hat, u_hat, rho, y)
        pull = rho * A.T @ (A @ x_hat + B @ y - c + u_hat)
        x_new = x_hat - eta / gamma * (gradient(x_hat) + noise[t] + pull)
        u_new = u_hat + A @ x_new + B @ y - c
        theta_new = (1 + np.sqrt(1 + 4 * theta**2)) / 2
        x_hat = x_new + (theta - 1) / theta_new * (x_new - x)
        u_hat = u_new + (theta - 1) / theta_new * (u_new - u)
        x, u, theta = x_new, u_new, theta_new
        history.append((x, y, u))
    return history


def gradient_admm(gradients, g, A, B, c, *, beta, eta, x0, on_x=None, on_gradient=None):
    """Algorithm 1 (noise on x) or 4 (noise on gradients) of chan2023, one gradient per iteration.

    The x-step minimises the linearised augmented Lagrangian (3) numerically.
    """
    x, lam, history = np.array(x0, dtype=float), np.zeros(len(c)), []
    y = np.zeros(B.shape[1])
    for t, gradient in enumerate(gradients):

        def in_y(v, x=x, lam=lam):
            gap = A @ x + B @ v - c
            return g(v) - lam @ (B @ v) + beta / 2 * gap @ gap

        y = smallest(in_y, y)
        lam = lam - beta * (A @ x + B @ y - c)
        slope = gradient(x) + (0 if on_gradient is None else on_gradient[t])

        def in_x(v, x=x, y=y, lam=lam, slope=slope):
            gap = A @ v + B @ y - c
            near = (v - x) @ (v - x) / (2 * eta)
            return slope @ v - lam @ (A @ v) + beta / 2 * gap @ gap + near

        x = smooth_minimum(in_x, x) + (0 if on_x is None else on_x[t])
        history.append((x, lam))
    return history
