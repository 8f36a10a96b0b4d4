"""Sparse rows as fewer numbers: columns that often hold the same number in a row are added up first.

One-hot features put one number into several columns of a row, and the same columns come together in
many rows. A pair (a, b) of columns that does becomes a column of its own, which stands for a + b;
pairs of such pairs too (Re-Pair, Larsson and Moffat 2000, on rows instead of texts). Then R = A·E
exactly, where A has fewer numbers than R and E only adds: a product with R costs one with A and an
addition of two vectors per pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems import sparse

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.losses import Floats

_SHARE = 1 / 80  # of the rows that a pair must be in to pay for its additions
_MOST = 256  # pairs
_LOOKED_AT = 4096  # rows from which pairs are chosen
_AT_ONCE = 4096  # rows rewritten together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergedRows:
    """R = A·E, of shape (n, d).

    Attributes:
        rows: A, in CSR form; shape (n, d + pairs).
        pairs: columns a and b that column d + k of A stands for the sum of, both below d + k;
            shape (pairs, 2).
    """

    rows: Any  # scipy.sparse.csr_array
    pairs: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Any) -> MergedRows:
        """Rows in CSR form, without doubled entries; no pairs where none comes often."""
        count, d = rows.shape
        step = max(-(-count // _LOOKED_AT), 1)
        looked_at = rows[::step]
        often = np.flatnonzero(
            np.bincount(looked_at.indices, minlength=d) >= max(_SHARE * looked_at.shape[0], 2)
        )
        place = np.full(d, -1)
        place[often] = np.arange(len(often))
        pairs = _chosen(_held(looked_at, place)[0])
        pieces = [
            _rewritten(sparse.consecutive(rows, slice(first, first + _AT_ONCE)), place, pairs)
            for first in range(0, count, _AT_ONCE)
        ]
        named = np.concatenate([often, d + np.arange(len(pairs))])
        entries = sum(piece.nnz for piece in pieces)
        merged = sparse.stacked(iter(pieces), (count, d + len(pairs)), entries)
        return cls(rows=merged.astype(rows.dtype, copy=False), pairs=named[pairs])


def _held(
    rows: Any, place: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Floats]:
    """Which columns hold the number that comes most often in a row.

    Args:
        rows: in CSR form.
        place: number of every column among those that may be merged, or -1.

    Returns:
        Shape (columns that may be merged, n); the entries of ``rows`` that are these; the numbers.
    """
    count = rows.shape[0]
    row = np.repeat(np.arange(count), np.diff(rows.indptr))
    mergeable = place[rows.indices] >= 0
    order = np.lexsort((rows.data, row))
    order = order[mergeable[order]]
    value, of = rows.data[order], row[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (value[1:] != value[:-1]) | (of[1:] != of[:-1])
    begin = np.flatnonzero(fresh)
    length = np.diff(begin, append=len(order))
    most = np.zeros(count, dtype=np.int64)
    np.maximum.at(most, of[begin], length)
    common = np.zeros(count, rows.dtype)
    largest = length == most[of[begin]]
    common[of[begin][largest]] = value[begin][largest]
    same = mergeable & (rows.data == common[row])
    held = np.zeros((int(place.max(initial=-1)) + 1, count), dtype=bool)
    held[place[rows.indices[same]], row[same]] = True
    return held, same, common


def _chosen(held: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The pairs of columns that come together most often, one after the other; shape (pairs, 2)."""
    columns, count = held.shape
    held = np.concatenate([held, np.zeros((_MOST, count), dtype=bool)])
    together = np.zeros((len(held), len(held)), dtype=np.int64)
    ones = held[:columns].astype(np.float32)
    together[:columns, :columns] = ones @ ones.T
    np.fill_diagonal(together, 0)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < _MOST and columns:
        new = columns + len(pairs)
        a, b = divmod(int(together[:new, :new].argmax()), new)
        if together[a, b] < max(_SHARE * count, 2):
            break
        _merge(held, a, b, new)
        beside = np.count_nonzero(held[:new, held[new]], axis=1)
        for old in (a, b):
            together[old, :new] -= beside
            together[:new, old] -= beside
        together[a, b] = together[b, a] = 0
        together[new, :new] = together[:new, new] = beside
        pairs.append((a, b))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _merge(held: NDArray[np.bool_], a: int, b: int, new: int) -> None:
    """Where a row holds both columns it holds the new one instead."""
    np.logical_and(held[a], held[b], out=held[new])
    held[a] ^= held[new]
    held[b] ^= held[new]


def _rewritten(rows: Any, place: NDArray[np.intp], pairs: NDArray[np.int64]) -> Any:
    """A of some rows; pairs are numbered by ``place``."""
    from scipy.sparse import csr_array

    held, same, common = _held(rows, place)
    columns, (count, d) = len(held), rows.shape
    held = np.concatenate([held, np.zeros((len(pairs), count), dtype=bool)])
    for k, (a, b) in enumerate(pairs):
        _merge(held, int(a), int(b), columns + k)
    symbol, row = np.nonzero(held)
    named = np.concatenate([np.flatnonzero(place >= 0), d + np.arange(len(pairs))])[symbol]
    others = np.repeat(np.arange(count), np.diff(rows.indptr))[~same]
    result = csr_array(
        (
            np.concatenate([rows.data[~same], common[row]]),
            (np.concatenate([others, row]), np.concatenate([rows.indices[~same], named])),
        ),
        shape=(count, d + len(pairs)),
    )
    result.sort_indices()
    return result
