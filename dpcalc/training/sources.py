"""Where data come from: generated, fetched, or read from a file of any kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dpcalc.errors import InvalidInput, shortened
from dpcalc.training.file_kinds import is_adult, is_array, is_binary, is_table, refuse_misnamed
from dpcalc.training.schema import Schema

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.data.dataset import Dataset
    from dpcalc.algorithms.problems.data.parts import TableParts

BUILT_IN = ("builtin", "builtin-regression")
"""Generated, the same on every machine."""

FETCHED = ("adult", "a9a", "a8a", "ijcnn1")
"""Fetched from OpenML by scikit-learn once, then taken from its cache."""

_RECORDS, _FEATURES = 6000, 10


def built_in(name: str) -> Dataset:
    """One of `BUILT_IN`."""
    from dpcalc.algorithms.problems import builtin
    from dpcalc.algorithms.problems.data.dataset import Dataset

    kind = builtin.regression if name.endswith("regression") else builtin.classification
    records = kind(_RECORDS, _FEATURES)
    return Dataset(
        features=records.features,
        labels=records.labels,
        names=tuple(f"x{k}" for k in range(_FEATURES)),
        source=f"{name}, {_RECORDS} generated records",
    )


def from_path(
    path: Path,
    label: str | None,
    positive: str | None,
    schema: Schema,
    features: int | None,
    *,
    sparse: bool = False,
) -> Dataset:
    """What a file or a folder holds, told by its name."""
    from dpcalc.algorithms.problems.data import adult, libsvm, tables
    from dpcalc.algorithms.problems.data.parts import collected
    from dpcalc.delimited import refuse_unless_text

    refuse_misnamed(path)
    if is_adult(path):
        return adult.load_adult(path)
    if is_binary(path):
        return collected(parts_of(path, label, positive, schema))
    refuse_unless_text(path)
    if is_table(path):
        column = last_column(path) if label is None else label
        return tables.load_table(
            path,
            column,
            categories=schema.categories,
            other=schema.other,
            positive=positive,
            delimiter=delimiter_of(path),
            decimal=schema.decimal,
        )
    return libsvm.load_libsvm(
        path, features=features, classes=None, positive=positive, sparse=sparse
    )


def parts_of(path: Path, label: str | None, positive: str | None, schema: Schema) -> TableParts:
    """How a .npy, Parquet or Arrow file is read in blocks.

    Raises:
        InvalidInput: for decimal marks, and categories of columns that are numbers anyway.
    """
    from dpcalc.algorithms.problems.data.array_file import array_parts
    from dpcalc.algorithms.problems.data.columnar import columnar_parts

    refuse_misnamed(path)
    if schema.decimal:
        raise one_reading(path)
    if not is_array(path):
        known, other = schema.categories, schema.other
        return columnar_parts(path, label, categories=known, other=other, positive=positive)
    if schema.categories:
        raise InvalidInput(
            f"categories need columns of words; got numbers in {str(path)!r}; leave out the categories"
        )
    return array_parts(path, label, positive=positive)


def one_reading(name: object) -> InvalidInput:
    """The error for a decimal mark of numbers that are no text."""
    return InvalidInput(
        "expected a CSV file for numbers with a decimal mark of their own; got "
        f"data={str(name)!r}, whose numbers have one reading; leave out decimal"
    )


def delimiter_of(path: Path) -> str | None:
    """The delimiter that a file's name says, if any."""
    return "\t" if ".tsv" in map(str.lower, path.suffixes) else None


def last_column(path: Path) -> str:
    """Name of the last column.

    A first line with a number can be a record, which would be lost without a word; it is refused
    unless its numbers count the columns, as pandas writes columns without names.
    """
    from dpcalc.algorithms.problems.data.column_names import empty_table
    from dpcalc.delimited import Row, is_number, rows

    delimiter = delimiter_of(path)
    header = next(rows(path, delimiter=delimiter, comments=False), Row(1, ())).cells
    if not header:
        raise empty_table(path)
    if len(header) == 1:
        between = "a tab, as .tsv says," if delimiter else "a comma, semicolon, tab or bar"
        raise InvalidInput(
            f"expected columns and a label in the first line of {str(path)!r}; got one column, "
            f"{shortened(header[0])!r}; put {between} between columns"
        )
    counted = len(header) > 2 and all(
        name == str(k) for k, name in enumerate(header) if is_number(name)
    )
    if any(map(is_number, header)) and not counted:
        shown = (delimiter or ",").join(
            header if len(header) < 6 else [*header[:2], "...", *header[-2:]]
        )
        raise InvalidInput(
            f"expected a line of column names first in {str(path)!r}; got {shown!r}, which looks "
            "like a record; put the names of the columns above it, or, if these are the names, say "
            f"which one is the label: --label {header[-1]}"
        )
    return header[-1]


def fetched(fetch: Callable[[], Dataset], name: str) -> Dataset:
    """One of `FETCHED`, by its own fetcher."""
    import urllib.error
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one per retry; the last failure is an error below
            data = fetch()
    except (OSError, urllib.error.URLError) as error:
        reason = getattr(error, "reason", error)
        raise InvalidInput(
            f"expected a connection to OpenML for data={name!r}; got {reason}; "
            "give the path of the file instead"
        ) from error
    return data
