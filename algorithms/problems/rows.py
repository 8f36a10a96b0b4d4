"""Rows of records multiplied with many vectors at once: frequent columns dense, rare ones sparse.

Of the columns of one-hot features most are almost empty. In products with dozens of vectors a
dense column costs as much as its length, a sparse one several times the numbers in it that are not
zero, so every column is kept in the form that is cheaper for it. Products go tile by tile through
the records, so that what lies between two of them stays in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcalc.algorithms.problems.losses import Floats

_RARE = 0.14  # share of non-zero numbers up to which a column is cheaper sparse
_WORTH = 0.25  # share of columns that must be rare to take the rows apart
_TILE = 1024  # records of a tile


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tile:
    """Some consecutive records: their frequent columns, and the rare ones by row and by column."""

    records: slice
    frequent: Floats
    by_row: Any  # scipy.sparse.csr_array
    by_column: Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixedRows:
    """A matrix R of shape (n, d).

    Attributes:
        frequent: columns kept dense.
        rare: columns kept sparse.
        tiles: the records, in order.
    """

    frequent: NDArray[np.intp]
    rare: NDArray[np.intp]
    tiles: tuple[_Tile, ...]

    @classmethod
    def of(cls, rows: Floats) -> MixedRows | None:
        """The rows taken apart, or None where too few columns are rare for that to pay."""
        from scipy.sparse import csr_array

        tiles = [slice(k, min(k + _TILE, len(rows))) for k in range(0, len(rows), _TILE)]
        counts = np.sum([np.count_nonzero(rows[tile], axis=0) for tile in tiles], axis=0)
        rare = counts <= _RARE * len(rows)
        if rare.mean() < _WORTH:
            return None
        frequent = np.ascontiguousarray(rows[:, ~rare])
        parts = []
        for records in tiles:
            part = rows[records][:, rare]
            parts.append(
                _Tile(
                    records=records,
                    frequent=frequent[records],
                    by_row=csr_array(part),
                    by_column=csr_array(part.T),
                )
            )
        return cls(frequent=np.flatnonzero(~rare), rare=np.flatnonzero(rare), tiles=tuple(parts))

    def folded(
        self, columns: Floats, between: Callable[[slice, Floats], Floats]
    ) -> NDArray[np.float64]:
        """Rᵀ·between(R·columns) for a function that acts on every row by itself.

        Args:
            columns: shape (d, runs).
            between: given a slice of records and their rows of R·columns, of shape
                (records, runs), which it may overwrite.

        Returns:
            Shape (d, runs), summed in double precision.
        """
        often, seldom = columns[self.frequent], columns[self.rare]
        result = np.zeros(columns.shape)
        total, rest = np.zeros(often.shape), np.zeros(seldom.shape)
        for tile in self.tiles:
            m: Any = tile.frequent @ often
            m += tile.by_row @ seldom
            m = between(tile.records, m)
            np.add(total, tile.frequent.T @ m, out=total)
            np.add(rest, tile.by_column @ m, out=rest)
        result[self.frequent] = total
        result[self.rare] = rest
        return result
