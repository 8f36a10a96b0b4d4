"""Probabilities at consecutive points of one lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.losses import UNIT_ROUNDOFF, Reals
from dpcalc.errors import NumericalFailure
from dpcalc.numerics.products import convolution, product

UNDERFLOW_CUTOFF = 1e-154
"""Masses below are left out, unless ones as small matter."""

_VANISHING = 1e-284
"""Products below are left out: those of full precision are fast, and masses that matter are larger."""

_PIECE, _PIECES = 128, 32
"""Sums of products have this many terms at least, and of this many parts at most."""


@dataclass(frozen=True, slots=True)
class Row:
    """Probabilities of the points ``h·(first + k)``.

    Attributes:
        first: the lowest point's number.
        values: the masses, shape (n,); no mass at all if n is 0.
    """

    first: int
    values: Reals

    @property
    def last(self) -> int:
        """The highest point's number."""
        return self.first + len(self.values) - 1

    @property
    def points(self) -> Reals:
        """The points' numbers."""
        return self.first + np.arange(len(self.values), dtype=np.float64)

    def between(self, low: int, high: int) -> Row:
        """What is at the points from ``low`` to ``high``, both included."""
        start = min(max(low - self.first, 0), len(self.values))
        stop = min(max(high + 1 - self.first, start), len(self.values))
        return Row(self.first + start, self.values[start:stop])

    def below(self, number: int) -> Row:
        """What is at points below a number."""
        return self.between(self.first, number - 1)

    def over(self, number: int) -> Row:
        """What is at points above a number."""
        return self.between(number + 1, self.last)


EMPTY = Row(0, np.zeros(0))


def trimmed(row: Row, negligible: float = UNDERFLOW_CUTOFF) -> Row:
    """The row without negligible masses and without empty ends."""
    held = np.flatnonzero(row.values >= negligible)
    if len(held) == 0:
        return EMPTY
    first, last = int(held[0]), int(held[-1])
    values = row.values[first : last + 1]
    return Row(row.first + first, np.where(values < negligible, 0.0, values))


def added(*rows: Row) -> Row:
    """The masses of several rows together."""
    held = [row for row in rows if len(row.values)]
    if len(held) <= 1:
        return held[0] if held else EMPTY
    first, last = min(row.first for row in held), max(row.last for row in held)
    values = np.zeros(last - first + 1)
    for row in held:
        values[row.first - first : row.last - first + 1] += row.values
    return Row(first, values)


def convolved(one: Row, other: Row, most: int, rounding: float) -> Row:
    """The sums of two independent losses up to a highest point, each mass rounded outward.

    Args:
        one: a row.
        other: a row.
        most: number of the highest point wanted.
        rounding: 1 to round masses up, -1 to round them down.
    """
    first = one.first + other.first
    if len(one.values) > len(other.values):
        one, other = other, one
    size = min(len(one.values) + len(other.values) - 1, most - first + 1)
    if len(one.values) == 0 or size <= 0:
        return EMPTY
    values = np.zeros(size)
    step = max(math.ceil(len(one.values) / _PIECES), _PIECE)
    for start in range(0, min(len(one.values), size), step):
        piece = one.values[start : start + step]
        before, whole = _that_count(other.values[: size - start], piece)
        if len(whole):
            part = convolution(piece, whole)[: size - start - before]
            values[start + before : start + before + len(part)] += part
    require_doubles(values)
    terms = min(step, len(one.values)) + len(one.values) // step + 8
    return Row(first, values * (1 + rounding * 1.01 * terms * UNIT_ROUNDOFF))


def require_doubles(masses: Reals) -> None:
    """Refuse masses that are infinite or no numbers: weights may grow without bound."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(masses.sum())
    if not math.isfinite(total):
        raise NumericalFailure("expected masses that are doubles; got larger ones")


def beyond(one: Row, other: Row, most: int) -> float:
    """The mass of the sums of two independent losses above a highest point.

    A product for every loss of one row, with what is far enough up in the other.
    """
    if not len(one.values) or not len(other.values):
        return 0.0
    above = np.append(np.cumsum(other.values[::-1])[::-1], 0.0)
    first = most + 1 - other.first - (one.first + np.arange(len(one.values)))
    return float(product(one.values, above[np.clip(first, 0, len(other.values))]))


def _that_count(values: Reals, piece: Reals) -> tuple[int, Reals]:
    """The masses whose product with the largest of a piece does not vanish, and where they begin."""
    require_doubles(piece)
    require_doubles(values)
    least = _VANISHING / max(float(piece.max()), _VANISHING)
    held = np.flatnonzero(values >= least)
    if len(held) == 0:
        return 0, values[:0]
    kept = values[held[0] : held[-1] + 1]
    return int(held[0]), kept if len(held) == len(kept) else np.where(kept < least, 0.0, kept)


def halved(row: Row, step: float, weight: float, rounding: float) -> Row:
    """The row on every second point of its lattice; P- and Q-mass in between is split and kept.

    Args:
        row: on a lattice of ``step``/2.
        step: of the coarser lattice.
        weight: factor of masses that are split.
        rounding: 1 or -1, as above.
    """
    if len(row.values) == 0:
        return EMPTY
    first = math.floor(row.first / 2)
    values = np.zeros(math.ceil(row.last / 2) - first + 1)
    kept = row.values[row.first % 2 :: 2]
    start = math.ceil(row.first / 2) - first
    values[start : start + len(kept)] += kept
    between = row.values[1 - row.first % 2 :: 2] * weight
    start = math.ceil((row.first - 1) / 2) - first
    right = 1 / (1 + math.exp(-step / 2))
    values[start : start + len(between)] += between * (math.exp(-step / 2) * right)
    values[start + 1 : start + 1 + len(between)] += between * right
    values *= 1 + rounding * 12 * UNIT_ROUNDOFF
    return Row(first, values)
