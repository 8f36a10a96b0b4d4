"""Noise on a lattice around a value that is not: the phase gives the value away.

Rounded noise, or noise drawn in a lower precision than the value it is added to, puts every release
of one world on one lattice, moved against that of the other world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LOOKED_AT = 200  # runs per world from which a pitch is found
_MOST_NUMBERS = 64
_ROUNDING = 8 * float(np.finfo(float).eps)
_SMALLEST = 20  # gaps between neighbours for Euclid's algorithm
_POWERS = np.concatenate([2.0 ** -np.arange(-10, 50), 10.0 ** -np.arange(-3.0, 14)])
_CLEAR = 64.0  # pitches nearer to rounding than this are none


@dataclass(frozen=True, slots=True)
class Lattice:
    """The numbers anchor + k·pitch, up to rounding."""

    anchor: float
    pitch: float
    tolerance: float

    @classmethod
    def through(cls, sample: Array) -> Lattice | None:
        """The coarsest lattice through all values: Euclid's algorithm on their differences."""
        values = np.unique(sample[:_LOOKED_AT])
        tolerance = _ROUNDING * float(np.abs(values).max())
        if len(values) < 3 or not tolerance < 1e280:
            return None
        pitch = _common_measure(values, tolerance)
        return None if pitch is None else cls(float(values[0]), pitch, 8 * tolerance)

    def holds(self, values: Array) -> NDArray[np.bool_]:
        """Which values lie on it."""
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.round((values - self.anchor) / self.pitch)
            return np.asarray(np.abs(values - self.anchor - steps * self.pitch) <= self.tolerance)


def _common_measure(values: Array, tolerance: float) -> float | None:
    """The pitch of the coarsest lattice found through increasing values; None if there is none.

    Tried are the powers of two, which hold floating-point noise, those of ten, and what Euclid's
    algorithm makes of the smallest gaps, whose multiples are small enough to be told.
    """
    gaps = values[1:] - values[0]
    tried = np.concatenate([_POWERS, _measure_of(np.sort(np.diff(values))[:_SMALLEST], tolerance)])
    pitches = np.sort(tried[tried > _CLEAR * tolerance])[::-1]
    for pitch in pitches[pitches <= gaps[0] * (1 + 1e-9)]:
        steps = np.round(gaps / pitch)
        # a pitch read off gaps is sharpened on the widest one before it is held against all
        exact = pitch if pitch in _POWERS else float(gaps[-1] / steps[-1])
        if (np.abs(gaps - np.round(gaps / exact) * exact) <= 4 * tolerance).all():
            return float(exact)
    return None


def _measure_of(gaps: Array, tolerance: float) -> Array:
    """Euclid's algorithm on a few gaps: the last remainder that is more than rounding."""
    gaps = gaps[gaps > _CLEAR * tolerance]
    if not gaps.size:
        return gaps
    pitch = float(gaps.min())
    for _ in range(100):
        rest = np.abs(gaps - np.round(gaps / pitch) * pitch)
        over = rest[rest > 1e-3 * pitch]
        if not over.size or pitch <= _CLEAR * tolerance:
            break
        pitch = float(over.min())
    return np.array([pitch])


def lattice_score(first: Array, second: Array) -> Callable[[Array], Array] | None:
    """Numbers on one world's lattice and not on the other's; None if there are no lattices."""
    found = []
    for j in range(min(first.shape[1], _MOST_NUMBERS)):
        ours, theirs = Lattice.through(first[:, j]), Lattice.through(second[:, j])
        if ours is not None and theirs is not None:
            found.append((j, ours, theirs))
    if not found:
        return None

    def score(values: Array) -> Array:
        total = np.zeros(len(values))
        for j, ours, theirs in found:
            column = values[:, j]
            total += ours.holds(column).astype(float) - theirs.holds(column)
        return total

    return score
