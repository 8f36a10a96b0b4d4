"""Outward rounding for sums and products of doubles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.numerals import remainder

Extended = np.longdouble
"""The widest hardware float: 64 significant bits on x86, 53 or 113 elsewhere."""


def sum_up(terms: Iterable[float]) -> float:
    """The smallest double not below the exact sum, up to one unit in the last place.

    ``math.fsum`` is correctly rounded, so one step up covers its error.
    """
    total = math.fsum(terms)
    return math.nextafter(total, math.inf) if math.isfinite(total) else total


def inflate(value: np.floating, operations: int) -> float:
    """Round up a non-negative result of ``operations`` extended-precision operations.

    Every operation commits a relative error of at most one unit roundoff, so the product of all of
    them is covered by ``2 * operations * eps`` while that is small; the conversion to double is
    rounded up as well.

    Args:
        value: a non-negative number of type `Extended`.
        operations: an upper bound of the operations on the longest path to ``value``.
    """
    slack = Extended(2 * operations) * np.finfo(Extended).eps
    widened = value * (Extended(1) + slack)
    result = float(widened)
    return result if Extended(result) >= widened else math.nextafter(result, math.inf)


def deflate(value: np.floating, operations: int) -> float:
    """Round down a non-negative result; the mirror of `inflate`."""
    slack = Extended(2 * operations) * np.finfo(Extended).eps
    narrowed = value * (Extended(1) - slack)
    result = float(narrowed)
    return max(0.0, result if Extended(result) <= narrowed else math.nextafter(result, -math.inf))


def enclose_all(
    low: NDArray[np.longdouble], high: NDArray[np.longdouble], operations: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`deflate` of the first and `inflate` of the second, element by element."""
    slack = Extended(2 * operations) * np.finfo(Extended).eps
    narrowed, widened = low * (Extended(1) - slack), high * (Extended(1) + slack)
    down, up = narrowed.astype(np.float64), widened.astype(np.float64)
    down = np.where(down.astype(Extended) <= narrowed, down, np.nextafter(down, -np.inf))
    up = np.where(up.astype(Extended) >= widened, up, np.nextafter(up, np.inf))
    return np.maximum(down, 0.0), up


def extended(values: object) -> NDArray[np.longdouble]:
    """``values`` as an array of the widest hardware float.

    `numerals.Written` numbers are taken as written, with a relative error of at most one unit
    roundoff each: count one operation for each of them in `inflate`.
    """
    return np.asarray(values, dtype=Extended) + np.asarray(_remainders(values), dtype=Extended)


def _remainders(values: object) -> Any:
    """What the doubles of ``values`` lack of the numbers that were written; the same shape, or 0."""
    if isinstance(values, list | tuple):
        return [_remainders(value) for value in values]
    return remainder(values) if isinstance(values, float) else 0.0
