"""Numbers in sentences: lower bounds rounded down, claims up, a confidence never to one."""

from __future__ import annotations

import math
from decimal import Context

from dpcalc.numerals import spelt, unpadded

_SIX_DIGITS = Context(prec=6)
_LARGE = 10**16
"""Whole numbers from here on are rounded."""


def at_least(value: float, digits: int = 4) -> str:
    """A lower bound to a few significant digits, not above it."""
    if value == 0 or not math.isfinite(value):
        return spelt(value)
    text = f"{value:.{digits}g}"
    if float(text) <= value:
        return unpadded(text)
    step = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return spelt(value - step / 2, digits)


def at_most(value: float, digits: int = 4) -> str:
    """A claimed or certified bound to a few significant digits, not below it.

    Noise in the last double is no reason to round up.
    """
    return at_least(-value * (1 - 1e-12), digits).removeprefix("-") if value else "0"


def confidence(alpha: float) -> str:
    """1 - α, written as such where its digits would run out."""
    return f"{1 - alpha:.6g}" if alpha >= 1e-4 else f"1 - {spelt(alpha, 3)}"


def runs_text(runs: int) -> str:
    """A number of runs in words: 1 run, 2 runs, 2,000 runs."""
    return f"{runs:,} {'run' if runs == 1 else 'runs'}"


def spelt_count(count: int) -> str:
    """A whole number as people write it: 1,000,000; from 10¹⁶ on to six digits, 1e300."""
    if count < _LARGE:
        return f"{count:,}"
    few = _SIX_DIGITS.create_decimal(count).normalize(_SIX_DIGITS)
    return f"{few:e}".replace("e+", "e")
