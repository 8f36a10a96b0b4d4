"""Tables in Parquet and Arrow files: numbers as they are, categories as 0-1 columns, in batches."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc.algorithms.problems.data.arrow_files import opened, plain, value_type, whole
from dpcalc.algorithms.problems.data.column_names import check_names, refuse_index
from dpcalc.algorithms.problems.data.dataset import Array, bad_row
from dpcalc.algorithms.problems.data.meant import NUMBERED
from dpcalc.algorithms.problems.data.number_words import word
from dpcalc.algorithms.problems.data.parts import Part, TableParts
from dpcalc.algorithms.problems.data.tables import Columns
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping, Sequence


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
    with closing(opened(path)) as file:
        names = tuple(file.schema.names)
        refuse_index(path, _index_of(file.schema))
    if not names:
        raise InvalidInput(f"expected columns; got none in {str(path)!r}")
    known = dict(categories or {})
    columns = Columns(
        path, names, label or names[-1], positive, known, frozenset(other), of_text=False
    )
    reader = _Reader(path, columns)

    def count() -> int:
        with closing(opened(path)) as file, whole(path):
            return file.count()

    def read(at_once: int) -> Iterator[Part]:
        with closing(opened(path)) as file:
            first, batches = 1, file.batches(at_once)
            while (batch := _next(path, batches)) is not None:
                yield reader.numbers(batch, first)
                first += batch.num_rows

    def largest() -> int:
        with closing(opened(path)) as file, whole(path):
            return file.largest()

    return TableParts(columns=columns, count=count, read=read, largest=largest)


def _next(path: str | os.PathLike[str], batches: Iterator[Any]) -> Any:
    """The next batch of rows, or None after the last."""
    with whole(path):
        return next(batches, None)


def column_kinds(path: str | os.PathLike[str]) -> dict[str, str]:
    """What every column is of, by name: "number", "truth", "time" or "words"; no value is read.

    Raises:
        MissingExtra: without pyarrow.
        InvalidInput: if it is neither a Parquet nor an Arrow file, or has the index of a pandas table.
    """
    with closing(opened(path)) as file:
        check_names(path, file.schema.names)
        refuse_index(path, _index_of(file.schema))
        return {field.name: _kind(value_type(field.type)) for field in file.schema}


def _index_of(schema: Any) -> list[str]:
    """Columns of which pandas notes in the file that they are its index."""
    try:
        noted = (schema.pandas_metadata or {}).get("index_columns", [])
    except (ValueError, AttributeError):  # somebody else's note
        return []
    return [name for name in noted if name in schema.names]


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in numeric)


def _kind(kind: Any) -> str:
    from pyarrow import types

    if types.is_boolean(kind):
        return "truth"
    return "number" if _is_number(kind) else "time" if types.is_temporal(kind) else "words"


def _hint(kind: Any) -> str:
    """What to do with a column of a type that has no categories; "" for words."""
    from pyarrow import types

    if types.is_temporal(kind):
        return NUMBERED
    if types.is_null(kind):
        return "it has no value in any row: take it out"
    if types.is_nested(kind):
        return "take it out, or make a column of every number in it"
    return ""


_SPELT = 16
"""Labels of a batch that are spelt with all their digits: classes are fewer."""

_LISTED = (
    "list the values that it may have: --categories {}=A|B|C, or, if they are numbers, write them in a "
    "type of numbers"
)
"""What to do with a column of words."""


@dataclass(frozen=True, slots=True)
class _Reader:
    """How a batch becomes labels and numbers."""

    path: object
    columns: Columns

    def numbers(self, batch: Any, first: int) -> tuple[Array, Array, set[str]]:
        """Features, labels and the labels as they are spelt, of the complete rows."""
        names, label = self.columns.header, self.columns.label
        for name, column in zip(names, batch.columns, strict=True):
            self._check(name, value_type(column.type))
        columns = [plain(column) for column in batch.columns]
        complete = np.ones(batch.num_rows, dtype=bool)
        for column in columns:
            complete &= np.asarray(column.is_valid())
        numbers = first + np.flatnonzero(complete)
        kept = {n: c.filter(complete) for n, c in zip(names, columns, strict=True)}
        parts = [self._entries(name, kept[name], numbers) for name in names if name != label]
        y, words = self._labels(kept[label], numbers)
        return np.hstack(parts) if parts else np.empty((len(y), 0)), y, words

    def _check(self, name: str, kind: Any) -> None:
        """Refuse a column of no numbers without categories, and a label of none that is not named."""
        label = name == self.columns.label
        named = self.columns.positive is not None if label else name in self.columns.categories
        if named or _is_number(kind):
            return
        hint = _hint(kind)
        if label and not hint:
            hint = "say which label becomes +1: --positive VALUE"
        needed = "a number as label" if label else "a number"
        raise InvalidInput(
            f"expected {needed} in column {name!r}; got values of type {kind} in {str(self.path)!r}; "
            + (hint or _LISTED.format(name))
        )

    def _entries(self, name: str, column: Any, numbers: Any) -> Array:
        known = self.columns.categories.get(name)
        if known is None:
            return self._finite(f"a finite number in column {name!r}", column, numbers)[:, None]
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
        needed = f"a finite number as label in column {self.columns.label!r}"
        y = self._finite(needed, column, numbers)
        return y, {word(value) for value in np.unique(y)[:2]} | self._large(column, y)

    def _large(self, column: Any, y: Array) -> set[str]:
        """Labels that may be one double and are not, spelt with all their digits; a few."""
        from pyarrow import types

        if not types.is_integer(column.type) and not types.is_decimal(column.type):
            return set()
        exact = types.is_integer(column.type)
        doubtful = column.filter(np.abs(y) >= 2**53) if exact else column
        return set(self._words(doubtful.unique()[:_SPELT]))

    def _finite(self, needed: str, column: Any, numbers: Any) -> Array:
        import pyarrow as pa

        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        found = np.asarray(column.cast(pa.float64(), safe=False), dtype=np.float64)
        if not np.isfinite(found).all():
            k = int(np.argmin(np.isfinite(found)))
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
