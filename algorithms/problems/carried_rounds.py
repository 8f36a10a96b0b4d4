"""Many rounds of dual averaging for a few runs, in one compiled loop; imports numba.

Between its rounds the numbers of a run, some 60 kB of them for twenty nodes of 123 columns, stay in
the caches that are closest: noise is drawn where it is used, and what nobody looks at is not written.
Every number is made by the operations of `averaging_kernels`, of `ziggurat`, of the losses and of
`ElasticNet`, in their order, so it has their bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcalc.algorithms.problems import ziggurat
from dpcalc.algorithms.problems.averaging_kernels import compiled, mix_one

HINGE, SMOOTHED_HINGE, SQUARED, HUBER = range(4)
"""Losses whose derivatives are plain arithmetic."""


@compiled
def clipped(number: float, low: float, high: float) -> float:
    """As `numpy.clip`; no number stays none."""
    if number < low:
        return low
    if number > high:
        return high
    return number


@compiled
def derivative(kind: int, width: float, m: float) -> float:
    """φ'(m) as the losses have it; ``width`` is the scale of the squared one."""
    if kind == HINGE:
        return -1.0 if m < 1 else 0.0
    if kind == SQUARED:
        return width * m
    if kind == HUBER:
        return clipped(m, -width, width)
    return clipped((m - 1.0) / width, -1.0, 0.0)


@compiled
def fetched(rows: Any, index: Any) -> float:
    """Some sum of both ends of several rows: they come from the memory all at once."""
    starts, columns, values = rows
    end, total = len(values) - 1, 0.0
    for row in index if end >= 0 else index[:0]:
        first, last = min(starts[row], end), max(starts[row + 1] - 1, 0)
        total += columns[first] + columns[last] + values[first] + values[last]
    return total


@compiled
def step_on(
    divisor: float,
    threshold: float,
    step: float,
    sigma: float,
    z: Any,
    x: Any,
    total: Any,
    sent: Any,
) -> None:
    """A node's point x, the sum of points and, of unit noise in ``sent``, z + step·sigma·noise."""
    if threshold > 0:
        for k in range(len(z)):
            v = z[k]
            v -= clipped(v, -threshold, threshold)
            x[k] = v / divisor
    else:
        for k in range(len(z)):
            x[k] = z[k] / divisor
    for k in range(len(z)):
        total[k] = total[k] + step * x[k]
        sent[k] = z[k] + step * (sigma * sent[k])


@compiled
def carry(
    rows: Any,
    dense: Any,
    offsets: Any,
    index: Any,
    loss: Any,
    mixing: Any,
    schedule: Any,
    sigma: float,
    state: Any,
    tables: Any,
    group: int,
    before: int,
    given: Any,
    z: Any,
    total: Any,
    x: Any,
    message: Any,
) -> float:
    """As many rounds as ``index`` has; z and the sums of points are those after the last.

    Args:
        rows: starts, columns and numbers of a matrix in CSR form; of none for dense rows.
        dense: rows with their zeros; none for sparse ones.
        offsets: of all rows; none where there are none.
        index: number of the row; shape (rounds, runs, nodes).
        loss: its kind and width.
        mixing: starts, columns and weights of W.
        schedule: a(t), -(A(t)·l2 + γ(t)) and A(t)·l1; shape (rounds, 3).
        sigma: standard deviation of the noise.
        state: of the generator of these runs, which is moved on.
        tables: of the ziggurat.
        group: runs that the generator serves.
        before: how many of these come before the first.
        given: unit noise that was drawn already, shape (rounds, runs, nodes, d); none to draw it.
        z: shape (runs, nodes, d), as the next three.
        total: Σ a(t)x(t).
        x: where the points of the last round go.
        message: where the messages of the last round go.

    Returns:
        A number without meaning.
    """
    starts, columns, values = rows
    spare, ahead = np.empty(z.shape[1:]), 0.0
    for t in range(len(index)):
        step, divisor, threshold = schedule[t, 0], schedule[t, 1], schedule[t, 2]
        for member in range(group):
            r = member - before
            if r < 0 or r >= len(z):
                ziggurat.fill(state, spare, *tables)
                continue
            if len(dense) == 0:
                ahead += fetched(rows, index[t, r])
            if len(given) == 0:
                ziggurat.fill(state, message[r], *tables)
            else:
                message[r] = given[t, r]
            for i in range(z.shape[1]):
                point, sent, row, m = x[r, i], message[r, i], index[t, r, i], 0.0
                step_on(divisor, threshold, step, sigma, z[r, i], point, total[r, i], sent)
                if len(dense) == 0:
                    for j in range(starts[row], starts[row + 1]):
                        m += values[j] * point[columns[j]]
                else:
                    for k in range(len(point)):
                        m += dense[row, k] * point[k]
                if len(offsets) > 0:
                    m += offsets[row]
                slope = step * derivative(loss[0], loss[1], m)
                if len(dense) > 0:
                    for k in range(len(point)):
                        sent[k] += slope * dense[row, k]
                elif slope != 0:
                    for j in range(starts[row], starts[row + 1]):
                        sent[columns[j]] += slope * values[j]
            mix_one(mixing[0], mixing[1], mixing[2], message[r], z[r])
    return ahead
