"""Step lengths along Newton's directions, from directional derivatives alone, for many runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSearch:
    """Where along its step every run stands; slopes are derivatives of the objective along it.

    Attributes:
        descent: slope where the step starts, below 0.
        curvature: (h/2)·‖step‖², what strong convexity adds to the objective over the whole step.
        length: fraction of the step on trial.
        low: largest fraction known to end in descent, and the slope there.
        high: smallest fraction known to go too far, or infinity, and the slope there.
        tries: fractions tried.
    """

    descent: Array
    curvature: Array
    length: Array
    low: Array
    low_slope: Array
    high: Array
    high_slope: Array
    tries: Array

    @classmethod
    def begin(cls, descent: Array, curvature: Array) -> LineSearch:
        """Try the whole step first."""
        one, zero, far = (
            np.ones_like(curvature),
            np.zeros_like(curvature),
            np.full_like(curvature, np.inf),
        )
        return cls(
            descent=descent,
            curvature=curvature,
            length=one,
            low=zero,
            low_slope=descent,
            high=far,
            high_slope=far,
            tries=zero,
        )

    def accepts(self, slope: Array) -> NDArray[np.bool_]:
        """Whether the objective has fallen, and the search, once cut short, fell far enough.

        Strong convexity: objective(start) - objective(end) >= length·(bow·length - slope).
        """
        far_enough = (slope >= self.descent / 2) | np.isinf(self.high)
        return (slope <= self.curvature * self.length) & far_enough

    def shortened(self, slope: Array) -> LineSearch:
        """The next fraction: secant and bisection in turn."""
        far = slope > self.curvature * self.length
        low = np.where(far, self.low, self.length)
        low_slope = np.where(far, self.low_slope, slope)
        high = np.where(far, self.length, self.high)
        high_slope = np.where(far, slope, self.high_slope)
        ratio = low_slope / np.minimum(low_slope - high_slope, -np.finfo(float).tiny)
        share = np.where(self.tries % 2 == 0, np.clip(ratio, 0.05, 0.95), 0.5)
        width = np.where(np.isinf(high), 0, high - low)
        return LineSearch(
            descent=self.descent,
            curvature=self.curvature,
            length=low + share * width,
            low=low,
            low_slope=low_slope,
            high=high,
            high_slope=high_slope,
            tries=self.tries + 1,
        )

    def where(self, kept: NDArray[np.bool_], other: LineSearch) -> LineSearch:
        """This search for the runs in ``kept``, ``other`` for the rest."""
        return LineSearch(
            **{
                name: np.where(kept, getattr(self, name), getattr(other, name))
                for name in self.__slots__
            }
        )

    def take(self, kept: NDArray[np.bool_]) -> LineSearch:
        """The search of the runs in ``kept``."""
        return LineSearch(**{name: getattr(self, name)[kept] for name in self.__slots__})
