"""A schema to fill in: the columns of a table and their kinds, and no value from it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.training.file_kinds import is_array, is_binary, is_table, refuse_misnamed
from dpcalc.training.sources import delimiter_of, last_column

NUMBER, WORDS = "number", "words"
TRUTH = "true or false"
COMMAS = "numbers with commas"
PERCENTAGES = "numbers with percent signs"
TIMES = "dates or times"
POINTS = "numbers whose points may set thousands apart"

_MISSING = ("", "?", "NA")
_EMPTY = {
    NUMBER: "[LOWEST, HIGHEST]",
    WORDS: 'every value it may have: ["A", "B"]; others as one: {categories = ["A"], other = true}',
    TIMES: "dates or times: take it out of the file, or write it as a number: [LOWEST, HIGHEST]",
    COMMAS: "[LOWEST, HIGHEST], once its numbers have decimal points in the file; "
    'of decimal commas: {range = [LOWEST, HIGHEST], decimal = ","}',
    PERCENTAGES: "[LOWEST, HIGHEST], once its numbers have no percent signs in the file",
    TRUTH: "0 is false, 1 is true",
    POINTS: '{range = [LOWEST, HIGHEST], decimal = "."}; "," if points set thousands apart',
}


@dataclass(frozen=True, slots=True)
class Template:
    """Names and kinds of columns.

    Attributes:
        kinds: `NUMBER`, `WORDS`, `TRUTH`, `COMMAS`, `PERCENTAGES`, `POINTS` or `TIMES` by column,
            without the label.
        label: name of the label column.
    """

    kinds: dict[str, str]
    label: str

    def to_toml(self) -> str:
        """The schema to fill in; it is refused as long as a column is empty.

        What is true or false has no other range than that of its type, which is no value.
        """
        keys = {name: _key(name) for name in self.kinds}
        width = max(map(len, keys.values()), default=0)
        lines = [
            f"{keys[name]} = {'[0, 1]' if kind == TRUTH else '[]'}"
            f"{' ' * (width - len(keys[name]))}  # {_EMPTY[kind]}"
            for name, kind in self.kinds.items()
        ]
        return "\n".join(
            [
                "# Public facts about the columns, known without a look at the records.",
                "# Numbers outside their range are clipped to it.",
                *lines,
                f"# {_key(self.label)} is the label; give it a range if it is a number to predict.",
                "",
            ]
        )


def template_of(path: Path, label: str | None = None) -> Template:
    """The columns of a table, and whether every entry of one is a number.

    Args:
        path: CSV, plain or packed; or Parquet, Arrow or .npy, whose columns say what they are.
        label: the label column; the last one if left out.

    Raises:
        InvalidInput: if it is no table, or its first line is a record.
    """
    from dpcalc.algorithms.problems.data.column_names import (
        check_names,
        empty_table,
        label_alone,
        name_again,
        without_names,
    )
    from dpcalc.algorithms.problems.data.marks import Marks
    from dpcalc.delimited import Row, first_delimiter, is_number, rows

    refuse_misnamed(path)
    if is_binary(path):
        return _of_binary(path, label)
    if not is_table(path):
        raise InvalidInput(
            f"expected a CSV file with the names of its columns; got {str(path)!r}; other files "
            'have a range for all of their numbers: "*" = [LOWEST, HIGHEST]'
        )
    label = last_column(path) if label is None else label
    found = rows(path, delimiter=delimiter_of(path), comments=False)
    header = next(found, Row(1, ())).cells
    if not header:
        raise empty_table(path)
    if label not in header:
        raise unknown_name(f"column of {str(path)!r}", label, header)
    check_names(path, header)
    if len(header) == 1:
        raise label_alone(path, label)
    kinds, place = [NUMBER] * len(header), header.index(label)
    semicolons = delimiter_of(path) is None and first_delimiter(path) == ";"
    marks = Marks.of(path, {}, header, semicolons=semicolons)
    for _, cells in found:
        if cells[place] == label and not is_number(label):
            raise without_names(path, label)
        for name, cell in zip(header, cells, strict=True):
            if cell == name and not is_number(name):
                raise name_again(path, name)
            if cell not in _MISSING:
                marks.read(name, cell)
        kinds = [_kind(cell, before) for cell, before in zip(cells, kinds, strict=True)]
    return Template(
        {
            name: POINTS if marks.doubtful.get(name) else kind
            for name, kind in zip(header, kinds, strict=True)
            if name != label
        },
        label,
    )


def _kind(cell: str, before: str) -> str:
    """What a column is of, by what it was before this cell."""
    from dpcalc.algorithms.problems.data.meant import is_comma_number, is_percentage, is_time
    from dpcalc.delimited import is_number

    if before == WORDS or cell in _MISSING or is_number(cell):
        return before
    looks = {TIMES: is_time, COMMAS: is_comma_number, PERCENTAGES: is_percentage}
    found = next((kind for kind, test in looks.items() if test(cell)), WORDS)
    return found if before in (NUMBER, found) else WORDS


def _of_binary(path: Path, label: str | None) -> Template:
    from dpcalc.algorithms.problems.data.array_file import column_names
    from dpcalc.algorithms.problems.data.columnar import column_kinds

    found = dict.fromkeys(column_names(path), "number") if is_array(path) else column_kinds(path)
    label = next(reversed(found), "") if label is None else label
    if label not in found:
        raise unknown_name(f"column of {str(path)!r}", label, found)
    known = {"number": NUMBER, "truth": TRUTH, "time": TIMES, "words": WORDS}
    kinds = {name: known[kind] for name, kind in found.items() if name != label}
    return Template(kinds, label)


def _key(name: str) -> str:
    """A column's name as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
