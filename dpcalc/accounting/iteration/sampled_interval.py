"""Sampled records on a wide interval: quadratics whose iterates hardly ever meet a wall.

Statement
    In one dimension, on an interval of width D around the start, all losses ``k x²/2``, the record's
    with another ``±(L - kD/2)x``, so that no gradient is above L. Without walls the last iterates
    are those of `dpcalc.accounting.iteration.sampled_walk` with the factor ``a = 1 - ηk``, which
    gives ``δ_a(ε)``. A wall is met with a probability of at most p, as for batches in a fixed order
    that all hold the record, so ``δ(ε) >= δ_a(ε) - p(1 + e^ε)`` for every a.
Source
    docs/theorems/shifted-interpolation.md, what an instance attains.
Rounding
    That of the two modules; the jump's share is rounded down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcalc.accounting.iteration.confined_walk import ConfinedWalk
from dpcalc.accounting.iteration.sampled_walk import SampledWalk

_ROUNDED = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledConfinedWalk(ConfinedWalk):
    """Without a wall's effect; the further attributes are those of `ConfinedWalk`.

    Attributes:
        rate: probability of a use, rounded down.
        batch_size: b; b times the step sensitivity is 2L over the noise on a gradient.
    """

    rate: float
    batch_size: int

    def _revealed(self, epsilon: float) -> float:
        found = 0.0
        for a, met in self._slopes():
            steepest = (1 - a) * self.width / (self.batch_size * self.step_sensitivity)
            left = 1 - steepest * (1 + _ROUNDED) - _ROUNDED
            if left > 0:
                walk = SampledWalk(self.steps, self.rate, a, self.step_sensitivity * left)
                found = max(found, walk(epsilon) - met * (1 + math.exp(epsilon)))
        return found
