"""The losses of the Laplace mechanism between their two ends, as a pair of densities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.distribution import Reals


@dataclass(frozen=True, slots=True)
class LaplaceBody(DensityPair):
    """Where the noise falls between the two answers: P(dl) = e^{(l-ε)/2}/4 dl for -ε < l < ε.

    The rest is at the ends: probability 1/2 at ε, and e^{-ε}/2 at -ε.

    Args:
        epsilon: sensitivity over scale.
    """

    epsilon: float

    @property
    def total_variation_bound(self) -> float:
        """1 - e^{-ε/2}, of the whole mechanism."""
        return -math.expm1(-self.epsilon / 2) * (1 + 1e-14)

    @property
    def supremum(self) -> float:
        """ε."""
        return self.epsilon

    def truncation_interval(self, tail: float) -> tuple[float, float]:
        """Between the ends; nothing is outside."""
        del tail
        return -self.epsilon, self.epsilon

    def log_q(self, x: Reals) -> Reals:
        """Outcomes are named by their losses."""
        return np.asarray(-(x + self.epsilon) / 2 - math.log(4))

    def loss(self, x: Reals) -> Reals:
        """The outcome itself."""
        return np.asarray(x, dtype=np.float64)

    def max_cell_width(self, x: Reals) -> Reals:
        """The densities are exponentials with rates of at most one."""
        return np.full_like(x, 0.5)
