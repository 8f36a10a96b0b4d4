"""Pairs of densities on the line whose privacy loss increases from left to right."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from dpcalc.accounting.losses.distribution import LossDistribution, Reals
from dpcalc.accounting.losses.quadrature import MASS_ERROR


class DensityPair(ABC):
    """A pair of densities on the line whose loss ln(p/q) increases from left to right.

    Attributes:
        mirrored: the law is that of the positive losses of this pair, their mirror image, and the
            rest of the mass at zero; see `dpcalc.accounting.losses.subsampled_gaussian`.
        mass_error: least relative error of the masses of cells no wider than `max_cell_width`; that of
            masses far out is larger, see `dpcalc.accounting.losses.quadrature`.
        outside: P-mass on either side of the window that no choice of tail makes smaller.
        total_variation_bound: of p and q; for a sampled record, the probability that it is in the
            sample.
    """

    mirrored: bool = False
    mass_error: float = MASS_ERROR
    outside: float = 0.0

    @property
    def total_variation_bound(self) -> float:
        """Nothing is known, unless a pair says more."""
        return 1.0

    @property
    def signal_to_noise(self) -> float:
        """How far apart p and q are, in units of the noise; 0 if it is not a matter of noise."""
        return 0.0

    @property
    def supremum(self) -> float:
        """At least the largest finite loss."""
        return math.inf

    @abstractmethod
    def truncation_interval(self, tail: float) -> tuple[float, float]:
        """An interval that P leaves on either side with probability at most ``tail``."""

    @abstractmethod
    def log_q(self, x: Reals) -> Reals:
        """The logarithm of q's density."""

    @abstractmethod
    def loss(self, x: Reals) -> Reals:
        """ln(p(x)/q(x)), increasing in x."""

    @abstractmethod
    def max_cell_width(self, x: Reals) -> Reals:
        """Cell width up to which six-point quadrature of q and p is exact to `mass_error`."""

    def moment_interval(self, exponent: float) -> tuple[tuple[float, float], float]:
        """An interval, and the logarithm of a bound of E_P[e^{sL} - 1] outside it, s = ``exponent``.

        Infinite where nothing is known, as here.
        """
        del exponent
        return self.truncation_interval(1e-30), math.inf

    def log_moment_bound(self, exponent: float) -> float:
        """A simple bound of ln E_P[e^{sL}] for where integration is too long; infinite if unknown."""
        del exponent
        return math.inf


PrivacyLoss = LossDistribution | DensityPair
"""What can be composed: a law known exactly, or a pair of densities."""
