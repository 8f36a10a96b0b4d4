"""The grammar of certificates: exact numbers, formulas, whole numbers, tables with known fields.

Depends on the standard library and python-flint alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

from flint import arb, ctx

from dpcalc.certificates.balls import Ball
from dpcalc.certificates.meter import function, left, spend

DECIMAL = r"\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?"
NUMBER = re.compile(rf"({DECIMAL})(?:/({DECIMAL}))?", re.ASCII)
DOUBLE = re.compile(r"0x[01](?:\.[0-9a-f]{1,13})?p[+-]?\d{1,4}", re.ASCII)


class Refused(Exception):
    """What the file says is not verified."""


def need(*, that: Any, got: Any) -> None:
    """Refuse the file unless ``that`` is true."""
    if that is not True:
        raise Refused(f"this is not valid here: {got!r:.60}")


def exact(text: Any) -> Fraction:
    """A decimal, a ratio of decimals, or a double in hexadecimal, in quotation marks."""
    need(that=isinstance(text, str) and len(text) < 1000, got=text)
    if DOUBLE.fullmatch(text):
        digits, power = text[2:].split("p")
        head, _, rest = digits.partition(".")
        known = Fraction(int(head + rest, 16)) * Fraction(2) ** (int(power) - 4 * len(rest))
        need(that=known == float.fromhex(text), got=text)  # next to 0 others are rounded to doubles
        return known
    found = NUMBER.fullmatch(text)
    if found is None or Fraction(found[2] or 1) == 0:
        raise Refused(f"{text!r:.60} is no number")
    return Fraction(found[1]) / Fraction(found[2] or 1)


BINARY: dict[str, Callable[[Ball, Ball], Ball]] = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "product": lambda a, b: a * b,
    "quotient": lambda a, b: a / b,
    "power": lambda a, b: a**b,
    "least": lambda a, b: a.min(b),
    "greatest": lambda a, b: a.max(b),
}
UNARY: dict[str, Callable[[Ball], Ball]] = {"size": abs, "ln": lambda a: a.log()}


def number(value: Any) -> Ball:
    """The enclosure of an exact number, or of a formula: [operation, operand, ...], from the left."""
    if not isinstance(value, list):
        known = exact(value)
        return arb(known.numerator) / arb(known.denominator)
    need(that=len(value) > 1 and isinstance(value[0], str), got=value)
    first, *more = map(number, value[1:])
    operation = BINARY.get(value[0])
    if operation is not None:
        found = reduce(operation, more, first)
    else:
        need(that=value[0] in UNARY and not more, got=value)
        found = UNARY[value[0]](first)
    need(that=bool(found.is_finite()), got=value)
    return found


def whole(value: Any, least: int, most: int) -> int:
    """A whole number, which stands without quotation marks."""
    if type(value) is not int or not least <= value <= most:
        raise Refused(f"expected a whole number from {least:,} to {most:,}; got {value!r:.60}")
    return value


def fields(table: Any, *names: str) -> list[Any]:
    """The values of these fields; there may be no others."""
    need(that=isinstance(table, dict) and set(table) == set(names), got=table)
    return [table[name] for name in names]


ROWS, NODES, BITS, WORK = 5_000, 200_000, 10_000, 100
"""The most there may be: of a table, of a line, of precision; of seconds while evidence is sought."""

Relation = tuple[str, bool]
"""The neighbouring relation, and whether P is the law without the record."""

RELATIONS = "add-remove", "replace-one", "neighbouring-functions", ""


def in_range(value: Any, least: Any, most: Any = None) -> Ball:
    """A number that is certainly not below ``least``, and below ``most``."""
    found = number(value)
    need(that=bool(found >= least and (most is None or found < most)), got=value)
    return found


def at_least(least: Any) -> Callable[[Any], Ball]:
    """Reads a number that is certainly not below ``least``."""
    return lambda value: in_range(value, least)


def positive(value: Any, most: Any = None) -> Ball:
    """A number that is certainly above 0, and below ``most``."""
    need(that=bool(number(value) > 0), got=value)
    return in_range(value, 0, most)


def table(rows: Any, *columns: Callable[[Any], Ball]) -> list[tuple[Ball, ...]]:
    """Rows of numbers."""
    need(that=isinstance(rows, list) and 0 < len(rows) <= ROWS, got=rows)
    need(that=all(isinstance(row, list) and len(row) == len(columns) for row in rows), got="row")
    return [tuple(read(x) for read, x in zip(columns, row, strict=True)) for row in rows]


def work_is_limited(exponentials: float) -> None:
    """Refuse what would take too long; of a certificate, as far as it is not expected of it."""
    time = exponentials * 5 * function(ctx.prec)
    spend(time)
    if left() == math.inf and time > WORK * 1e6:
        raise Refused(
            "what the evidence asks for would take too long to compute: about "
            f"{time / 1e6:,.0f} s, where at most {WORK:,} s are spent"
        )
