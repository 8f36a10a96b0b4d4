"""Any table in a CSV file: numbers as they are, categories as 0-1 columns."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, replace
from dataclasses import field as default
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.algorithms.problems.data.alike import refuse_alike
from dpcalc.algorithms.problems.data.beyond import no_value, two_readings
from dpcalc.algorithms.problems.data.column_names import (
    OTHER,
    check_names,
    empty_table,
    label_alone,
    no_row,
    without_names,
)
from dpcalc.algorithms.problems.data.dataset import Array, Dataset, bad_row, two_classes
from dpcalc.algorithms.problems.data.marks import Marks
from dpcalc.algorithms.problems.data.meant import meant, word_hint
from dpcalc.algorithms.problems.data.number_words import word
from dpcalc.delimited import Row, first_delimiter, is_number, rows
from dpcalc.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from dpcalc.algorithms.problems.sparse import Rows


def load_table(
    path: str | os.PathLike[str],
    label: str,
    *,
    categories: Mapping[str, Sequence[str]] | None = None,
    other: Collection[str] = (),
    positive: str | None = None,
    missing: Sequence[str] = ("", "?", "NA"),
    delimiter: str | None = None,
    decimal: Mapping[str, str] | None = None,
) -> Dataset:
    """Read a CSV file with a header line, plain, .xz, .gz, .bz2 or .zst.

    Columns keep their scale; `records.bounded_rows` brings rows to a bounded norm. A file without a
    header would lose its first record unseen, so a label column called like one of its own text
    labels is refused.

    Args:
        path: the file.
        label: name of the label column.
        categories: for every column that is not numeric, the categories it may have. They are a
            public fact: a list taken from the data would be a look at the data.
        other: columns whose values beyond their categories are one more category, `OTHER`.
        positive: the label value that becomes +1, all others -1; without it the labels are numbers,
            and two distinct ones become -1 and +1.
        missing: entries that mean "no value"; rows with one are left out, unless the column's
            categories list it, or it is the positive label.
        delimiter: between the fields; the one that the first line has if left out.
        decimal: the decimal mark by column, "." or ","; see `Marks`.

    Raises:
        InvalidInput: if a row has another number of fields than the header, an entry is neither
            number nor category, numbers can be read in two ways, or all labels are the same.
    """
    found = rows(path, delimiter=delimiter, comments=False)
    header = next(found, Row(1, ())).cells
    known = dict(categories or {})
    columns = Columns(path, header, label, positive, known, frozenset(other))
    numeric = [n for n in header if n not in known and (n != label or positive is None)]
    semicolons = delimiter is None and first_delimiter(path) == ";"
    columns = replace(columns, marks=Marks.of(path, decimal or {}, numeric, semicolons=semicolons))
    features, labels = array("d"), array("d")  # eight bytes a number
    incomplete, said = 0, set[str]()
    for number, fields in found:
        if any(field in missing for field in fields) and columns.lacks(fields, missing):
            incomplete += 1
        else:
            said.add(columns.said_label(fields))
            labels.append(columns.label_of(number, fields))
            features.extend(columns.entries(number, fields))
    columns.marks.check(path)
    y = np.frombuffer(labels)
    rows_read = np.frombuffer(features).reshape(len(y), len(columns.names))
    return dataset_of(columns, rows_read, y, said, incomplete)


def dataset_of(
    columns: Columns, features: Rows, y: Array, said: AbstractSet[str], incomplete: int
) -> Dataset:
    """The table of complete rows.

    Args:
        columns: how they were read.
        features: shape (n, d); an array, or in a file.
        y: labels; shape (n,).
        said: some of the labels, at least two if they differ, as they stand in the file.
        incomplete: rows left out.

    Raises:
        InvalidInput: if there is none, all labels are alike, or two of classes are one double.
    """
    path = columns.path
    if not len(features):
        raise no_row(path, incomplete)
    of_classes = len(np.unique(y)) <= 2
    if of_classes and columns.positive is None:
        refuse_alike(path, said)
    columns.check_labels(said)
    return Dataset(
        features=features,
        labels=two_classes(y, str(path)) if of_classes else y,
        names=columns.names,
        source=f"{path}; {columns.said_of(y, said)}{_left_out(incomplete)}",
        label=columns.label,
        classes=columns.classes(y),
        left_out=incomplete,
    )


@dataclass(frozen=True, slots=True)
class Columns:
    """How a row becomes a label and numbers."""

    path: object
    header: tuple[str, ...]
    label: str
    positive: str | None
    categories: Mapping[str, Sequence[str]]
    other: frozenset[str] = frozenset()
    marks: Marks = default(default_factory=Marks)
    of_text: bool = True

    def __post_init__(self) -> None:
        if not self.header:
            raise empty_table(self.path)
        for name in (self.label, *self.categories):
            if name not in self.header:
                raise unknown_name(f"column of {str(self.path)!r}", name, self.header)
        check_names(self.path, self.header)
        if len(self.header) == 1:
            raise label_alone(self.path, self.label, of_text=self.of_text)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers; a category's is column=category."""
        return tuple(
            entry
            for name in self.header
            if name != self.label
            for entry in (self.of_words(name) if name in self.categories else [name])
        )

    def of_words(self, name: str) -> list[str]:
        """Names of the numbers of a column of words."""
        words = [*self.categories[name], *([OTHER] if name in self.other else [])]
        return [f"{name}={word}" for word in words]

    def label_of(self, row: int, fields: Sequence[str]) -> float:
        """The label of a row."""
        field = self.said_label(fields)
        if self.positive is not None:
            return float(field == self.positive)
        hint = f"say which label becomes +1: positive={field!r} (--positive {quote(field)})"
        needed = f"a number as label in column {self.label!r}"
        return self._number(row, self.label, field, needed, hint)

    def _number(self, row: int, name: str, field: str, needed: str, hint: str) -> float:
        plain = self.marks.read(name, field)
        if not plain and field:
            comma = needed.replace("a number", "a number with a decimal comma", 1)
            hint = 'write it so, or say decimal = "." of the column in the schema'
            raise bad_row(self.path, row, comma, field, hint)
        return _number(self.path, row, plain, needed, hint)

    def said_label(self, fields: Sequence[str]) -> str:
        """The label of a row as it stands in the file."""
        return fields[self.header.index(self.label)]

    def lacks(self, fields: Sequence[str], missing: Sequence[str]) -> bool:
        """Whether an entry means "no value" and is none that its column may have."""
        return any(
            field in missing and field not in self.categories.get(name, ())
            for name, field in zip(self.header, fields, strict=True)
            if name != self.label or field != self.positive
        )

    def said_of(self, labels: Array, said: AbstractSet[str]) -> str:
        """Which column became the label, what became +1, and what did not."""
        column, classes = f"label {self.label!r}", self.classes(labels)
        if classes is None:
            return f"{column}, a number"
        if self.positive is not None:
            return (
                f"{column}, +1 is {self.positive!r}, -1 any other ({_some(said - {self.positive})})"
            )
        return f"{column}, +1 is {classes[1]}, -1 is {classes[0]}"

    def classes(self, labels: Array) -> tuple[str, str] | None:
        """What becomes -1 and what +1; None where labels are more than two numbers."""
        if self.positive is not None:
            return "any other", self.positive
        values = np.unique(labels)
        return (word(values[0]), word(values[1])) if len(values) == 2 else None

    def check_labels(self, said: AbstractSet[str]) -> None:
        """Refuse labels that are the column's own name, lack the positive one, or are all alike."""
        known = _some(said)
        column = f"column {self.label!r} of {str(self.path)!r}"
        if self.label in said and not is_number(self.label):
            raise without_names(self.path, self.label, f" ({known})")
        if self.positive is not None and self.positive not in said:
            raise InvalidInput(
                f"expected a label that occurs; got positive={self.positive!r}, which is not in "
                f"{column}; known: {known}; take one of these, spelt as in the file, or name the "
                "label column: --label"
            )
        if len(said) == 1:
            raise InvalidInput(
                f"expected two classes, or numbers that differ; got {known} for every record in "
                f"{column}; one class alone leaves nothing to learn; if the label is another column, "
                "name it: --label"
            )

    def entries(self, row: int, fields: Sequence[str]) -> list[float]:
        """The numbers of a row."""
        found: list[float] = []
        for name, field in zip(self.header, fields, strict=True):
            if name == self.label:
                continue
            known = self.categories.get(name)
            if known is None:
                hint = word_hint(name, field, self.positive, self.said_label(fields))
                found.append(self._number(row, name, field, f"a number in column {name!r}", hint))
                continue
            if field not in known and (refused := self.not_listed(name, field)):
                raise bad_row(self.path, row, f"one of the categories of {name!r}", field, refused)
            found += [float(field == c) for c in known]
            found += [float(field not in known)] if name in self.other else []
        return found

    def not_listed(self, name: str, field: str) -> str:
        """What to try where a value is none of a column's categories; "" if it may be none."""
        return two_readings(field, self.categories[name]) if name in self.other else CATEGORY


CATEGORY = (
    "list every value that the column may have, or make all others one category: with *, such as "
    "A|B|*, or in a schema: {categories = [...], other = true}"
)
"""What to try where a category is none of those that were said."""

NOT_FINITE = "leave the cell empty, and its row is left out"
"""What to try where a cell is a number, but none to compute with."""


_SHOWN = 8
"""Labels that an error lists."""


def _some(labels: AbstractSet[str]) -> str:
    """Labels as they stand in the file, the first few of many."""
    some = ", ".join(repr(text) for text in sorted(labels)[:_SHOWN])
    return some + (", ..." if len(labels) > _SHOWN else "")


def _left_out(incomplete: int) -> str:
    if not incomplete:
        return ""
    return f"; {incomplete} incomplete row{'s' if incomplete > 1 else ''} left out"


def _instead(field: str, of_words: str) -> str:
    """What to try with a cell that is no number, by what it may have been meant as."""
    if looks_like := meant(field):
        return looks_like
    if no_value(field):
        return f"if it means that there is no value, leave the cell empty; if it is one, {of_words}"
    return of_words


def _number(path: object, row: int, field: str, needed: str, try_this: str) -> float:
    if not is_number(field):
        raise bad_row(path, row, needed, field, _instead(field, try_this))
    value = float(field)
    if not math.isfinite(value):
        raise bad_row(
            path, row, needed.replace("a number", "a finite number", 1), field, NOT_FINITE
        )
    return value
