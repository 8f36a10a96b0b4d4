"""Scores of runs recorded elsewhere, read from delimited text: every value, or an error."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.targets.exact_numbers import exact_scores
from dpcalc.delimited import Row, cells_of, is_number, lines, rows
from dpcalc.errors import InvalidInput, shortened
from dpcalc.files import refuse_pipe

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

Array = NDArray[np.float64]

MEMBER = "member"
"""Heading of the column that says whether a run had the record."""

_WORDS = {
    **dict.fromkeys(("1", "true", "yes", "in"), True),
    **dict.fromkeys(("0", "false", "no", "out"), False),
}

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_WHOLE = 2.0**53
"""Whole numbers up to here are doubles."""

_SPLIT = re.compile(r"[,;\t|]")

_HEADING = re.compile(r"#?\s*[^\W\d_]{2}[\w ()/%-]*")
"""Two letters first, and no point: a damaged number is hardly ever one."""


def read_scores(path: str | os.PathLike[str], *, column: str | None = None) -> Array:
    """One score per run.

    The first line may have headings: words, all of them. A line that is neither headings nor
    numbers, such as a damaged first score, is refused, and so is every other line that is not a
    score in each of its places.

    Example::

        import tempfile
        from pathlib import Path
        import numpy as np
        from dpcalc.auditing import read_scores
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "in.csv"
            np.savetxt(path, [0.5, 1.5])
            print(read_scores(path))

    Args:
        path: delimited text, see `dpcalc.delimited`; or a NumPy array of shape (runs,) in a file
            ending in .npy, which stays on the disk and is mapped into memory where it is looked at.
        column: heading of the column, or its number from 1 in a file without headings; needed if
            there are several.

    Returns:
        Numbers, shape (runs,); infinite ones as ``inf`` or ``-inf``.

    Raises:
        InvalidInput: if the file cannot be read, with the line.
    """
    if Path(path).suffix.lower() == ".npy":
        return _mapped(path, column)
    names, found = _table(path, column)
    index = _chosen(column, names, str(path))
    scores = np.fromiter((_score(row, index, str(path)) for row in found), dtype=np.float64)
    if not len(scores):
        raise InvalidInput(f"expected at least one score; {str(path)!r} has none")
    return scores


def read_labelled_scores(
    path: str | os.PathLike[str], *, column: str | None = None, member: str = MEMBER
) -> tuple[Array, Array]:
    """Scores of runs with the record, and of runs without it, from one file with headings.

    Args:
        path: delimited text, see `dpcalc.delimited`.
        column: heading of the scores; needed if there are several besides ``member``.
        member: heading of the column that says whether a run had the record: 1 or 0, true or false,
            yes or no, in or out.

    Raises:
        InvalidInput: if the file cannot be read, with the line.
    """
    names, found = _table(path, column)
    of_member = _place(member, names)
    if of_member is None:
        raise InvalidInput(
            f"expected two files of scores, or one with a column {member!r} (1 with the record, "
            f"0 without); {str(path)!r} has {', '.join(names)}"
        )
    others = [name for name in names if name != names[of_member]]
    if not others:
        raise InvalidInput(f"expected a column of scores; {str(path)!r} has {member} alone")
    index = names.index(others[_chosen(column, others, str(path))])
    scores: dict[bool, list[float]] = {True: [], False: []}
    for row in found:
        said = row.cells[of_member].lower()
        if said not in _WORDS:
            raise InvalidInput(
                f"{_where(row, str(path))}: {member} needs 1 or 0; got {shortened(said)!r}"
            )
        scores[_WORDS[said]].append(_score(row, index, str(path)))
    return np.array(scores[True]), np.array(scores[False])


def refuse_two_with_members(first: str, second: str) -> None:
    """Raise `InvalidInput` for two files each of which says of every run whether it had the record."""
    for path in (first, second):
        if Path(path).suffix.lower() == ".npy":
            return
        row = next(rows(path, comments=False, after=_comment_lines(path)), None)
        names = [cell.removeprefix("#").strip() for cell in row.cells] if row else []
        if _place(MEMBER, names) is None:
            return
    raise InvalidInput(
        f"expected scores of runs with the record and of runs without it; got {first!r} and "
        f"{second!r}, both with a column {MEMBER!r} of its own; give one of them alone, or leave that "
        "column out of both"
    )


def _mapped(path: str | os.PathLike[str], column: str | None) -> Array:
    """The scores of a NumPy file, mapped into memory and looked through block by block."""
    if column is not None:
        raise InvalidInput(f"--column goes with text; {str(path)!r} is one NumPy array")
    refuse_pipe(path)
    try:
        scores = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        raise InvalidInput(f"expected a NumPy array; got {str(path)!r} ({error})") from error
    if scores.ndim != 1 or scores.dtype.kind != "f" or not len(scores):
        raise InvalidInput(
            f"expected one floating-point number per run, shape (runs,); {str(path)!r} has shape "
            f"{scores.shape} of {scores.dtype}"
        )
    for start in range(0, len(scores), _BLOCK):
        block = scores[start : start + _BLOCK]
        try:
            lost = np.flatnonzero(np.isnan(exact_scores(block)))
        except InvalidInput as error:
            raise InvalidInput(f"{str(path)!r}: {error}") from error
        if len(lost):
            raise InvalidInput(
                f"expected scores; number {start + int(lost[0]) + 1} of {str(path)!r} is NaN; "
                "dropping runs would bias the bound, so give them a score of their own, such as -inf"
            )
    return scores


_BLOCK = 2**20


def _table(path: str | os.PathLike[str], column: str | None) -> tuple[list[str], Iterator[Row]]:
    """The headings, or numbers in their place, and the rows below."""
    found = rows(path, comments=False, after=_comment_lines(path))
    first = next(found, None)
    if first is None:
        raise InvalidInput(f"expected at least one score; {str(path)!r} is empty")
    names = [cell.removeprefix("#").strip() for cell in first.cells]
    if all(is_number(cell) for cell in first.cells):
        return [str(k) for k in range(1, len(names) + 1)], _with(first, found)
    if not all(cell == column or _HEADING.fullmatch(cell) for cell in first.cells) or any(
        is_number(name) for name in names
    ):
        raise InvalidInput(
            f"expected numbers, or a heading for every column in {_where(first, str(path))}; got "
            f"{shortened(', '.join(first.cells))!r}; a heading is a word of two letters or more"
        )
    again = [name for k, name in enumerate(names) if name in names[:k]]
    if again:
        raise InvalidInput(
            f"expected every heading once in {_where(first, str(path))}; got {again[0]!r} again"
        )
    return names, found


def _comment_lines(path: str | os.PathLike[str]) -> int:
    """How many lines at the beginning are comments.

    They begin with ``#``. The last of them is the line of headings if the first line after it has
    numbers, as many as it has words, such as ``np.savetxt`` writes it.
    """
    comments: list[tuple[int, str]] = []
    for number, line in lines(path):
        words = _SPLIT.split(line.removeprefix("#"))
        if line.startswith("#") and not all(map(is_number, words)):
            comments.append((number, line))
        elif comments and line.strip():
            cells = cells_of(line, f"line {number} of {str(path)!r}")
            width = len(_SPLIT.split(comments[-1][1]))
            headings = all(map(is_number, cells)) and width == len(cells)
            comments = comments[:-1] if headings else comments
            break
        elif line.strip():
            break
    return comments[-1][0] if comments else 0


def _place(wanted: str, names: list[str]) -> int | None:
    """Where a heading stands, capitals aside if they are no help; None if nowhere."""
    if wanted in names:
        return names.index(wanted)
    alike = [k for k, name in enumerate(names) if name.casefold() == wanted.strip().casefold()]
    return alike[0] if len(alike) == 1 else None


def _with(first: Row, rest: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rest


def _where(row: Row, path: str) -> str:
    return f"line {row.line} of {path!r}"


def _score(row: Row, index: int, path: str) -> float:
    cell = row.cells[index]
    if not is_number(cell):
        tip = "; write decimals with a point" if "," in cell else ""
        raise InvalidInput(f"expected a score in {_where(row, path)}; got {shortened(cell)!r}{tip}")
    value = float(cell)
    if math.isnan(value):
        raise InvalidInput(
            f"expected a score in {_where(row, path)}; got {cell!r}; dropping runs would bias the "
            "bound, so give them a score of their own, such as -inf"
        )
    if not _is_kept(cell, value):
        raise InvalidInput(
            f"expected a score that a double holds in {_where(row, path)}; got {shortened(cell)!r}, "
            f"read as {value!r}; write inf for infinity, no _ between digits, and whole numbers "
            "beyond 2^53 in parts"
        )
    return value


def _is_kept(cell: str, value: float) -> bool:
    """Whether a number is what was written, decimals to the nearest double.

    An overflow, an underflow and a whole number that is rounded are something else, and so may be
    ``1_000``.
    """
    digits = cell.lower().partition("e")[0]
    if "_" in cell or (math.isinf(value) and any(d.isdigit() for d in digits)):
        return False
    if value == 0:
        return not any(d in "123456789" for d in digits)
    return abs(value) <= _WHOLE or not _INTEGER.fullmatch(cell.strip()) or int(cell) == value


def _chosen(column: str | None, names: list[str], path: str) -> int:
    """Which column is meant."""
    if column is None and len(names) == 1:
        return 0
    listed = ", ".join(names)
    if column is None and is_number(names[0]):
        raise InvalidInput(
            f"expected one column; {path!r} has {len(names)} without headings; decimals have a point, "
            "not a comma; of several scores to a run name one by its number, with --column"
        )
    if column is None:
        raise InvalidInput(
            f"expected one column; {path!r} has {len(names)}: {listed}; name one with column, "
            f"--column {names[-1]} on the command line"
        )
    place = _place(column or "", names)
    if place is None:
        raise InvalidInput(f"expected a column {column!r}; {path!r} has {listed}")
    return place
