"""Numbers of a table as they are read, entry after entry, in little more memory than they need."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy.sparse import csr_array

Array = NDArray[np.float64]
Columns = NDArray[np.intc]
Counts = NDArray[np.int64]

_GROUP = 2**13
"""Entries of a group of rows, but for its last row's."""

_FULL = 1 / 2
"""Share of numbers that are not 0 from which a group is kept with its zeros.

Entries then take at most 3/4 of the array that they are filled into, and groups at most 4/3 of the
matrix that is made of them.
"""

_GROWTH = 16
"""Room is made for one more in so many numbers at once."""

_AT_ONCE = 2**7  # rows taken together
_LONG = 2**31  # entries that ends of rows are counted in 64 bits from


class Entries:
    """The rows read so far, without zeros.

    They are kept as a matrix in CSR form has them; groups of rows with few zeros in an array, one
    behind the other, and then they have no entries. A table can be made of them once: in the place of
    those groups, or from its end on, as what is kept is given up from its own end.
    """

    def __init__(self) -> None:
        self._values, self._columns = array("d"), array("i")
        self._ends = array("q", [0])
        self._full, self._used = np.empty(0), 0  # groups with their zeros, and room for more
        self._groups: list[tuple[int, int, int]] = []  # of each the first row, how many, how wide
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
        return len(self._values) + int(np.count_nonzero(self._full[: self._used]))

    def array(self, width: int) -> Array:
        """All rows as an array."""
        table, self._full = self._full, np.empty(0)
        table.resize((len(self), width), refcheck=False)  # nobody else has seen it
        for first, values, columns, counts in self._from_the_end(table.reshape(-1)):
            rows = table[first : first + len(counts)]
            rows[:] = 0
            rows[np.repeat(np.arange(len(counts)), counts), columns] = values
        return table

    def matrix(self, width: int) -> csr_array:
        """All rows as a sparse matrix, with indices of 32 bits where these suffice."""
        from scipy.sparse import csr_array

        shape = (len(self), width)
        if not self._groups:
            values, columns = np.frombuffer(self._values), np.frombuffer(self._columns, np.intc)
            return csr_array((values, columns, _short(np.frombuffer(self._ends, np.int64))), shape)
        values, columns = np.empty(self.count), np.empty(self.count, np.intc)
        ends, stop = np.zeros(len(self) + 1, np.int64), len(values)
        for first, some, where, counts in self._from_the_end(self._full):
            values[stop - len(some) : stop], columns[stop - len(some) : stop] = some, where
            ends[first + 1 : first + 1 + len(counts)] = counts
            stop -= len(some)
            self._full.resize(self._used, refcheck=False)
        return csr_array((values, columns, _short(np.cumsum(ends, out=ends))), shape)

    def _end_group(self) -> None:
        """Keep the last rows with their zeros, if they have few."""
        first, start = self._first, self._ends[self._first]
        self._first = len(self)
        columns = np.array(self._columns[start:])
        count, width = len(self) - first, int(columns.max()) + 1
        if len(columns) < _FULL * count * width:
            return
        used, self._used = self._used, self._used + count * width
        if self._used > len(self._full):
            self._full.resize(self._used + self._used // _GROWTH, refcheck=False)
        rows = self._full[used : self._used].reshape(count, width)
        rows[:] = 0
        rows[np.repeat(np.arange(count), np.diff(self._ends[first:])), columns] = self._values[
            start:
        ]
        self._groups.append((first, count, width))
        del self._columns[start:], self._values[start:]
        self._ends[first:] = array("q", [start] * (count + 1))

    def _from_the_end(self, full: Array) -> Iterator[tuple[int, Array, Columns, Counts]]:
        """The first of some rows, their numbers and columns and how many each has; the last first.

        Args:
            full: the groups with their zeros; what comes after those not yet given may be changed.
        """
        stop = len(self)
        while self._groups:
            first, count, width = self._groups.pop()
            yield from self._entries_from_the_end(first + count, stop)
            stop = first
            for row in reversed(range(0, count, _AT_ONCE)):
                many = min(count - row, _AT_ONCE)
                self._used -= many * width
                rows = full[self._used : self._used + many * width].reshape(many, width)
                there = rows != 0
                columns = np.nonzero(there)[1].astype(np.intc)
                yield first + row, rows[there], columns, there.sum(axis=1)
        yield from self._entries_from_the_end(0, stop)

    def _entries_from_the_end(
        self, start: int, stop: int
    ) -> Iterator[tuple[int, Array, Columns, Counts]]:
        """The same of rows that are kept by their entries."""
        for row in reversed(range(start, stop, _AT_ONCE)):
            ends = np.array(self._ends[row : min(row + _AT_ONCE, stop) + 1])
            values, columns = self._values[ends[0] :], self._columns[ends[0] :]
            del self._values[ends[0] :], self._columns[ends[0] :]
            yield row, np.frombuffer(values), np.frombuffer(columns, np.intc), np.diff(ends)


def _short(ends: Counts) -> Counts | Columns:
    """Ends of rows in 32 bits where these suffice; else columns would be copied into 64."""
    return ends.astype(np.intc) if ends[-1] < _LONG else ends
