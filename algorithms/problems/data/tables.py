"""Any table in a CSV file: numbers as they are, categories as 0-1 columns."""

from __future__ import annotations

import csv
import math
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
    known = dict(categories or {})
    reader = csv.reader((line for _, line in lines(path)), delimiter=delimiter)
    header = [name.strip() for name in next(reader, [])]
    for name in (label, *known):
        if name not in header:
            raise unknown_name(f"column of {str(path)!r}", name, header)
    names = [
        entry
        for name in header
        if name != label
        for entry in ([f"{name}={c}" for c in known[name]] if name in known else [name])
    ]
    features, labels, incomplete = [], [], 0
    for number, row in enumerate(reader, start=2):
        if not row:
            continue
        fields = [field.strip() for field in row]
        if len(fields) != len(header):
            raise bad_row(path, number, f"{len(header)} fields", delimiter.join(row))
        if any(field in missing for field in fields):
            incomplete += 1
            continue
        entries: list[float] = []
        for name, field in zip(header, fields, strict=True):
            if name == label:
                labels.append(_label(path, number, field, positive))
            elif name in known:
                if field not in known[name]:
                    raise bad_row(path, number, f"one of the categories of {name!r}", field)
                entries += [float(field == c) for c in known[name]]
            else:
                entries.append(_number(path, number, field))
        features.append(entries)
    if not features:
        raise InvalidInput(f"at least one complete row was needed; got none in {str(path)!r}")
    y = np.array(labels)
    return Dataset(
        features=np.array(features),
        labels=two_classes(y, str(path)) if len(np.unique(y)) == 2 else y,
        names=tuple(names),
        source=f"{path}; {incomplete} incomplete rows left out",
    )


def _label(path: object, number: int, field: str, positive: str | None) -> float:
    return _number(path, number, field) if positive is None else float(field == positive)


def _number(path: object, number: int, field: str) -> float:
    try:
        value = float(field)
    except ValueError as error:
        needed = "a number (or give the column's categories)"
        raise bad_row(path, number, needed, field) from error
    if not math.isfinite(value):
        raise bad_row(path, number, "a finite number", field)
    return value
