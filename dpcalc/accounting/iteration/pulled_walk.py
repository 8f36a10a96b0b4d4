"""One pass of noisy SGD in one dimension: bounded gradients pull back, then the record, then nothing.

Statement
    Records before the differing one have Huber losses, whose gradient is hx cut at ±L; the record's
    is L or -L; later ones have none. With steps and noise in units of a step's noise the iterate is
    ``X ± μ/2 + N(0, k)``, X symmetric, μ = 2L/σ, k the steps from the record's on. The event that it
    exceeds τ gives δ(ε) >= E h(|X|), ``h(x) = mean of Φ(±x/√k - a) - e^ε·mean of Φ(±x/√k - b)``,
    a and b the distances of τ from ±μ/2 over √k. Where ``a·φ(a) <= e^ε·b·φ(b)``, h decreases, since
    sinh(bx)/sinh(ax) increases; so |X| may be replaced by anything stochastically larger.
Source
    docs/theorems/shifted-interpolation.md, what an instance attains.
Rounding
    |X| is rounded up to a grid after every step: a step moves it monotonically, so the law stays
    above. What leaves the grid counts as certainly in the event in the other world. Sums of
    probabilities are right to 1e-12, which is charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcalc.numerics.products import product

Reals = NDArray[np.float64]

_PER_UNIT = 8
LONGEST = 4000
"""Steps before the record's that are followed."""
WEAKEST = 0.15
"""Least L/σ: a weaker pull is lost in the rounding to the grid."""
_ROUNDED = 1e-12
_BEYOND = (1.0, 1.01, 1.03, 1.1)


@dataclass(frozen=True, slots=True)
class PulledWalk:
    """A lower bound of the profile, called with ε.

    Attributes:
        lead: steps before the record's.
        left: k, steps from the record's on.
        pull: L/σ, at least `WEAKEST`.
        slope: ηh, the largest curvature times the step, at most 1.
    """

    lead: int
    left: int
    pull: float
    slope: float

    def __call__(self, epsilon: float) -> float:
        """δ(ε) is at least this; 0 or above."""
        grid, law, beyond = _upper_law(self.lead, self.pull, self.slope)
        root = math.sqrt(self.left)
        at = max(epsilon * self.left / (2 * self.pull), self.pull)
        found = 0.0
        for share in _BEYOND:
            a, b = ((share * at + side * self.pull) / root for side in (-1, 1))
            if epsilon <= 700 and _falls(a, b, epsilon):
                told, mistaken = (float(product(law, _mean_tail(x, grid / root))) for x in (a, b))
                mistaken = mistaken * (1 + _ROUNDED) + beyond
                found = max(found, told * (1 - _ROUNDED) - math.exp(epsilon) * mistaken)
        return min(found, 1.0)


def _falls(a: float, b: float, epsilon: float) -> bool:
    """Whether a·φ(a) <= e^ε·b·φ(b), both positive: then h decreases."""
    if a <= 0:
        return a == 0 and b > 0
    return math.log(a) - a * a / 2 < epsilon + math.log(b) - b * b / 2


def _mean_tail(threshold: float, x: Reals) -> Reals:
    """The mean of the normal probabilities above threshold - x and threshold + x."""
    from scipy.special import ndtr

    return np.asarray((ndtr(x - threshold) + ndtr(-x - threshold)) / 2)


@lru_cache(maxsize=16)
def _upper_law(lead: int, pull: float, slope: float) -> tuple[Reals, Reals, float]:
    """A grid, a law on it above that of |X|, and the probability of leaving it."""
    from scipy.special import ndtr

    top = min(12 * math.sqrt(lead) + 5, 40 / pull + 12)
    grid = np.arange(int(top * _PER_UNIT) + 1) / _PER_UNIT
    centres = (grid - np.minimum(slope * grid, pull))[:, None]
    within = ndtr(grid - centres) - ndtr(-grid - centres)
    kernel = np.ascontiguousarray(np.diff(within, axis=1, prepend=0.0).T)
    leaving = ndtr(centres[:, 0] - grid[-1]) + ndtr(-centres[:, 0] - grid[-1])
    law, beyond = np.zeros(len(grid)), 0.0
    law[0] = 1.0
    for _ in range(lead):
        beyond += float(product(law, leaving))
        law = product(kernel, law)
    return grid, law, beyond * (1 + _ROUNDED)
