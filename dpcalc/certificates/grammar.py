"""The grammar of certificates: exact numbers, formulas, whole numbers, tables with known fields.

Depends on the standard library and python-flint alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

from flint import arb

from dpcalc.certificates.laws import Ball

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
        return Fraction(float.fromhex(text))
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


def whole(value: Any, least: int) -> int:
    """A whole number, which stands without quotation marks."""
    need(that=type(value) is int and value >= least, got=value)
    return int(value)


def fields(table: Any, *names: str) -> list[Any]:
    """The values of these fields; there may be no others."""
    need(that=isinstance(table, dict) and set(table) == set(names), got=table)
    return [table[name] for name in names]
