"""Rows of a sparse matrix or of a file wherever rows of an array may be: what differs between them.

A sparse matrix stays one, in CSR form: nothing here makes more than a few rows of it dense. Of rows
in a file no more than a block is read at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc.algorithms.problems.stored_rows import in_memory, is_stored
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy.sparse import csr_array

Array = NDArray[np.float64]

Rows: TypeAlias = Any  # scipy ships no types
"""An array of shape (n, d), a ``csr_array``, or `StoredRows`."""

_AT_ONCE = 2**12  # rows looked at together


def is_sparse(rows: object) -> bool:
    """Whether these are rows of a sparse matrix of scipy, of whatever form."""
    return hasattr(rows, "tocsr")


def checked(name: str, matrix: Any) -> csr_array:
    """A sparse matrix in CSR form and double precision, without doubled entries.

    Raises:
        InvalidInput: if it is empty, or an entry is not a finite number.
    """
    from scipy.sparse import csr_array

    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidInput(f"{name} needs 2 non-empty axes; got shape={matrix.shape!r}")
    if matrix.dtype.kind not in "biuf":
        raise InvalidInput(f"{name} needs numbers; got entries of type {matrix.dtype}")
    rows = csr_array(matrix)
    if rows.dtype != np.float64:
        rows = rows.astype(np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        entry = int(np.argmax(~np.isfinite(rows.data)))
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        raise InvalidInput(
            f"{name} needs finite numbers; row {row} holds {float(rows.data[entry])!r} in column "
            f"{int(rows.indices[entry])}; drop or complete it"
        )
    return rows


def read_only(rows: csr_array, *, owned: bool = False) -> csr_array:
    """The same rows as nobody can write to; copied if somebody still could and they are not owned."""
    if any(array.flags.writeable for array in _arrays(rows)):
        rows = rows if owned else rows.copy()
        for array in _arrays(rows):
            array.flags.writeable = False
    return rows


def consecutive(rows: Rows, part: slice) -> Rows:
    """Some consecutive rows; a view, and the rows themselves if it is all of them."""
    if not is_sparse(rows):
        return rows[part]
    start, stop, _ = part.indices(rows.shape[0])
    if (start, stop) == (0, rows.shape[0]):
        return rows
    entries = slice(rows.indptr[start], rows.indptr[stop])
    view = type(rows)((stop - start, rows.shape[1]), dtype=rows.dtype)  # its maker would copy parts
    view.data, view.indices = rows.data[entries], rows.indices[entries]
    view.indptr = rows.indptr[start : stop + 1] - rows.indptr[start]
    view.indptr.flags.writeable = rows.indptr.flags.writeable
    return view


def transposed(rows: Rows) -> Rows:
    """The transpose; a view, even of a part of larger rows."""
    if not is_sparse(rows):
        return rows.T
    from scipy.sparse import csc_array

    view = csc_array(rows.shape[::-1], dtype=rows.dtype)
    view.data, view.indices, view.indptr = rows.data, rows.indices, rows.indptr
    return view


def dense_rows(rows: Rows, index: NDArray[np.integer[Any]]) -> Array:
    """Rows of these numbers as an array of shape (*index.shape, d)."""
    if not is_sparse(rows):
        return np.asarray(rows.take(index, axis=0))
    found = rows[index.ravel()].toarray()
    return np.asarray(found.reshape(*index.shape, rows.shape[1]))


def squared_norms(rows: Rows) -> Array:
    """‖r‖² of every row."""
    if is_stored(rows):
        return np.concatenate([squared_norms(block) for block in rows.blocks()])
    if not is_sparse(rows):
        return np.asarray(np.einsum("nk,nk->n", rows, rows))
    found = np.empty(rows.shape[0])
    for start in range(0, rows.shape[0], _AT_ONCE):
        part = consecutive(rows, slice(start, start + _AT_ONCE))
        squares = np.bincount(_row_of_entries(part), part.data**2, minlength=part.shape[0])
        found[start : start + _AT_ONCE] = squares
    return found


def times(rows: Rows, factors: Array) -> Rows:
    """Every row times a factor of its own."""
    if is_stored(rows):
        return rows.times(factors)
    if not is_sparse(rows):
        return rows * factors[:, None]
    return with_data(rows, rows.data * factors[_row_of_entries(rows)])


def divided(rows: Rows, divisors: Array) -> Rows:
    """Every row divided by a number of its own."""
    if not is_sparse(rows):
        return rows / divisors[:, None]
    return with_data(rows, rows.data / divisors[_row_of_entries(rows)])


def columns_divided(rows: csr_array, divisors: Array) -> csr_array:
    """Every column divided by a number of its own."""
    return with_data(rows, rows.data / divisors[rows.indices])


def gram(rows: Rows, weights: NDArray[Any] | None = None) -> NDArray[Any]:
    """Σ w_n r_n r_nᵀ; all w_n are 1 unless given; shape (d, d); added up block after block."""
    total = np.zeros((rows.shape[1],) * 2, rows.dtype)
    if is_stored(rows):
        for start in range(0, len(rows), rows.block):
            tile = slice(start, start + rows.block)
            total += gram(in_memory(rows[tile]), None if weights is None else weights[tile])
        return total
    if not is_sparse(rows):
        return np.asarray((rows.T if weights is None else rows.T * weights) @ rows)
    for start in range(0, rows.shape[0], _AT_ONCE):
        tile = slice(start, start + _AT_ONCE)
        part = consecutive(rows, tile)
        weighted = part if weights is None else times(part, weights[tile])
        total += (transposed(part) @ weighted).toarray()
    return total


def with_column(rows: Rows, value: float) -> Rows:
    """The rows with a last column of one value."""
    if not is_sparse(rows):
        return np.hstack([rows, np.full((len(rows), 1), value)])
    count, d = rows.shape
    ends = rows.indptr[1:]
    return type(rows)(
        (
            np.insert(rows.data, ends, value),
            np.insert(rows.indices, ends, d),
            rows.indptr + np.arange(count + 1, dtype=rows.indptr.dtype),
        ),
        shape=(count, d + 1),
    )


def all_alike(rows: Rows) -> bool:
    """Whether all rows are the same."""
    if not is_sparse(rows):
        return bool((rows == rows[0]).all())
    return rows.shape[0] == 1 or (rows[1:] != rows[:-1]).nnz == 0


def stacked(pieces: Iterator[csr_array], shape: tuple[int, int], entries: int) -> csr_array:
    """Pieces one below the other, read-only, in no more memory than the result and a piece.

    Args:
        pieces: rows in CSR form.
        shape: of all of them together.
        entries: at least how many numbers they hold.
    """
    from scipy.sparse import csr_array

    data, ends = np.empty(entries), np.zeros(shape[0] + 1, dtype=np.int64)
    columns = np.empty(entries, dtype=np.int32 if shape[1] < 2**31 else np.int64)
    row = end = 0
    for piece in pieces:
        first, end = end, end + piece.nnz
        data[first:end], columns[first:end] = piece.data, piece.indices
        ends[row + 1 : row + 1 + piece.shape[0]] = first + piece.indptr[1:]
        row += piece.shape[0]
    if end < 2**31:
        ends = ends.astype(columns.dtype)
    return read_only(csr_array((data[:end], columns[:end], ends), shape=shape), owned=True)


def replaced(rows: Rows, row: int, by: ArrayLike) -> Rows:
    """A copy of the rows with one of them exchanged."""
    if not is_sparse(rows):
        changed = rows.copy()
        changed[row] = by
        return changed
    from scipy.sparse import csr_array, vstack

    new = csr_array(np.asarray(by, dtype=np.float64)[None, :])
    above, below = slice(0, row), slice(row + 1, None)
    pieces = [piece for piece in (rows[above], new, rows[below]) if piece.shape[0]]
    return csr_array(vstack(pieces, format="csr"))


def _arrays(rows: csr_array) -> tuple[NDArray[Any], ...]:
    return rows.data, rows.indices, rows.indptr


def with_data(rows: csr_array, data: NDArray[Any]) -> csr_array:
    """Other numbers in the same places, which both share."""
    return type(rows)((data, rows.indices, rows.indptr), shape=rows.shape, copy=False)


def _row_of_entries(rows: csr_array) -> NDArray[np.intp]:
    return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
