"""Noisy SGD with sampled batches on quadratics of one curvature: what its last iterate reveals.

Statement
    In one dimension, all curvatures alike and the record's gradient L or -L next to that, the last
    iterate is ``±S + N(0, v)``, ``S = (s/2) Σ_i c^i B_i``, B_i independent, 1 with probability q,
    v = ω² Σ_i c^(2i). The event that it exceeds τ gives
    ``δ(ε) >= E[Φ((S - τ)/√v) - e^ε Φ((-S - τ)/√v)]``, which increases in S: so S may be replaced by
    anything stochastically smaller. Where all other records have the gradient -L as well, one run
    is never moved and the other one by 2S: ``δ(ε) >= E[Φ((2S - τ)/√v)] - e^ε Φ(-τ/√v)``, whose tail
    is the heavier for S being random.
Source
    docs/theorems/noisy-sgd.md, a lower bound.
Rounding
    Terms are rounded down to a grid and the oldest steps left out. Sums of probabilities are right to
    1e-12, which is charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcalc.numerics.products import product

Reals = NDArray[np.float64]

_GRID = 4000
"""Points of the grid, from 0 to where the sum is unlikely to be."""
_STEPS = 3000
_MIN_FACTOR = 1e-3
_ROUNDED = 1e-12
_BEYOND = (0.9, 0.97, 1.0, 1.03, 1.1)
_ASIDE = (0.7, 0.78, 0.84, 0.88, 0.92, 0.96, 1.0)
"""Thresholds over where a Gaussian of the mean would have its own."""


@dataclass(frozen=True, slots=True)
class SampledWalk:
    """A lower bound of the profile, called with ε.

    Attributes:
        steps: T.
        rate: q, rounded down.
        contraction: c, in [0, 1], rounded down.
        step_sensitivity: s/ω, rounded down.
        one_sided: whether the other records may have any gradient within the bound.
    """

    steps: int
    rate: float
    contraction: float
    step_sensitivity: float
    one_sided: bool = False

    def __call__(self, epsilon: float) -> float:
        """δ(ε) is at least this; 0 or above."""
        if epsilon > 700:
            return 0.0
        from scipy.special import ndtr

        sums, law = _lower_law(self.steps, self.rate, self.contraction)
        root = math.sqrt(_spread(self.contraction, self.steps))
        shifts = sums * (self.step_sensitivity / 2) / root
        mean = max(float(product(law, shifts)), 1e-300)
        tests = [
            (at, (1.0, -1.0)) for at in (*(share * epsilon / (2 * mean) for share in _BEYOND), 0.0)
        ]
        if self.one_sided:
            near = epsilon / (2 * mean) + mean
            tests += [(share * near, (2.0, 0.0)) for share in _ASIDE]
        found = 0.0
        for at, sides in tests:
            told, mistaken = (float(product(law, ndtr(side * shifts - at))) for side in sides)
            gap = told * (1 - _ROUNDED) - math.exp(epsilon) * mistaken * (1 + _ROUNDED)
            found = max(found, gap)
        return min(found, 1.0)


def _spread(c: float, steps: int) -> float:
    """Σ_i c^(2i), not below it by more than rounding, which a larger value makes up for."""
    if c in (0.0, 1.0):
        return max(c * steps, 1.0)
    total = -math.expm1(2 * steps * math.log(c)) / ((1 - c) * (1 + c))
    return total * (1 + 1e-10 + 1e-15 * steps)


@lru_cache(maxsize=16)
def _lower_law(steps: int, rate: float, c: float) -> tuple[Reals, Reals]:
    """Values and probabilities of a sum below Σ c^i B_i."""
    counted = min(steps, _STEPS)
    if 0 < c < 1:
        counted = min(counted, 1 + math.ceil(math.log(_MIN_FACTOR) / math.log(c)))
    weights = c ** np.arange(float(counted)) * (1 - 1e-12)
    mean, spread = rate * weights.sum(), math.sqrt(rate * float(product(weights, weights)))
    unit = max((mean + 12 * spread + 3) / _GRID, 1e-9)
    cells = np.floor(weights / unit).astype(int)
    law = np.zeros(_GRID)
    law[0] = 1.0
    for cell in cells[cells > 0].tolist():
        moved = law[: max(_GRID - cell, 0)] * rate
        law *= 1 - rate
        law[cell:] += moved[: _GRID - cell]
    return np.arange(_GRID) * unit, law
