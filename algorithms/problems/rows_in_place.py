"""Rows dealt out in a public order and brought to norm at most 1 where they are.

Statement
    The rows are those of `dpcalc.algorithms.problems.records.unit_rows`, to the last bit. An array
    becomes them in its own memory; of a sparse matrix columns are dealt out before numbers are, so
    that old and new take at most 5/3 of it together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems import sparse
from dpcalc.algorithms.problems.norms import row_norms
from dpcalc.algorithms.problems.records import unit_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy.sparse import csr_array

    from dpcalc.algorithms.problems.sparse import Rows

Array = NDArray[np.float64]
Order = NDArray[np.intp]

_AT_ONCE = 2**10  # rows


def dealt_in_place(
    features: Rows, order: Order, *, bound: float, constant: bool, signs: Array | None = None
) -> tuple[Rows, Array]:
    """Rows in an order, of norm at most 1; the features are of no use afterwards.

    Args:
        features: shape (n, d), finite; an array or a ``csr_array`` that nobody else needs. An array
            that is a part of another, or read-only, is copied.
        order: a permutation of the n rows.
        bound: the largest norm of a row; longer ones are shortened to it.
        constant: whether a feature is added; see `with_constant`.
        signs: ±1 for every row in its new place, to multiply it with; shape (n,).

    Returns:
        Rows of shape (n, d or d + 1), read-only, and how many times longer each was.
    """
    scale = bound * np.sqrt(1 + constant)
    shortened = np.broadcast_to(scale, len(order))  # a number for each only where some are longer

    def unit(rows: Rows, first: int) -> Rows:
        """Some of the rows in their order, the first of which has this number."""
        nonlocal shortened
        longer = np.maximum(row_norms(rows) / bound, 1)
        if longer.max() > 1 and not shortened.flags.writeable:
            shortened = shortened.copy()
        if shortened.flags.writeable:
            shortened[first : first + rows.shape[0]] = longer * scale
        own = None if signs is None else signs[first : first + rows.shape[0]]
        return unit_rows(rows, bound=bound, constant=constant, signs=own)

    if sparse.is_sparse(features):
        rows = _matrix(features, order, unit, constant)
    else:
        flags = features.flags
        own = flags.owndata and flags.writeable and flags.c_contiguous
        if not own or features.dtype != np.float64:
            features = np.array(features, dtype=np.float64)
        rows = _array(features, order, unit, constant)
    return rows, shortened


def _array(table: Array, order: Order, unit: Any, constant: bool) -> Array:
    """The same of an array; from its last rows on, since rows become longer by a constant."""
    _permute(table, order)
    count, d = table.shape
    table.resize((count, d + constant), refcheck=False)
    flat = table.reshape(-1)
    for first in reversed(range(0, count, _AT_ONCE)):
        stop = min(first + _AT_ONCE, count)
        table[first:stop] = unit(flat[first * d : stop * d].reshape(-1, d), first)
    table.flags.writeable = False
    return table


def _permute(rows: Array, order: Order) -> None:
    """Bring rows into an order, exchanging a few of them at once."""
    kind = np.intc if len(order) < 2**31 else np.intp
    place: NDArray[Any] = np.arange(len(order), dtype=kind)  # of a row
    row = place.copy()  # in a place
    for first in range(0, len(order), _AT_ONCE):
        stop = min(first + _AT_ONCE, len(order))
        come = place[order[first:stop]]
        taken = rows[come]
        stays = np.zeros(stop - first, dtype=bool)
        stays[come[come < stop] - first] = True
        goes, free = first + np.flatnonzero(~stays), come[come >= stop]
        rows[free], row[free] = rows[goes], row[goes]
        place[row[free]] = free
        rows[first:stop] = taken


def _matrix(table: csr_array, order: Order, unit: Any, constant: bool) -> csr_array:
    """The same of a sparse matrix, which has no entries afterwards."""
    from scipy.sparse import csr_array

    count, d = table.shape
    kind = np.int32 if d + constant < 2**31 else np.int64
    entries = len(table.data) + constant * count
    ends = np.zeros(count + 1, kind if entries < 2**31 else np.int64)
    np.cumsum(np.diff(table.indptr)[order] + kind(constant), out=ends[1:])
    columns = np.empty(entries, kind)
    for first, part, own in _pieces(order, ends, constant):
        columns[part] = d
        columns[part][own] = table.indices[_entries(table, order, first)]
    table.indices = np.empty(0, kind)
    values = np.empty(entries)
    for first, part, own in _pieces(order, ends, constant):
        here = order[first : first + _AT_ONCE]
        sizes = np.concatenate([[0], np.cumsum(np.diff(table.indptr)[here])]).astype(kind)
        numbers = table.data[_entries(table, order, first)]
        rows = csr_array((numbers, columns[part][own], sizes), shape=(len(here), d))
        values[part] = unit(rows, first).data
    table.data = np.empty(0)
    rows = csr_array((values, columns, ends), shape=(count, d + constant))
    return sparse.read_only(rows, owned=True)


def _pieces(
    order: Order, ends: NDArray[Any], constant: bool
) -> Iterator[tuple[int, slice, NDArray[np.bool_]]]:
    """The first of some rows, where their entries go, and which of these are no constant."""
    for first in range(0, len(order), _AT_ONCE):
        last = ends[first : first + _AT_ONCE + 1]
        own = np.ones(last[-1] - last[0], dtype=bool)
        if constant:
            own[last[1:] - last[0] - 1] = False
        yield first, slice(last[0], last[-1]), own


def _entries(table: csr_array, order: Order, first: int) -> NDArray[np.int64]:
    """Where the entries of some rows are, row after row."""
    here = order[first : first + _AT_ONCE]
    starts = table.indptr[here].astype(np.int64)
    sizes = table.indptr[here + 1] - starts
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())
