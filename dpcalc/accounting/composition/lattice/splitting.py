"""What putting losses on lattices can add to δ.

*Splitting.* A loss at a share f of the way between two points of a lattice of step h goes to both
with P- and Q-mass kept. That moves it by D with ``E e^{-D} = 1``, whatever was before, and
``E D² <= v = h²e^h f(1-f)``, ``0 <= E D <= e^h v/2``.

*A smoother gain.* Let u = S - ε, ``b = 1/(2λ+1)``, r(u) = b e^{λu} for u < 0 and b e^{-(λ+1)u} for
u >= 0, and k(u) = 1/cosh(λu). Then (1 - e^{-u})₊ + r has two continuous derivatives, a split raises its
mean by at most ``v(1 + he^h)e^{λh}·bλ(λ+1)/2·k``, and r <= bk. It lowers the mean of k by
at most ``θk`` with θ = v(λe^h + λ²e^{λh})/2. So Ψ = (1 - e^{-u})₊ + r - bk is a lower bound of the
gain, and every split raises its mean by at most bζk, ζ = v(1 + he^h)e^{λh}λ(λ+1)/2 + θ.

*All splits.* With the factor ``W = (1 + ζ)/(1 - θ)`` for each split on the way, in whatever order,

    δ(ε) >= E[(1 - e^{-u})₊ + r(u)] - b E[ΠW k(u)],

both means over the losses as split. The proof stands in docs/soundness.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.losses import Reals
from dpcalc.errors import NumericalFailure

_DECAY = 0.7
"""λ times the typical distance that splitting moves a sum, near the best."""

_STEEPEST = 0.6
"""λ times the lattice's step, at most."""

_FARTHEST = 690.0
"""Above it e^{-x} would soon be no number of full precision."""


@dataclass(frozen=True, slots=True)
class Splitting:
    """How splits are weighed.

    Attributes:
        rate: λ.
    """

    rate: float

    @classmethod
    def of(cls, step: float, variance: float) -> Splitting:
        """λ for splits whose variances add up to ``variance`` times ``step``²."""
        return cls(min(_STEEPEST, _DECAY / math.sqrt(max(variance, 1e-9))) / step)

    @property
    def height(self) -> float:
        """The factor b."""
        return 1 / (2 * self.rate + 1)

    def weights(self, step: float, share: Reals) -> Reals:
        """Factors W of splits between points ``step`` apart, of losses at shares f of the way."""
        rate = self.rate
        variance = step * step * math.exp(step) * share * (1 - share) * (1 + 1e-9)
        lower = variance * (rate * math.exp(step) + rate * rate * math.exp(rate * step)) / 2
        steep = (1 + step * math.exp(step)) * math.exp(rate * step) * rate * (rate + 1) / 2
        if np.any(lower > 0.5):
            raise NumericalFailure("expected a lattice whose splits move sums less")
        return np.asarray((1 + variance * steep + lower) / (1 - lower) * (1 + 1e-12))

    def half(self, step: float) -> float:
        """W of a split half way."""
        return float(self.weights(step, np.array([0.5]))[0])

    def bump(self, distance: Reals | float) -> Reals:
        """Values of k."""
        return np.asarray(1 / np.cosh(np.minimum(self.rate * np.abs(distance), _FARTHEST)))

    def rise(self, distance: Reals) -> Reals:
        """Values of r."""
        fall = np.where(distance < 0, -self.rate * distance, (self.rate + 1) * distance)
        return np.asarray(self.height * np.exp(-np.minimum(fall, _FARTHEST)))

    def variance(self, step: float, ratio: float) -> float:
        """About Σv over ``step``², from how much weights raise the mean of k."""
        return math.log(max(ratio, 1 + 1e-9)) / (1.4 * (self.rate * step) ** 2)
