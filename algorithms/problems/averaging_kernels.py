"""The loops of a round of dual averaging that numba compiles; imports it.

Arrays have the axes (runs, nodes, features). Every sum has one order, on every processor.
"""

from __future__ import annotations

from typing import Any

import numba

compiled = numba.njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
"""Contract: a product and a sum are rounded once."""


@compiled
def products(rows: Any, index: Any, nodes: Any, points: Any, m: Any) -> None:
    """Inner products of one row per run and node with that node's point, into ``m``.

    Args:
        rows: starts, columns and numbers of a matrix in CSR form.
        index: number of the row; shape (runs, len(nodes)).
        nodes: numbers of the nodes that have rows.
        points: shape (runs, nodes, features).
        m: shape (runs, len(nodes)).
    """
    starts, columns, values = rows
    end = len(values) - 1
    for r in range(len(index) if end >= 0 else 0):  # rows come from the memory all at once
        for i in range(len(nodes)):
            first, last = min(starts[index[r, i]], end), max(starts[index[r, i] + 1] - 1, 0)
            m[r, i] = columns[first] + columns[last] + values[first] + values[last]
    for r in range(len(index)):
        for i in range(len(nodes)):
            row, point, total = index[r, i], points[r, nodes[i]], 0.0
            for j in range(starts[row], starts[row + 1]):
                total += values[j] * point[columns[j]]
            m[r, i] = total


@compiled
def messages(
    rows: Any, index: Any, nodes: Any, slopes: Any, sigma: float, step: float, z: Any, noise: Any
) -> None:
    """Put z + step·(slope·row + sigma·noise) in the place of the noise; see `products`."""
    starts, columns, values = rows
    for r in range(len(index)):
        for i in range(len(nodes)):
            before, message = z[r, nodes[i]], noise[r, nodes[i]]
            for k in range(len(message)):
                message[k] = before[k] + step * (sigma * message[k])
            row, slope = index[r, i], step * slopes[r, i]
            if slope != 0:
                for j in range(starts[row], starts[row + 1]):
                    message[columns[j]] += slope * values[j]


@compiled
def dense_products(rows: Any, index: Any, nodes: Any, points: Any, m: Any) -> None:
    """`products`, to the last bit, for rows with their zeros: these add nothing."""
    for r in range(len(index)):
        for i in range(len(nodes)):
            row, point, total = rows[index[r, i]], points[r, nodes[i]], 0.0
            for k in range(len(row)):
                total += row[k] * point[k]
            m[r, i] = total


@compiled
def dense_messages(
    rows: Any, index: Any, nodes: Any, slopes: Any, sigma: float, step: float, z: Any, noise: Any
) -> None:
    """`messages`, to the last bit, for rows with their zeros."""
    for r in range(len(index)):
        for i in range(len(nodes)):
            before, message = z[r, nodes[i]], noise[r, nodes[i]]
            row, slope = rows[index[r, i]], step * slopes[r, i]
            for k in range(len(message)):
                message[k] = (before[k] + step * (sigma * message[k])) + slope * row[k]


@compiled
def mix(starts: Any, columns: Any, weights: Any, sent: Any, mixed: Any) -> None:
    """Σ_j w_ij·sent_j into ``mixed``, for a matrix in CSR form, in the order of its columns."""
    for r in range(len(sent)):
        mix_one(starts, columns, weights, sent[r], mixed[r])


@compiled
def mix_one(starts: Any, columns: Any, weights: Any, sent: Any, mixed: Any) -> None:
    """`mix` for one run."""
    for i in range(len(starts) - 1):
        total, j, stop = mixed[i], starts[i], starts[i + 1]
        if j + 3 > stop:
            total[:] = 0
        else:  # the first three, added to zero as the others are to the sum
            a, b, c = weights[j], weights[j + 1], weights[j + 2]
            p, q, s = sent[columns[j]], sent[columns[j + 1]], sent[columns[j + 2]]
            for k in range(len(total)):
                total[k] = ((0.0 + a * p[k]) + b * q[k]) + c * s[k]
            j += 3
        while j + 3 <= stop:
            a, b, c = weights[j], weights[j + 1], weights[j + 2]
            p, q, s = sent[columns[j]], sent[columns[j + 1]], sent[columns[j + 2]]
            for k in range(len(total)):
                total[k] = ((total[k] + a * p[k]) + b * q[k]) + c * s[k]
            j += 3
        while j < stop:
            a, p = weights[j], sent[columns[j]]
            for k in range(len(total)):
                total[k] += a * p[k]
            j += 1


@compiled
def add_up(x: Any, step: float, before: Any, share: float, total: Any, average: Any) -> None:
    """Before + step·x into ``total``, and ``share`` of that into ``average``; one axis each."""
    for k in range(len(x)):
        total[k] = before[k] + step * x[k]
        average[k] = share * total[k]
