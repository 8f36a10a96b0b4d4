"""Tables in Parquet files: numbers as they are, categories as 0-1 columns, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc.algorithms.problems.data.dataset import Array, Dataset, bad_row
from dpcalc.algorithms.problems.data.tables import Columns, dataset_of
from dpcalc.errors import InvalidInput
from dpcalc.extras import need

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

_BATCH = 2**13  # rows read at once


def load_parquet(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    categories: Mapping[str, Sequence[str]] | None = None,
    positive: str | None = None,
) -> Dataset:
    """Read a Parquet file; besides the table itself one batch of rows is in memory.

    Columns of numbers and of truth values keep their scale; all others need their categories. Rows
    with a null are left out.

    Args:
        path: the file.
        label: name of the label column; the last one if left out.
        categories: for every column that is not numeric, the categories it may have, a public fact.
        positive: the label value that becomes +1, all others -1; without it the labels are numbers,
            and two distinct ones become -1 and +1.

    Raises:
        MissingExtra: without pyarrow.
        InvalidInput: if it is no Parquet file, a column is neither numbers nor categories, or a
            value is not finite or not among the categories.
    """
    with _opened(path) as file:
        names = tuple(file.schema_arrow.names)
        if not names:
            raise InvalidInput(f"expected columns; got none in {str(path)!r}")
        columns = Columns(path, names, label or names[-1], positive, dict(categories or {}))
        reader = _Reader(path, columns)
        features = np.empty((file.metadata.num_rows, len(columns.names)))
        labels, said, rows = np.empty(len(features)), set[str](), 0
        for first, batch in _batches(file):
            part, y, words = reader.numbers(batch, first)
            features[rows : rows + len(y)], labels[rows : rows + len(y)] = part, y
            rows, said = rows + len(y), said | words
        left_out = len(features) - rows
    return dataset_of(columns, features[:rows], labels[:rows], said, left_out)


def column_kinds(path: str | os.PathLike[str]) -> dict[str, bool]:
    """Whether every column is one of numbers, by name; no value is read.

    Raises:
        MissingExtra: without pyarrow.
        InvalidInput: if it is no Parquet file.
    """
    with _opened(path) as file:
        return {field.name: _is_number(field.type) for field in file.schema_arrow}


def _opened(path: str | os.PathLike[str]) -> Any:
    """The file, to be closed after use."""
    need("pyarrow", purpose="reading a Parquet file")
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InvalidInput(f"expected a Parquet file; got {str(path)!r} ({error})") from error


def _batches(file: Any) -> Iterator[tuple[int, Any]]:
    """Batches of rows, each with the number of its first, counted from 1."""
    first = 1
    for batch in file.iter_batches(batch_size=_BATCH):
        yield first, batch
        first += batch.num_rows


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in numeric)


@dataclass(frozen=True, slots=True)
class _Reader:
    """How a batch becomes labels and numbers."""

    path: object
    columns: Columns

    def numbers(self, batch: Any, first: int) -> tuple[Array, Array, set[str]]:
        """Features, labels and the labels as they are spelt, of the complete rows."""
        whole = np.ones(batch.num_rows, dtype=bool)
        for column in batch.columns:
            whole &= np.asarray(column.is_valid())
        kept, numbers = batch.filter(whole), first + np.flatnonzero(whole)
        parts = [
            self._entries(name, kept.column(k), numbers)
            for k, name in enumerate(self.columns.header)
            if name != self.columns.label
        ]
        y, words = self._labels(kept.column(self.columns.header.index(self.columns.label)), numbers)
        return np.hstack(parts) if parts else np.empty((len(y), 0)), y, words

    def _entries(self, name: str, column: Any, numbers: Any) -> Array:
        known = self.columns.categories.get(name)
        if known is None:
            hint = f"list the values that it may have: --categories {name}=A|B|C"
            return self._finite(f"a number in column {name!r}", column, numbers, hint)[:, None]
        words = np.array(self._words(column), dtype=object)
        found = words[:, None] == np.array([str(c) for c in known], dtype=object)
        if not found.any(axis=1).all():
            k = int(np.argmin(found.any(axis=1)))
            needed = f"one of the categories of {name!r}"
            raise bad_row(self.path, int(numbers[k]), needed, words[k], where="row")
        return found.astype(np.float64)

    def _labels(self, column: Any, numbers: Any) -> tuple[Array, set[str]]:
        if self.columns.positive is not None:
            words = self._words(column)
            return np.array([float(w == self.columns.positive) for w in words]), set(words)
        hint = "say which label becomes +1: --positive VALUE"
        y = self._finite("a number as label", column, numbers, hint)
        return y, {f"{value:g}" for value in np.unique(y)[:2]}

    def _finite(self, needed: str, column: Any, numbers: Any, hint: str) -> Array:
        import pyarrow as pa

        if not _is_number(column.type):
            given = f"values of type {column.type}"
            raise InvalidInput(f"expected {needed}; got {given} in {str(self.path)!r}; {hint}")
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        found = np.asarray(column.cast(pa.float64(), safe=False), dtype=np.float64)
        if not np.isfinite(found).all():
            k = int(np.argmin(np.isfinite(found)))
            raise bad_row(self.path, int(numbers[k]), "a finite number", str(found[k]), where="row")
        return found

    @staticmethod
    def _words(column: Any) -> list[str]:
        """Values as text; whole numbers without a point."""
        return [
            f"{value:g}" if isinstance(value, float) else str(value) for value in column.to_pylist()
        ]
