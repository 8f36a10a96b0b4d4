"""Cells that are no numbers as they are written, but were meant as one: what they look like."""

from __future__ import annotations

import re
from shlex import quote

from dpcalc.delimited import has_commas, is_number

_DAY = r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2}))"
_HOUR = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
_ZONE = r"(?: ?(?:Z|UTC|[AaPp][Mm]|[+-]\d{2}:?\d{2}))?"
_TIME = re.compile(rf"(?:{_DAY}(?:[T ]{_HOUR}{_ZONE})?|{_HOUR}{_ZONE})")
_GROUPS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3}){2,}")
_POINTS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+")

_PERCENT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+) ?%", re.ASCII)

NUMBERED = "take it out, or write it as a number, such as days since a fixed day"
"""What to do with a column of dates or times."""


def is_time(cell: str) -> bool:
    """Whether a cell looks like a date, a time of day, or both."""
    return bool(_TIME.fullmatch(cell))


def is_comma_number(cell: str) -> bool:
    """Whether a cell is a number but for its commas: 168,5 or 1,000 or 10.986,49."""
    return has_commas(cell) or bool(_POINTS.fullmatch(cell))


def is_percentage(cell: str) -> bool:
    """Whether a cell is a number but for its percent sign: 79% or 0.5 %."""
    return bool(_PERCENT.fullmatch(cell))


def meant(cell: str) -> str:
    """What a cell looks like and what to do with its column; "" if it looks like nothing known."""
    if is_time(cell):
        return f"the column looks like dates or times: {NUMBERED}"
    if _GROUPS.fullmatch(cell):
        return (
            "the column looks like whole numbers whose points set thousands apart: leave the points "
            'out, or say decimal = "," of it in a schema'
        )
    if is_percentage(cell):
        return "the column looks like numbers with percent signs: write them without the sign"
    if _POINTS.fullmatch(cell) or (has_commas(cell) and not re.search(r",\d{3}(?:\D|$)", cell)):
        return (
            "the column looks like numbers with a decimal comma: write them with a decimal point, and "
            'thousands without a mark, or say decimal = "," of it in a schema'
        )
    if has_commas(cell):
        return (
            "the column looks like numbers with commas, which can be decimals or set thousands apart: "
            "write decimals with a point, and thousands without a mark"
        )
    return ""


def word_hint(name: str, field: str, positive: str | None, label: str) -> str:
    """What to try with a word in a column without categories, which may be the label itself.

    Args:
        name: of the column.
        field: the word.
        positive: the label that becomes +1, if it was said.
        label: of the same row.
    """
    listed = (
        f"list the values that it may have: --categories {quote(name + '=A|B|C')}, or a "
        "schema, which dpcalc schema prints to fill in"
    )
    elsewhere = positive is not None and not is_number(positive) and is_number(label)
    if field == positive or elsewhere:
        return f"if {name!r} is the label, say so: --label {quote(name)}; else {listed}"
    return listed
