"""Numbers of a table as they are read, entry after entry, in little more memory than they need."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy.sparse import csr_array

Array = NDArray[np.float64]

_GROUP = 2**13
"""Entries of a group of rows, but for its last row's."""

_EACH_ENTRY = 12
"""Bytes of a number and of the column it is in."""

_AT_ONCE = 2**7  # rows filled in together
_LONG = 2**31  # entries that ends of rows are counted in 64 bits from


class Entries:
    """The rows read so far, without zeros.

    They are kept as a matrix in CSR form has them; groups of rows that take less with their zeros,
    as an array, and then have no entries. So all of it takes no more than the table as an array, nor
    more than its matrix.
    """

    def __init__(self) -> None:
        self._values, self._columns = array("d"), array("i")
        self._ends = array("q", [0])
        self._full: list[tuple[int, Array]] = []
        self._first = 0  # row of the group that is being read

    def add(self, column: int, value: float) -> None:
        """An entry of the row that is being read, to the right of those before it."""
        if value:
            self._columns.append(column)
            self._values.append(value)

    def end_row(self) -> None:
        """The row has no more entries."""
        self._ends.append(len(self._values))
        if len(self._values) - self._ends[self._first] >= _GROUP:
            self._end_group()

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._ends) - 1

    @property
    def count(self) -> int:
        """How many numbers are not 0."""
        return len(self._values) + sum(int(np.count_nonzero(rows)) for _, rows in self._full)

    def array(self, width: int) -> Array:
        """All rows as an array, which can be had once: groups are dropped as they are filled in."""
        table = _filled(*self._parts(), width)
        while self._full:
            first, rows = self._full.pop()
            table[first : first + len(rows), : rows.shape[1]] = rows
        return table

    def matrix(self, width: int) -> csr_array:
        """All rows as a sparse matrix, with indices of 32 bits where these suffice."""
        from scipy.sparse import csr_array

        from dpcalc.algorithms.problems.sparse import stacked

        values, columns, ends = self._parts()
        short = ends.astype(np.intc) if len(values) < _LONG else ends  # else columns are copied
        entries = csr_array((values, columns, short), shape=(len(self), width))
        if not self._full:
            return entries
        return stacked(self._pieces(entries), entries.shape, self.count)

    def _end_group(self) -> None:
        """The last rows as an array, if that takes less."""
        first, start = self._first, self._ends[self._first]
        self._first = len(self)
        columns = np.array(self._columns[start:])
        width = int(columns.max()) + 1
        if 8 * (len(self) - first) * width >= _EACH_ENTRY * len(columns):
            return
        ends = np.array(self._ends[first:]) - start
        self._full.append((first, _filled(np.array(self._values[start:]), columns, ends, width)))
        del self._columns[start:], self._values[start:]
        self._ends[first:] = array("q", [start] * len(ends))

    def _parts(self) -> tuple[Array, NDArray[np.intc], NDArray[np.int64]]:
        """Values, columns and ends of rows, where they are."""
        columns, ends = np.frombuffer(self._columns, np.intc), np.frombuffer(self._ends, np.int64)
        return np.frombuffer(self._values), columns, ends

    def _pieces(self, entries: csr_array) -> Iterator[csr_array]:
        """All rows in their order, as sparse matrices."""
        from scipy.sparse import csr_array

        row = 0
        for first, rows in self._full:
            yield entries[row:first]
            yield csr_array(rows)
            row = first + len(rows)
        yield entries[row:]


def _filled(
    values: Array, columns: NDArray[np.intc], ends: NDArray[np.int64], width: int
) -> NDArray[Any]:
    """Entries as an array; a sparse matrix in between would copy where they are."""
    table = np.zeros((len(ends) - 1, width))
    for first in range(0, len(table), _AT_ONCE):
        bounds = ends[first : first + _AT_ONCE + 1]
        row = np.repeat(np.arange(first, first + len(bounds) - 1), np.diff(bounds))
        part = slice(bounds[0], bounds[-1])
        table[row, columns[part]] = values[part]
    return table
