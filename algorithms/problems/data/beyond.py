"""Values beyond a column's categories, where all of them are one category more."""

from __future__ import annotations

from collections.abc import Sequence

from dpcalc.delimited import is_number

__all__ = ["REST", "no_value", "two_readings"]

REST = "*"
"""In place of a name or a value: all others, where somebody lists columns or values."""

_NO_VALUE = ("null", "none", "n/a", "#n/a", "nil", "missing", ".", "-", "--")
"""Cells, in lower case, by which other programs mean "no value"."""


def no_value(cell: str) -> bool:
    """Whether a cell may mean that there is no value."""
    return cell.lower() in _NO_VALUE


def two_readings(cell: str, known: Sequence[str]) -> str:
    """What to do with a cell that may be a category after all, or no value; "" if it is neither.

    Args:
        cell: a value that is none of the categories.
        known: the categories.
    """
    for word in known:
        if _read(word) == _read(cell):
            return (
                f"it can be {word!r} written in another way or another value; write it as {word!r}, or "
                "list it as a category of its own"
            )
    if cell == REST:
        return (
            "it can be another value or stand for all of them; write it in another way, or, if it is a "
            f'category of its own, list it in a schema: {{categories = ["{REST}"], other = true}}'
        )
    if no_value(cell) or cell.lower() == "nan":
        return (
            "it can be another value or mean that there is none; leave the cell empty, and its row is "
            "left out, or list it as a category of its own"
        )
    return ""


def _read(word: str) -> str | float:
    """A value without what seldom tells two apart: its case, blanks, and how a number is written."""
    return float(word) if is_number(word) else " ".join(word.split()).casefold()
