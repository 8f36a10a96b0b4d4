"""Any table in a CSV file: numbers as they are, categories as 0-1 columns."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.algorithms.problems.data.dataset import Dataset, bad_row, lines, two_classes
from dpcalc.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


def load_table(
    path: str | os.PathLike[str],
    label: str,
    *,
    categories: Mapping[str, Sequence[str]] | None = None,
    positive: str | None = None,
    missing: Sequence[str] = ("", "?", "NA"),
    delimiter: str = ",",
) -> Dataset:
    """Read a CSV file with a header line, plain, .xz or .gz.

    Columns keep their scale; `records.bounded_rows` brings rows to a bounded norm.

    Args:
        path: the file.
        label: name of the label column.
        categories: for every column that is not numeric, the categories it may have. They are a
            public fact: a list taken from the data would be a look at the data.
        positive: the label value that becomes +1, all others -1; without it the labels are numbers,
            and two distinct ones become -1 and +1.
        missing: entries that mean "no value"; rows with one are left out.
        delimiter: between the fields.

    Raises:
        InvalidInput: if a row has too few fields, or an entry is neither number nor category.
    """
    reader = csv.reader((line for _, line in lines(path)), delimiter=delimiter)
    header = tuple(name.strip() for name in next(reader, []))
    columns = _Columns(path, header, label, positive, dict(categories or {}))
    features, labels, incomplete = [], [], 0
    for number, row in enumerate(reader, start=2):
        fields = [field.strip() for field in row]
        if fields and len(fields) != len(header):
            raise bad_row(path, number, f"a row of {len(header)} fields", delimiter.join(row))
        if any(field in missing for field in fields):
            incomplete += 1
        elif fields:
            labels.append(columns.label_of(number, fields))
            features.append(columns.entries(number, fields))
    if not features:
        raise InvalidInput(f"at least one complete row was needed; got none in {str(path)!r}")
    y = np.array(labels)
    return Dataset(
        features=np.array(features),
        labels=two_classes(y, str(path)) if len(np.unique(y)) == 2 else y,
        names=columns.names,
        source=f"{path}; {incomplete} incomplete rows left out",
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """How a row becomes a label and numbers."""

    path: object
    header: tuple[str, ...]
    label: str
    positive: str | None
    categories: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        for name in (self.label, *self.categories):
            if name not in self.header:
                raise unknown_name(f"column of {str(self.path)!r}", name, self.header)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers; a category's is column=category."""
        known = self.categories
        return tuple(
            entry
            for name in self.header
            if name != self.label
            for entry in ([f"{name}={c}" for c in known[name]] if name in known else [name])
        )

    def label_of(self, row: int, fields: Sequence[str]) -> float:
        """The label of a row."""
        field = fields[self.header.index(self.label)]
        if self.positive is not None:
            return float(field == self.positive)
        return _number(self.path, row, field, "a number as label (or the value that is positive)")

    def entries(self, row: int, fields: Sequence[str]) -> list[float]:
        """The numbers of a row."""
        found: list[float] = []
        for name, field in zip(self.header, fields, strict=True):
            if name == self.label:
                continue
            known = self.categories.get(name)
            if known is None:
                needed = f"a number in column {name!r} (or the categories that it may have)"
                found.append(_number(self.path, row, field, needed))
            elif field in known:
                found += [float(field == c) for c in known]
            else:
                raise bad_row(self.path, row, f"one of the categories of {name!r}", field)
        return found


def _number(path: object, row: int, field: str, needed: str) -> float:
    try:
        value = float(field)
    except ValueError as error:
        raise bad_row(path, row, needed, field) from error
    if not math.isfinite(value):
        raise bad_row(path, row, "a finite number", field)
    return value
