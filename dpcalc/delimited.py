"""Tables in delimited text (CSV, TSV): every cell is read, or the file is refused with the line.

Statement
    The first line of content fixes the delimiter and the number of cells; a line with another
    number of cells is an error. Blank lines are left out, and so are lines that begin with ``#``
    where comments are allowed; elsewhere ``#`` is text. A line that can be read as a comment and as
    a row is refused.
Encoding
    UTF-8, with or without a byte-order mark. UTF-16, NUL characters, spreadsheets and other files
    that are no text are refused by name.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from dpcalc import packed
from dpcalc.errors import InvalidInput, shortened
from dpcalc.files import refuse_pipe
from dpcalc.numerals import comma_hint

if TYPE_CHECKING:
    import os

_DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}

REMEMBERED = 1000
"""This many different rows are read once, however often they stand in a table."""

_LONGEST_LINE = 2**24
_LARGEST_FILE = 2**34
"""Bytes, unpacked."""

_SUFFIXES = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods"), "a spreadsheet"),
    **dict.fromkeys((".npy", ".npz"), "a NumPy file"),
    **dict.fromkeys((".feather", ".arrow"), "an Arrow file"),
    **dict.fromkeys((".pkl", ".pickle"), "a pickle"),
    ".parquet": "a Parquet file",
}
_FIRST_BYTES = {
    b"PK\x03\x04": "a spreadsheet or another zip archive",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


class Row(NamedTuple):
    """One line of a table.

    Attributes:
        line: its number in the file, from 1.
        cells: what stands between the delimiters, without the blanks around it.
    """

    line: int
    cells: tuple[str, ...]


def is_separator_note(line: str) -> bool:
    """Whether a line is ``sep=;`` or the like, by which some spreadsheets know the delimiter."""
    return re.fullmatch(r"\s*sep\s*=\s*[^\w\s.]?\s*", line, re.IGNORECASE) is not None


def rows(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    comments: bool = True,
    after: int = 0,
) -> Iterator[Row]:
    """The rows of a table, each as wide as the first; a line of headings is a row like any other.

    Args:
        path: a text file, plain or packed (.xz, .gz, .bz2, .zst).
        delimiter: between cells; comma, semicolon, tab or bar if left out, whichever the first
            line has.
        comments: whether lines that begin with ``#`` are left out; else they are rows.
        after: this many lines at the beginning are left out.

    Raises:
        InvalidInput: if the file is no text, or a line can be read in no way or in two.
    """
    width = 0
    read: dict[str, tuple[str, ...]] = {}
    for number, line in lines(path):
        if number <= after:
            continue
        if line in read:
            yield Row(number, read[line])
            continue
        where = f"line {number} of {str(path)!r}"
        if not line.strip():
            continue
        if comments and line.startswith("#"):
            if _may_be_row(line[1:]):
                raise InvalidInput(
                    f"{where} can be a comment or a row: {shortened(line)!r}; put a blank after the "
                    "# of a comment, or quote the cell that begins with it"
                )
            continue
        if not width and is_separator_note(line):
            raise InvalidInput(
                f"{where} is a note to spreadsheets, {line.strip()!r}, where the first row has to be; "
                "leave the line out"
            )
        delimiter = delimiter or _delimiter(line, where)
        cells = _cells(line, delimiter, where)
        width = width or len(cells)
        if len(cells) != width:
            raise _ragged(where, line, len(cells), width)
        if len(read) < REMEMBERED:
            read[line] = cells
        yield Row(number, cells)


def first_delimiter(path: str | os.PathLike[str]) -> str:
    """The delimiter that the first line of content has."""
    for number, line in lines(path):
        if line.strip():
            return _delimiter(line, f"line {number} of {str(path)!r}")
    return ","


def cells_of(line: str, where: str) -> tuple[str, ...]:
    """The cells of a line that stands for itself; ``where`` names it in errors."""
    return _cells(line, _delimiter(line, where), where)


def lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Line numbers, from 1, and lines of a text file, plain or packed, without their ends.

    Raises:
        InvalidInput: if the file cannot be read, is no UTF-8 text, or is too large.
    """
    import lzma

    file = Path(path)
    refuse_unless_text(file)
    try:
        refuse_pipe(file)
        with packed.opened(file) as raw:
            head = raw.peek(8)[:8]  # type: ignore[attr-defined]  # readers of all three kinds have it
            for start, what in _FIRST_BYTES.items():
                if head.startswith(start):
                    raise _no_text(file, what)
            for start, (what, suffix) in packed.FIRST_BYTES.items():
                if head.startswith(start):
                    raise _packed(file, what, suffix)
            yield from _decoded(raw, str(file))
    except (OSError, EOFError, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(
            f"expected a readable text file, {packed.KINDS}; got {str(file)!r} ({reason})"
        ) from error


def refuse_unless_text(file: Path) -> None:
    """Refuse, by its name alone, a spreadsheet or another file that is no text."""
    what = _SUFFIXES.get(file.suffix.lower())
    if what:
        raise _no_text(file, what)


def _decoded(raw: IO[bytes], name: str) -> Iterator[tuple[int, str]]:
    read, number = 0, 0
    while line := raw.readline(_LONGEST_LINE):
        read, number = read + len(line), number + 1
        where = f"line {number} of {name!r}"
        if len(line) == _LONGEST_LINE or read > _LARGEST_FILE:
            raise InvalidInput(f"{where} is too long, or the file too large, for a table")
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{where} is not UTF-8 text ({error.reason} in column {error.start + 1}); "
                "save the file as UTF-8"
            ) from None
        text = text.removesuffix("\n").removesuffix("\r")
        if "\0" in text:
            raise InvalidInput(
                f"{where} has a NUL character: the file is damaged, or is UTF-16; save it as UTF-8"
            )
        if "\r" in text:
            raise InvalidInput(
                f"{where} has a carriage return inside; end every line with a line feed"
            )
        yield number, text


def _no_text(file: Path, what: str) -> InvalidInput:
    return InvalidInput(
        f"expected a text file; {str(file)!r} is {what}; save it as CSV in UTF-8 and give that file"
    )


def _packed(file: Path, what: str, suffix: str) -> InvalidInput:
    within, hint = "", f"give it a name that ends in {suffix}, such as {file.name + suffix!r}, or "
    if packed.is_packed(file):
        within, hint = f" within its {file.suffix}", ""
    return InvalidInput(
        f"expected a text file, {packed.KINDS}; {str(file)!r} is packed by {what}{within}; {hint}"
        + ("unpack it" if hint else "unpack it, and give the text")
    )


def _cells(line: str, delimiter: str, where: str) -> tuple[str, ...]:
    try:
        (cells,) = csv.reader((line,), delimiter=delimiter, skipinitialspace=True, strict=True)
    except csv.Error as error:
        raise InvalidInput(
            f"{where} cannot be read ({error}); a quote around a cell is closed on its line, and "
            "doubled inside it"
        ) from None
    return tuple(cell.strip() for cell in cells)


def _delimiter(line: str, where: str) -> str:
    """The one delimiter that a line has outside quotes; the comma if it has none."""
    bare = re.sub(r'"(?:[^"]|"")*"', "", line)
    found = [mark for mark in _DELIMITERS if mark in bare]
    if len(found) > 1:
        names = " and ".join(_DELIMITERS[mark] for mark in found)
        raise InvalidInput(
            f"expected one delimiter; {where} has {names}: {shortened(line)!r}; quote the cells in "
            "which one of them is text"
        )
    return found[0] if found else ","


def _may_be_row(tail: str) -> bool:
    """Whether a comment, its ``#`` taken off, looks like a row whose first cell begins with ``#``.

    That is a number, or several cells however many the first line has: a row that lacks one is not
    to be lost, and neither is a line of headings.
    """
    if not tail or tail[0].isspace() or tail[0] == "#":
        return False
    return is_number(tail) or any(mark in tail for mark in _DELIMITERS)


def is_number(text: str) -> bool:
    """Whether a cell is a number in any spelling that Python reads."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def has_commas(text: str) -> bool:
    """Whether a cell would be a number but for its commas: 168,5 or 1,000."""
    return bool(comma_hint(text))


def _ragged(where: str, line: str, got: int, width: int) -> InvalidInput:
    cells = "1 cell" if got == 1 else f"{got} cells"
    return InvalidInput(
        f"{where} has {cells} where the first line has {width}: {shortened(line)!r}; give every line "
        "as many cells, write decimals with a point, and quote a cell that has the delimiter inside"
    )
