"""The grammar of certificates: exact numbers, whole numbers, tables with known fields.

Depends on the standard library and python-flint alone.
"""

from __future__ import annotations

import re
from fractions import Fraction
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


def number(text: Any) -> Ball:
    """The enclosure of an exact number."""
    value = exact(text)
    return arb(value.numerator) / arb(value.denominator)


def whole(value: Any, least: int) -> int:
    """A whole number, which stands without quotation marks."""
    need(that=type(value) is int and value >= least, got=value)
    return int(value)


def fields(table: Any, *names: str) -> list[Any]:
    """The values of these fields; there may be no others."""
    need(that=isinstance(table, dict) and set(table) == set(names), got=table)
    return [table[name] for name in names]
