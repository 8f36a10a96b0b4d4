"""What the enclosures assume of a machine's arithmetic, measured on that machine."""

from __future__ import annotations

from collections.abc import Callable

from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.selftest.answers import ANSWERS
from dpcalc.selftest.elementary import ELEMENTARY
from dpcalc.selftest.measurement import Measurement
from dpcalc.selftest.special import SPECIAL
from dpcalc.selftest.sums import SUMS

__all__ = ["CHECKS", "Measurement", "measurements"]

CHECKS: tuple[Callable[[], Measurement], ...] = (*ELEMENTARY, *SUMS, *SPECIAL, *ANSWERS)
"""Every assumption, as a function that measures it; together they take a few seconds."""


@own_arithmetic
def measurements() -> list[Measurement]:
    """Measure every assumption against sixty digits, on seeded points of the range used."""
    return [check() for check in CHECKS]
