"""Nested lattices of losses: which points there are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.composition.lattice.rows import UNDERFLOW_CUTOFF
from dpcalc.accounting.losses import Reals


@dataclass(frozen=True, slots=True)
class Frame:
    """Which points sums are kept on.

    Attributes:
        step: h, the coarsest distance of two points.
        top: number of the highest point.
        floor: minus the number of the lowest.
        finest: how often the step is halved next to zero.
        half: how many of its own steps a finer lattice reaches on either side.
        negligible: masses below are left out.
    """

    step: float
    top: int
    floor: int
    finest: int
    half: int
    negligible: float = UNDERFLOW_CUTOFF

    def step_of(self, level: int) -> float:
        """The step of a lattice, 0 the coarsest."""
        return math.ldexp(self.step, -level)

    def points(self, low: float, high: float) -> Reals:
        """All points between two losses."""
        coarse = _multiples(self.step, -self.floor, self.top, low, high)
        fine = [
            _multiples(self.step_of(level), -self.half, self.half, low, high)
            for level in range(1, self.finest + 1)
        ]
        return np.unique(np.concatenate([coarse, *fine]))

    def levels(self, losses: Reals) -> Reals:
        """The finest lattice that reaches each loss."""
        size = np.maximum(np.abs(losses), 1e-300) / (self.half * self.step)
        level = np.clip(np.floor(-np.log2(size)), 0, self.finest)
        return np.asarray(np.where(size * 2.0**level > 1, np.maximum(level - 1, 0), level))


def _multiples(step: float, least: int, most: int, low: float, high: float) -> Reals:
    first, last = math.ceil(max(low / step, least)), math.floor(min(high / step, most))
    return np.asarray(step * np.arange(first, last + 1, dtype=np.float64))
