"""Mixing matrices of communication graphs."""

from __future__ import annotations

import numpy as np

from dpcalc.errors import InvalidInput
from dpcalc.numerics.certified_eigenvalues import UNIT, Array, largest_eigenvalue
from dpcalc.theorems.graph import Graph


def mixing_matrix(graph: Graph, rule: str) -> Array:
    """Symmetric doubly stochastic weights on the edges of a graph.

    "uniform" gives every edge 1/(1 + largest degree), "metropolis" 1/(1 + larger degree of its
    ends); the rest stays at the node.
    """
    degrees = graph.degrees
    larger = np.maximum.outer(degrees, degrees) if rule == "metropolis" else degrees.max()
    weights = graph.adjacency / (1 + larger)
    return weights + np.diag(1 - weights.sum(axis=1))


def second_singular_value(mixing: Array) -> float:
    """An upper bound of the second singular value of a symmetric doubly stochastic matrix."""
    nodes = len(mixing)
    rest = mixing - 1.0 / nodes
    slack = 8 * nodes * UNIT
    ends = np.linalg.eigvalsh(rest)[[0, -1]].tolist()
    lowest = largest_eigenvalue(-rest, slack, estimate=-ends[0])
    return max(lowest, largest_eigenvalue(rest, slack, estimate=ends[1]), 0.0)


def check_mixing(name: str, matrix: Array) -> Array:
    """The matrix, if it is symmetric, doubly stochastic and non-negative up to rounding."""
    hint = "rows and columns that sum to 1, entries from 0 to 1, equal to its transpose"
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidInput(f"{name} needs a square matrix; got {matrix.shape[0]} rows; try {hint}")
    wrong = [
        what
        for what, error in (
            ("not symmetric", np.abs(matrix - matrix.T).max()),
            ("rows that do not sum to 1", np.abs(matrix.sum(axis=1) - 1).max()),
            ("entries below 0", max(0.0, -matrix.min())),
        )
        if error > 1e-9
    ]
    if wrong:
        raise InvalidInput(f"{name} needs a doubly stochastic matrix; got {wrong[0]}; try {hint}")
    return matrix
