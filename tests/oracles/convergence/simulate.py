"""The five methods straight from their update equations, in plain numpy; shares nothing with dpcalc."""

from __future__ import annotations

import numpy as np


def random_network(rng, nodes, probability=0.5):
    """Adjacency of a connected random graph: a random tree plus random edges."""
    a = np.zeros((nodes, nodes))
    for i in range(1, nodes):
        j = rng.integers(i)
        a[i, j] = a[j, i] = 1
    extra = np.triu(rng.random((nodes, nodes)) < probability, 1)
    a = np.maximum(a, np.maximum(extra, extra.T))
    np.fill_diagonal(a, 0)
    return a


def edge_file(path, adjacency):
    """The edge list of an adjacency matrix in a file; returns the graph's text."""
    lines = [f"{i},{j}" for i, j in np.argwhere(np.triu(adjacency))]
    path.write_text("\n".join(lines))
    return f"edges:@{path}"


def m_admm(minimise, adjacency, penalties, theta, start, dual=None):
    """M-ADMM, zhang2018 (10)-(11): every f(t), λ(t).

    minimise(i, linear, pull, centre): argmin of O_i(f) + linear·f + pull·(f - centre)².
    penalties: shape (rounds, nodes); theta: one per node.
    """
    nodes = len(adjacency)
    f = np.array(start, dtype=float)
    lam = np.zeros(nodes) if dual is None else np.array(dual, dtype=float)
    history = [(f.copy(), lam.copy())]
    for eta in penalties:
        new = np.empty(nodes)
        for i in range(nodes):
            neighbours = np.flatnonzero(adjacency[i])
            centre = np.mean([(f[i] + f[j]) / 2 for j in neighbours])
            new[i] = minimise(i, 2 * lam[i], eta[i] * len(neighbours), centre)
        f = new
        lam = lam + np.array(
            [
                theta[i] / 2 * sum(f[i] - f[j] for j in np.flatnonzero(adjacency[i]))
                for i in range(nodes)
            ]
        )
        history.append((f.copy(), lam.copy()))
    return history


def recycled_admm(minimise, gradient, adjacency, penalties, gamma, start):
    """MR-ADMM, zhang2019 (14)-(17): every odd f."""
    nodes = len(adjacency)
    f, lam, odd = np.array(start, dtype=float), np.zeros(nodes), []
    for eta in penalties:
        new, spread = np.empty(nodes), np.empty(nodes)
        for i in range(nodes):
            neighbours = np.flatnonzero(adjacency[i])
            centre = np.mean([(f[i] + f[j]) / 2 for j in neighbours])
            new[i] = minimise(i, 2 * lam[i], eta[i] * len(neighbours), centre)
        for i in range(nodes):
            spread[i] = eta[i] * sum(new[i] - new[j] for j in np.flatnonzero(adjacency[i]))
        lam = lam + spread / 2
        odd.append(new.copy())
        f = np.array(
            [
                new[i]
                - (gradient(i, new[i]) + 2 * lam[i] + spread[i])
                / (2 * eta[i] * adjacency[i].sum() + gamma)
                for i in range(nodes)
            ]
        )
    return odd


def quadratic_minimiser(h, b):
    """argmin of (h/2)f² - b f + linear·f + pull·(f - centre)²."""
    return lambda i, linear, pull, centre: (b[i] - linear + 2 * pull * centre) / (h[i] + 2 * pull)


def convex_minimiser(derivative, low=-1e6, high=1e6):
    """The same for any increasing derivative(i, f), by bisection."""

    def minimise(i, linear, pull, centre):
        left, right = low, high
        for _ in range(200):
            middle = (left + right) / 2
            if derivative(i, middle) + linear + 2 * pull * (middle - centre) > 0:
                right = middle
            else:
                left = middle
        return (left + right) / 2

    return minimise


def dual_averaging(
    rng, subgradient, mixing, mu, sigma, rounds, dimension, runs, power=1.0, prox=0.0
):
    """Dual averaging with h = (μ/2)|x|², d = |x|²/2, many runs: x_i(t), y(t) and their averages.

    subgradient(x): stochastic subgradients, shape (runs, nodes, dimension) as x.
    """
    nodes = len(mixing)
    z = np.zeros((runs, nodes, dimension))
    total = 0.0
    x_average, y_average = np.zeros_like(z), np.zeros((runs, dimension))
    for t in range(1, rounds + 1):
        a = t**power
        total += a
        x = -z / (mu * total + prox)
        y = -z.mean(axis=1) / (mu * total + prox)
        x_average += a * x
        y_average += a * y
        noisy = subgradient(x) + sigma * rng.standard_normal(z.shape)
        z = np.einsum("ij,rjd->rid", mixing, z + a * noisy)
    return x, y, x_average / total, y_average / total


def dp_admm(rng, gradient, prox_g, a, b, c, rho, eta, gamma, sigma, rounds, x0, u0):
    """DP-ADMM, shang2021 algorithm 2 with the closed form of x: averages of x and y over runs."""
    x, u = x0.copy(), u0.copy()
    x_sum, y_sum = np.zeros_like(x), 0.0
    for _ in range(rounds):
        y = prox_g(x @ a.T - c + u)
        noisy = gradient(x) + sigma * rng.standard_normal(x.shape)
        x = x - eta / gamma * (noisy + rho * (x @ a.T + y @ b.T - c + u) @ a)
        u = u + x @ a.T + y @ b.T - c
        x_sum, y_sum = x_sum + x, y_sum + y
    return x_sum / rounds, y_sum / rounds


def gradient_admm(
    rng, gradient, update_y, a, b, c, eta, beta, sigma, rounds, x0, *, state_noise=False
):
    """chan2023 algorithm 1 with noise: x_0..x_T, y_0..y_{T-1} over runs."""
    x, lam = x0.copy(), np.zeros((len(x0), len(c)))
    inverse = np.linalg.inv(np.eye(a.shape[1]) + eta * beta * a.T @ a)
    xs, ys = [x], []
    for _ in range(rounds):
        y = update_y(lam - beta * x @ a.T)
        lam = lam - beta * (x @ a.T + y @ b.T - c)
        noise = sigma * rng.standard_normal(x.shape)
        moved = x - eta * (gradient(x) + (0 if state_noise else noise))
        x = (moved + eta * (lam + beta * (c - y @ b.T)) @ a) @ inverse.T
        x = x + noise if state_noise else x
        xs.append(x)
        ys.append(y)
    return np.array(xs), np.array(ys)
