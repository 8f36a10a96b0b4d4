"""Names of columns: every column has one of its own, and no record is read as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dpcalc.delimited import is_number
from dpcalc.errors import InvalidInput, shortened

OTHER = "(other)"
"""In place of a value: all that are none of the categories of their column, where they are one more."""


def empty_table(path: object) -> InvalidInput:
    """The error for a table without a first line."""
    return InvalidInput(
        f"expected a header line; got an empty file {str(path)!r}; put the names of the columns in its "
        "first line, and a record in each line below"
    )


def no_row(path: object, incomplete: int) -> InvalidInput:
    """The error for a table without a complete row."""
    why = "which has names of columns alone; add the records"
    if incomplete:
        why = (
            f"whose rows are all incomplete ({incomplete}); take out columns that lack many values"
        )
    return InvalidInput(f"expected at least one complete row; got none in {str(path)!r}, {why}")


def label_alone(path: object, label: str, *, of_text: bool = True) -> InvalidInput:
    """The error for a table whose one column is the label, in a text whose columns may stand apart."""
    between = "put a comma, semicolon, tab or bar between columns, or " if of_text else ""
    return InvalidInput(
        f"expected columns to learn from beside the label in {str(path)!r}; got one column, "
        f"{shortened(label)!r}; {between}add those that the label is to be told by"
    )


def without_names(path: object, label: str, known: str = "") -> InvalidInput:
    """The error for a first line that is a record: its label is one of the column's own."""
    return InvalidInput(
        f"expected a line of column names first in {str(path)!r}; got a label column called {label!r}, "
        f"which is one of its labels{known}; put the names of the columns above the first record"
    )


def name_again(path: object, name: str) -> InvalidInput:
    """The error for a column whose name is one of its own values."""
    return InvalidInput(
        f"expected a line of column names first in {str(path)!r}; got a column called {name!r}, which "
        "is one of its values below; if the first line is a record, put the names of the columns above "
        "it; if it stands there again, take out the second one; if this is its name, give it another"
    )


def check_names(path: object, header: Sequence[str]) -> None:
    """Refuse a name that two columns have, a column without one, and a pandas index."""
    if "" in header:
        raise _no_name(path, header.index("") + 1, len(header))
    refuse_index(path, [name for name in header if re.fullmatch(r"__index_level_\d+__", name)])
    for name in header:
        places = [str(k) for k, other in enumerate(header, 1) if other == name]
        if len(places) > 1:
            hint = "put the names of the columns above the first record"
            raise InvalidInput(
                f"expected every column name once; {str(path)!r} has {name!r} in columns "
                f"{', '.join(places[:-1])} and {places[-1]}; "
                + (hint if is_number(name) else "rename all but one, or take them out")
            )


def refuse_index(path: object, names: Iterable[str]) -> None:
    """Refuse columns that are the index of a pandas table: the last ones, and so the label."""
    for name in names:
        raise InvalidInput(
            f"expected columns of records in {str(path)!r}; got {name!r}, the index of a pandas table, "
            "which can be row numbers or a column; leave it out (to_parquet(index=False)), or make it "
            "a column (reset_index()) with a name of its own"
        )


def _no_name(path: object, place: int, width: int) -> InvalidInput:
    """The error for a column without a name, which can be read in two ways."""
    where = f"expected a name for every column; {str(path)!r} has none in column {place}"
    if place == 1:
        return InvalidInput(
            f"{where}, which can be row numbers, as pandas writes its index, or a feature; leave the "
            "row numbers out (to_csv(index=False)), or give the column a name"
        )
    if place == width:
        return InvalidInput(
            f"{where}, which can be a delimiter at the end of each line or the last column; take the "
            "delimiter off the lines, or give the column a name"
        )
    return InvalidInput(
        f"{where}; give it one, or take the column out; if this line is a record, put the names of the "
        "columns above it"
    )
