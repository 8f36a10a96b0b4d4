"""Quadratics whose iterates hardly ever meet a wall: what noisy descent on a wide domain reveals.

Statement
    In one dimension, on an interval of width D around the start, all curvatures alike, so that a step
    multiplies by a, and the record's gradient moved by a constant one way or the other. Without walls
    the two last iterates are Gaussian and differ in their mean, which gives ``δ_a(ε)``. A wall is met
    with probability ``p = 2T·Φ(-(D/2 - M)/√V)`` at most, M the farthest mean, ``V = 1/(1 - a²)`` at
    least every variance, in units of a step's noise. So ``δ(ε) >= δ_a(ε) - p(1 + e^ε)``, for every a.
Source
    docs/theorems/shifted-interpolation.md, what an instance attains.
Rounding
    A larger p is charged: by 1e-12, far more than its factors are off. μ is lowered by as much.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dpcalc.accounting.gaussian import gaussian_delta
from dpcalc.accounting.iteration.interval_walk import IntervalWalk

_MARGINS = (7.0, 8.0, 9.0, 10.0, 11.5, 13.0)
"""Standard deviations between the farthest mean and a wall."""
_HALVINGS = 60
_ROUNDED = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfinedWalk(IntervalWalk):
    """Without a wall's effect; the further attributes are those of `IntervalWalk`.

    Attributes:
        step_sensitivity: how far a use takes the two apart, over a step's noise, rounded down.
        least: the smallest a, 0 or above, rounded up.
        most: the largest a, at most 1, rounded down.
    """

    step_sensitivity: float
    least: float
    most: float

    def _revealed(self, epsilon: float) -> float:
        found = 0.0
        for a, met in self._slopes():
            told = gaussian_delta(self._mu(a), epsilon) * (1 - _ROUNDED)
            found = max(found, told - met * (1 + math.exp(epsilon)))
        return found

    def _slopes(self) -> Iterator[tuple[float, float]]:
        """Slopes and the probability of meeting a wall: as near to 1 as each margin allows."""
        from scipy.special import ndtr

        for margin in _MARGINS:
            low, high = self.least, min(self.most, 1 - 1e-9)
            if not (low <= high and self._margin(low) >= margin):
                return
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                low, high = (middle, high) if self._margin(middle) >= margin else (low, middle)
            yield low, 2 * self.steps * float(ndtr(-self._margin(low))) * (1 + _ROUNDED)

    def _margin(self, a: float) -> float:
        """(D/2 - M)/√V, not above it."""
        largest_mean = (
            self.step_sensitivity / 2 / -math.expm1(self.gap * math.log(a))
            if a
            else self.step_sensitivity / 2
        )
        return (self.width / 2 - largest_mean) * math.sqrt((1 - a) * (1 + a)) * (1 - _ROUNDED)

    def _mu(self, a: float) -> float:
        """Of the last iterate without walls."""
        uses = 1 + (self.steps - self.tail) // self.gap
        apart, spread = self.step_sensitivity * a ** (self.tail - 1), 1.0
        if a:
            log = math.log(a)
            apart *= math.expm1(self.gap * uses * log) / math.expm1(self.gap * log)
            spread = -math.expm1(2 * self.steps * log) / ((1 - a) * (1 + a))
        return apart / math.sqrt(spread) * (1 - _ROUNDED)
