"""Small problems with a linear constraint, and what a run of an algorithm adds to them."""

from __future__ import annotations

import numpy as np

from dpcalc.algorithms.problems.builtin import classification
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import graph_guided
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.regularisers import lasso

RHO, ETA = 0.8, 0.4

START = np.array([0.3, -0.6])

FUSED = graph_guided(2, [(0, 1)])


def problem(regulariser=None, constraint=FUSED, own=0.1):
    return CompositeProblem(
        records=classification(12, 2, seed=4),
        loss=Logistic(),
        regulariser=regulariser or lasso(0.05),
        constraint=constraint,
        ridge=own,
    )


def functions(p):
    """f, its gradient and g for the oracle."""
    rows = p.records.labels[:, None] * p.records.features

    def f(x):
        return np.mean([np.log1p(np.exp(-r @ x)) for r in rows]) + p.ridge / 2 * x @ x

    def gradient(x):
        return -np.mean([r / (1 + np.exp(r @ x)) for r in rows], axis=0) + p.ridge * x

    def g(y):
        return p.regulariser.l1 * np.abs(y).sum() + p.regulariser.l2 / 2 * y @ y

    return f, gradient, g


def parts(p):
    return p.constraint.A, p.constraint.B, p.constraint.c


def compare(algorithm, expected, seed=0):
    run = algorithm.run(seed)
    assert len(expected) == algorithm.rounds
    for t, (x, y, u) in enumerate(expected):
        np.testing.assert_allclose(run["x"][0, t], x, atol=3e-6)
        np.testing.assert_allclose(run["y"][0, t], y, atol=3e-6)
        np.testing.assert_allclose(run["dual"][0, t], u, atol=3e-6)
