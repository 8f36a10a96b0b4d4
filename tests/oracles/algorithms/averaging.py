"""Dual averaging straight from equations (4)-(5) of liu2022: one run, loops, scipy inside."""

from __future__ import annotations

import numpy as np

from tests.oracles.algorithms.composite import smallest


def point(z, h, total, gamma):
    """(5): argmin ⟨z, x⟩ + total·h(x) + gamma·½‖x‖², numerically."""
    return smallest(lambda v: z @ v + total * h(v) + gamma / 2 * v @ v, np.zeros_like(z))


def dual_averaging(subgradients, W, h, *, a, gamma, noise, at_means=False):
    """Messages and results.

    subgradients(t, i, x): what node i uses in round t (from 0) at the point x.
    noise: shape (rounds, nodes, d).
    at_means: whether subgradients are taken at the weighted means up to this round.
    """
    rounds, nodes, d = noise.shape
    z, total, messages = np.zeros((nodes, d)), 0.0, []
    weighted = np.zeros((nodes, d))
    for t in range(rounds):
        total += a[t]
        x = [point(z[i], h, total, gamma[t]) for i in range(nodes)]
        weighted += a[t] * np.array(x)
        where = weighted / total if at_means else x
        sent = np.array(
            [z[i] + a[t] * (subgradients(t, i, where[i]) + noise[t, i]) for i in range(nodes)]
        )
        z = np.array([sum(W[i, j] * sent[j] for j in range(nodes)) for i in range(nodes)])
        messages.append(sent)
    return np.array(messages), weighted / total
