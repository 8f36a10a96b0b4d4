"""A table that is read a block of rows at a time, whatever file it is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dpcalc.algorithms.problems.data.dataset import Array, Dataset
from dpcalc.algorithms.problems.data.tables import Columns, dataset_of

Part: TypeAlias = tuple[Array, Array, set[str]]
"""Features, labels, and some of the labels as they are spelt, at least two if they differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableParts:
    """How a table is read.

    Attributes:
        columns: how a row becomes a label and numbers.
        count: how many rows the file has, incomplete ones included.
        read: the most rows to read at once -> the parts in order, without incomplete rows.
        largest: bytes that are read at once however few rows are asked for: a group of rows.
    """

    columns: Columns
    count: Callable[[], int]
    read: Callable[[int], Iterator[Part]]
    largest: Callable[[], int] = lambda: 0


AT_ONCE = 2**13
"""Rows that are read at once where memory is no matter."""


def collected(parts: TableParts) -> Dataset:
    """The whole table; besides it one part is in memory."""
    count = parts.count()
    features, labels = np.empty((count, len(parts.columns.names))), np.empty(count)
    said, rows = set[str](), 0
    for x, y, words in parts.read(AT_ONCE):
        features[rows : rows + len(y)], labels[rows : rows + len(y)] = x, y
        rows, said = rows + len(y), said | words
    return dataset_of(parts.columns, features[:rows], labels[:rows], said, count - rows)
