"""Products of sparse rows with many vectors at once, compiled by numba where it is installed.

Sums of multiples of vectors stay in registers, where scipy reads and writes them for every term, and
no line of the cache is shared by two vectors; what lies between the two halves of a product stays in
the processor's cache, a tile of records at a time; and columns that often hold one number in a row
are added up first. Together that is four to five times as fast for dozens of vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems import sparse
from dpcalc.algorithms.problems.merged import MergedRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcalc.algorithms.problems.losses import Floats

_RARE = 0.33  # share of numbers that are not zero from which dense products cost less
_TILE = 256  # records of a tile
_TOGETHER = 32  # tiles summed up in the precision of the vectors


@cache
def is_there() -> bool:
    """Whether numba can be imported; it is not."""
    return find_spec("numba") is not None


def mostly_zero(rows: Any) -> bool:
    """Whether rows, an array or in CSR form, have so many zeros that a form without them pays."""
    numbers = rows.nnz if sparse.is_sparse(rows) else np.count_nonzero(rows)
    return bool(numbers <= _RARE * rows.shape[0] * rows.shape[1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompiledRows:
    """A sparse matrix R = A·E of shape (n, d), see `MergedRows`; A by row and, by tiles, by column.

    Attributes:
        pairs: what E adds up.
        by_row: A in CSR form.
        starts: where the columns of a tile begin in the next two; shape (tiles, columns of A + 1).
        records: number of the record within its tile, of every number that is not zero.
        values: these numbers.
    """

    pairs: NDArray[np.int64]
    by_row: Any  # scipy.sparse.csr_array
    starts: NDArray[np.int64]
    records: NDArray[np.int32]
    values: Floats

    @classmethod
    def of(cls, rows: Any) -> CompiledRows | None:
        """The rows, an array or in CSR form; None without numba, or where dense ones cost less."""
        if not is_there() or not rows.shape[0] or not mostly_zero(rows):
            return None
        from scipy.sparse import csr_array

        merged = MergedRows.of(csr_array(rows))
        by_row, starts, records, values, at = merged.rows, [], [], [], 0
        for first in range(0, by_row.shape[0], _TILE):
            tile = sparse.consecutive(by_row, slice(first, first + _TILE)).tocsc()
            starts.append(tile.indptr.astype(np.int64) + at)
            records.append(tile.indices.astype(np.int32))
            values.append(tile.data)
            at += tile.nnz
        return cls(
            pairs=merged.pairs,
            by_row=by_row,
            starts=np.array(starts),
            records=np.concatenate(records),
            values=np.concatenate(values),
        )

    def folded(
        self, columns: Floats, between: Callable[[slice, Floats], Floats]
    ) -> NDArray[np.float64]:
        """Rᵀ·between(R·columns), as `MixedRows.folded`."""
        from dpcalc.algorithms.problems import kernels

        vectors, columns = columns.shape[1], self._added_up(columns)
        result, count = np.zeros(columns.shape), self.by_row.shape[0]
        part, m = _wide(len(columns), vectors, columns.dtype), _wide(_TILE, vectors, columns.dtype)
        for tile, first in enumerate(range(0, count, _TILE)):
            records = slice(first, min(first + _TILE, count))
            kernels.multiply(*self._csr, first, records.stop, columns, m)
            here = m[: records.stop - first, :vectors]
            here[:] = between(records, here)
            kernels.fold(self.starts[tile], self.records, self.values, m, part)
            if (tile + 1) % _TOGETHER == 0:
                result += part
                part[:] = 0
        return self._shared_out(result + part)[:, :vectors]

    def weighted(self, columns: Floats, weights: Floats) -> NDArray[np.float64]:
        """Rᵀ·(weights ∘ R·columns); shapes (d, vectors) and (n, vectors), of one precision."""
        from dpcalc.algorithms.problems import kernels

        columns, weights = self._added_up(columns), np.ascontiguousarray(weights)
        result, vectors = np.zeros(columns.shape), weights.shape[1]
        kernels.weighted(
            *self._csr,
            self.starts,
            self.records,
            self.values,
            columns,
            weights,
            _wide(_TILE, vectors, columns.dtype),
            _wide(len(columns), vectors, columns.dtype),
            _TOGETHER,
            result,
        )
        return self._shared_out(result)[:, :vectors]

    def gram(self, weights: Floats) -> NDArray[np.float64]:
        """Rᵀ·diag(weights)·R, in double precision; shapes (n,) and (d, d)."""
        from dpcalc.algorithms.problems import kernels

        lower = np.zeros((self.by_row.shape[1],) * 2)
        kernels.gram(*self._csr, weights.astype(np.float64), lower)
        whole = np.tril(lower, -1)
        whole = self._shared_out(whole + whole.T + np.diag(np.diagonal(lower)))
        return self._shared_out(np.ascontiguousarray(whole.T))

    def logistic(
        self, columns: Floats, weight: float, bends: Floats
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Rᵀφ'(R·columns) of the logistic loss, in one pass with its exponentials.

        Args:
            columns: shape (d, vectors).
            weight: w.
            bends: where w·φ'' of every record and vector goes; shape (n, vectors).

        Returns:
            The product, of shape (d, vectors), and for every vector Σφ'² and Σw·φ''.
        """
        from dpcalc.algorithms.problems import kernels

        vectors, work, columns = columns.shape[1], columns.dtype, self._added_up(columns)
        result = np.zeros(columns.shape)
        squares, levels = np.zeros(vectors), np.zeros(vectors)
        numbers, series = kernels.exponential(work)
        m, powers = _wide(_TILE, vectors, work), np.empty(vectors, work)
        for first in range(0, len(self.starts), _TOGETHER):
            part, tiles = (
                _wide(len(columns), vectors, columns.dtype),
                self.starts[first : first + _TOGETHER],
            )
            sums = np.zeros((2, vectors), work)
            kernels.logistic_gradient(
                *self._csr,
                first * _TILE,
                tiles,
                self.records,
                self.values,
                columns,
                work.type(weight),
                bends,
                m,
                part,
                sums[0],
                sums[1],
                powers,
                powers.view(f"i{work.itemsize}"),
                numbers,
                series,
            )
            result += part
            squares += sums[0]
            levels += sums[1]
        return self._shared_out(result)[:, :vectors], squares, levels

    @property
    def _csr(self) -> tuple[Any, Any, Any]:
        """A by row, as the loops take it."""
        return self.by_row.indptr, self.by_row.indices, self.by_row.data

    def _added_up(self, columns: Floats) -> Floats:
        """E·columns, row by row in the memory."""
        from dpcalc.algorithms.problems import kernels

        result = _wide(self.by_row.shape[1], columns.shape[1], columns.dtype)
        result[: len(columns), : columns.shape[1]] = columns
        kernels.add_up(self.pairs, result)
        return result

    def _shared_out(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Eᵀ·sums; overwrites them."""
        from dpcalc.algorithms.problems import kernels

        kernels.share_out(self.pairs, sums)
        return sums[: len(sums) - len(self.pairs)]


def _wide(rows: int, width: int, dtype: np.dtype[Any]) -> Floats:
    """Zeros; rows begin and end with a line of the cache, so that they may be a little wider."""
    line = 64 // dtype.itemsize
    width = -(-width // line) * line
    room = np.zeros(rows * width + line, dtype)
    skipped = -room.ctypes.data % 64 // dtype.itemsize
    return room[skipped : skipped + rows * width].reshape(rows, width)
