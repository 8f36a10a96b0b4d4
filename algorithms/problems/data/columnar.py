"""Tables in Parquet and Arrow files: numbers as they are, categories as 0-1 columns, in batches."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc.algorithms.problems.data.column_names import check_names, refuse_index
from dpcalc.algorithms.problems.data.dataset import Array, bad_row
from dpcalc.algorithms.problems.data.meant import NUMBERED
from dpcalc.algorithms.problems.data.number_words import word
from dpcalc.algorithms.problems.data.parts import Part, TableParts
from dpcalc.algorithms.problems.data.tables import Columns
from dpcalc.errors import InvalidInput
from dpcalc.extras import need

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping, Sequence

ARROW = (".arrow", ".feather", ".ipc")
"""How the names of Arrow files end."""

_BUFFER = 2**16
"""Bytes of a column that are read ahead."""


def columnar_parts(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    categories: Mapping[str, Sequence[str]] | None = None,
    other: Collection[str] = (),
    positive: str | None = None,
) -> TableParts:
    """The table in a Parquet or Arrow file.

    Columns of numbers and of truth values keep their scale; all others need their categories. Rows
    with a null are left out.

    Args:
        path: the file: Parquet, or Arrow's file format, also known as Feather.
        label: name of the label column; the last one if left out.
        categories: for every column that is not numeric, the categories it may have, a public fact.
        other: columns whose values beyond their categories are one more category.
        positive: the label value that becomes +1, all others -1; without it the labels are numbers,
            and two distinct ones become -1 and +1.

    Raises:
        MissingExtra: without pyarrow.
        InvalidInput: if it is no such file, a column is neither numbers nor categories, or a
            value is not finite or not among the categories.
    """
    with closing(_opened(path)) as file:
        names = tuple(file.schema.names)
        refuse_index(path, _index_of(file.schema))
    if not names:
        raise InvalidInput(f"expected columns; got none in {str(path)!r}")
    known = dict(categories or {})
    columns = Columns(path, names, label or names[-1], positive, known, frozenset(other))
    reader = _Reader(path, columns)

    def count() -> int:
        with closing(_opened(path)) as file:
            return file.count()

    def read(at_once: int) -> Iterator[Part]:
        with closing(_opened(path)) as file:
            first = 1
            for batch in file.batches(at_once):
                yield reader.numbers(batch, first)
                first += batch.num_rows

    def largest() -> int:
        with closing(_opened(path)) as file:
            return file.largest()

    return TableParts(columns=columns, count=count, read=read, largest=largest)


def column_kinds(path: str | os.PathLike[str]) -> dict[str, str]:
    """What every column is of, by name: "number", "truth", "time" or "words"; no value is read.

    Raises:
        MissingExtra: without pyarrow.
        InvalidInput: if it is neither a Parquet nor an Arrow file, or has the index of a pandas table.
    """
    with closing(_opened(path)) as file:
        check_names(path, file.schema.names)
        refuse_index(path, _index_of(file.schema))
        return {field.name: _kind(field.type) for field in file.schema}


def _index_of(schema: Any) -> list[str]:
    """Columns of which pandas notes in the file that they are its index."""
    try:
        noted = (schema.pandas_metadata or {}).get("index_columns", [])
    except (ValueError, AttributeError):  # somebody else's note
        return []
    return [name for name in noted if name in schema.names]


class _Parquet:
    """A Parquet file, whose columns are read a little at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        from pyarrow import parquet

        self._file = parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
        self.schema = self._file.schema_arrow
        self.close = self._file.close

    def count(self) -> int:
        return int(self._file.metadata.num_rows)

    def largest(self) -> int:
        groups = range(self._file.metadata.num_row_groups)
        sizes = (self._file.metadata.row_group(k).total_byte_size for k in groups)
        return max(map(int, sizes), default=0)

    def batches(self, at_once: int) -> Iterator[Any]:
        yield from self._file.iter_batches(batch_size=at_once, use_threads=False)


class _Arrow:
    """A file of record batches, of which one is in memory."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        import pyarrow as pa

        self._source = pa.OSFile(str(path))
        self._file = pa.ipc.open_file(self._source)
        self.schema = self._file.schema
        self.close = self._source.close

    def count(self) -> int:
        numbers = range(self._file.num_record_batches)
        return sum(int(self._file.get_batch(k).num_rows) for k in numbers)

    def largest(self) -> int:
        numbers = range(self._file.num_record_batches)
        return max((int(self._file.get_batch(k).nbytes) for k in numbers), default=0)

    def batches(self, at_once: int) -> Iterator[Any]:
        for number in range(self._file.num_record_batches):
            batch = self._file.get_batch(number)
            for start in range(0, batch.num_rows, at_once):
                yield batch.slice(start, at_once)


def _opened(path: str | os.PathLike[str]) -> _Parquet | _Arrow:
    """The file, to be closed after use."""
    is_arrow = Path(path).suffix.lower() in ARROW
    kind = "an Arrow file" if is_arrow else "a Parquet file"
    need("pyarrow", purpose=f"reading {kind}")
    import pyarrow as pa

    try:
        return _Arrow(path) if is_arrow else _Parquet(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InvalidInput(f"expected {kind}; got {str(path)!r} ({error})") from error


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in numeric)


def _kind(kind: Any) -> str:
    from pyarrow import types

    if types.is_boolean(kind):
        return "truth"
    return "number" if _is_number(kind) else "time" if types.is_temporal(kind) else "words"


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
        beyond = ~found.any(axis=1, keepdims=True)
        unlisted = np.unique(words[beyond[:, 0]].astype(str), return_index=True)
        for said, k in zip(*unlisted, strict=True):
            if refused := self.columns.not_listed(name, str(said)):
                row = int(numbers[np.flatnonzero(beyond)[k]])
                needed = f"one of the categories of {name!r}"
                raise bad_row(self.path, row, needed, str(said), refused, where="row")
        if name in self.columns.other:
            found = np.hstack([found, beyond])
        return found.astype(np.float64)

    def _labels(self, column: Any, numbers: Any) -> tuple[Array, set[str]]:
        if self.columns.positive is not None:
            words = self._words(column)
            return np.array([float(w == self.columns.positive) for w in words]), set(words)
        hint = "say which label becomes +1: --positive VALUE"
        needed = f"a number as label in column {self.columns.label!r}"
        y = self._finite(needed, column, numbers, hint)
        return y, {word(value) for value in np.unique(y)[:2]}

    def _finite(self, needed: str, column: Any, numbers: Any, hint: str) -> Array:
        import pyarrow as pa

        if not _is_number(column.type):
            given = f"values of type {column.type}"
            hint = NUMBERED if pa.types.is_temporal(column.type) else hint
            raise InvalidInput(f"expected {needed}; got {given} in {str(self.path)!r}; {hint}")
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        found = np.asarray(column.cast(pa.float64(), safe=False), dtype=np.float64)
        if not np.isfinite(found).all():
            k = int(np.argmin(np.isfinite(found)))
            needed = needed.replace("a number", "a finite number", 1)
            hint = "make it null, and its row is left out"
            raise bad_row(self.path, int(numbers[k]), needed, str(found[k]), hint, where="row")
        return found

    @staticmethod
    def _words(column: Any) -> list[str]:
        """Values as text, with all their digits; whole numbers without a point."""
        from pyarrow import types

        if types.is_floating(column.type):
            return [word(value) for value in np.asarray(column)]
        return [str(value) for value in column.to_pylist()]
