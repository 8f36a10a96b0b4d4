"""The loops that numba compiles; nothing else imports this module, since it imports numba.

Vectors are the last axis of every array. Matrices are in compressed form: entries
``starts[i]`` to ``starts[i + 1]`` of ``index`` and ``values`` are column numbers and numbers of row i.
"""

from __future__ import annotations

from typing import Any

import numba

compiled = numba.njit(cache=True, nogil=True, fastmath={"contract"})
"""Contract: a product and a sum are rounded once."""


@compiled
def add_combination(
    values: Any, index: Any, start: Any, stop: Any, vectors: Any, total: Any
) -> None:
    """Add Σ values[j]·vectors[index[j]] over start <= j < stop to ``total``."""
    j = start
    while j + 4 <= stop:
        a, b, c, d = values[j], values[j + 1], values[j + 2], values[j + 3]
        p, q, r, s = (
            vectors[index[j]],
            vectors[index[j + 1]],
            vectors[index[j + 2]],
            vectors[index[j + 3]],
        )
        for k in range(len(total)):
            total[k] += a * p[k] + b * q[k] + c * r[k] + d * s[k]
        j += 4
    while j < stop:
        a, p = values[j], vectors[index[j]]
        for k in range(len(total)):
            total[k] += a * p[k]
        j += 1


@compiled
def multiply(
    starts: Any, index: Any, values: Any, first: int, stop: int, vectors: Any, m: Any
) -> None:
    """Rows ``first`` to ``stop`` of a matrix times vectors, into the first rows of ``m``."""
    for i in range(first, stop):
        m[i - first] = 0
        add_combination(values, index, starts[i], starts[i + 1], vectors, m[i - first])


@compiled
def fold(starts: Any, records: Any, values: Any, m: Any, total: Any) -> None:
    """Add the transpose of a tile times ``m`` to ``total``."""
    for k in range(len(total)):
        add_combination(values, records, starts[k], starts[k + 1], m, total[k])


@compiled
def weighted(
    starts: Any,
    index: Any,
    values: Any,
    first: int,
    tiles: Any,
    records: Any,
    by_column: Any,
    vectors: Any,
    weights: Any,
    m: Any,
    total: Any,
) -> None:
    """Add Rᵀ(weights ∘ R·vectors) over some tiles of records, from ``first`` on, to ``total``."""
    size = len(m)
    for tile in range(len(tiles)):
        begin = first + tile * size
        stop = min(begin + size, len(weights))
        multiply(starts, index, values, begin, stop, vectors, m)
        for i in range(begin, stop):
            row, weight = m[i - begin], weights[i]
            for k in range(len(row)):
                row[k] *= weight[k]
        fold(tiles[tile], records, by_column, m, total)
