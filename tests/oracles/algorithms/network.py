"""The decentralised methods straight from their equations: loops, scipy minimisers, no shared code.

Every function takes plain arrays: ``data`` is a list of (features, labels) per node, ``edges`` a
list of pairs, ``noise`` the vectors drawn, [round][node], in the units of the paper's ε.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def neighbours(edges, n):
    return [[j for j in range(n) if (i, j) in edges or (j, i) in edges] for i in range(n)]


def local_objective(f, x, y, loss, C, rho, n):
    """O(f, D_i)."""
    data = sum(loss(yk * (xk @ f)) for xk, yk in zip(x, y, strict=True))
    return C / len(y) * data + rho / n * (f @ f) / 2


def exact_minimum(function, start):
    """A minimiser good to about eight digits, by restarts of a quasi-Newton method."""
    point = np.array(start, dtype=float)
    for _ in range(4):
        point = minimize(function, point, method="BFGS", options={"gtol": 1e-9}).x
    return point


def primal_step(own, dual, mine, others, eta, *, shift=0.0, linear=0.0):
    """argmin own(v) + (2·dual + linear)ᵀv + eta Σ_j ‖v + shift - ½(mine + f_j)‖²."""

    def lagrangian(v):
        value = own(v) + 2 * dual @ v + np.sum(linear * v)
        for other in others:
            gap = v + shift - (mine + other) / 2
            value += eta * gap @ gap
        return value

    return exact_minimum(lagrangian, mine)


def dual_step(dual, mine, others, theta):
    """λ + (θ/2) Σ_j (f_i - f_j)."""
    return dual + theta / 2 * sum((mine - other for other in others), np.zeros_like(mine))


def objectives(data, loss, C, rho):
    """O(·, D_i) of every node."""
    n = len(data)
    return [lambda f, x=x, y=y: local_objective(f, x, y, loss, C, rho, n) for x, y in data]


def admm(
    data, edges, *, rounds, eta, theta, loss, C, rho, start, inside=0.0, linear=0.0, after=0.0
):
    """(10)-(11) of zhang2018 with η[t][i] and θ[t][i].

    inside[t][i]: ε inside the penalty term, equation (24).
    linear[t][i]: a vector whose inner product with f is added to the objective.
    after[t][i]: added to the new iterate before it is broadcast.
    """
    own, near, shape = objectives(data, loss, C, rho), neighbours(edges, len(data)), np.shape(start)
    inside, linear, after = (
        np.broadcast_to(part, (rounds, *shape)) for part in (inside, linear, after)
    )
    f, lam, history = np.array(start, dtype=float), np.zeros(shape), []
    for t in range(rounds):
        f = np.array(
            [
                primal_step(
                    own[i],
                    lam[i],
                    f[i],
                    f[near[i]],
                    eta[t][i],
                    shift=inside[t][i],
                    linear=linear[t][i],
                )
                + after[t][i]
                for i in range(len(data))
            ]
        )
        lam = np.array([dual_step(lam[i], f[i], f[near[i]], theta[t][i]) for i in range(len(data))])
        history.append(f)
    return np.array(history)


def mr_admm(data, edges, *, rounds, eta, gamma, loss, slope, C, rho, start, linear=0.0):
    """(14)-(17) of zhang2019; even rounds take the gradient again, from the data, plus its noise.

    eta[k][i] and linear[k][i] belong to the k-th odd round.
    """
    own, near, n = objectives(data, loss, C, rho), neighbours(edges, len(data)), len(data)
    linear = np.broadcast_to(linear, ((rounds + 1) // 2, *np.shape(start)))

    def gradient(i, v):
        x, y = data[i]
        total = sum(slope(yk * (xk @ v)) * yk * xk for xk, yk in zip(x, y, strict=True))
        return C / len(y) * total + rho / n * v

    f, lam, history = np.array(start, dtype=float), np.zeros(np.shape(start)), []
    for t in range(rounds):
        k = t // 2
        if t % 2 == 0:
            f = np.array(
                [
                    primal_step(own[i], lam[i], f[i], f[near[i]], eta[k][i], linear=linear[k][i])
                    for i in range(n)
                ]
            )
            lam = np.array([dual_step(lam[i], f[i], f[near[i]], eta[k][i]) for i in range(n)])
        else:
            new = []
            for i in range(n):
                pull = gradient(i, f[i]) + linear[k][i] + 2 * lam[i]
                for j in near[i]:
                    pull = pull + eta[k][i] * (f[i] - f[j])
                new.append(f[i] - pull / (2 * eta[k][i] * len(near[i]) + gamma))
            f = np.array(new)
        history.append(f)
    return np.array(history)


def central_optimum(data, loss, C, rho):
    """The minimiser of the sum of all objectives."""
    own = objectives(data, loss, C, rho)
    return exact_minimum(lambda f: sum(part(f) for part in own), np.zeros(data[0][0].shape[1]))
