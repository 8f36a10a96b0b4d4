"""Losses of Gaussian mechanisms, alone or chosen at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.losses.distribution import (
    LOG1P_ERROR,
    UNIT_ROUNDOFF,
    Complexes,
    LossDistribution,
    Reals,
    TiltedDistribution,
    log1p,
)
from dpcalc.numerics.products import product


@dataclass(frozen=True, slots=True)
class GaussianLoss(LossDistribution):
    """The loss of N(μ, 1) against N(0, 1): ln M(z) = μ²(z² + z)/2."""

    mu: float
    infinite_mass: float = 0.0
    supremum: float = float("inf")
    mass_at_supremum: float = 0.0

    @property
    def total_variation_bound(self) -> float:
        """2Φ(μ/2) - 1, at most μ/√(2π)."""
        return min(1.0, 0.3989423 * self.mu)

    def tilted(self, c: float) -> TiltedDistribution:
        """A normal law with mean μ²(c + ½) and variance μ²."""
        return _TiltedGaussian(self.mu, c)

    def cumulants(self, orders: Reals) -> Reals:
        """A parabola."""
        square = self.mu * self.mu  # infinite where it overflows; a power would raise
        return square * np.stack([orders * (orders + 1) / 2, orders + 0.5, np.ones_like(orders)])


class _TiltedGaussian(TiltedDistribution):
    def __init__(self, mu: float, c: float) -> None:
        square = mu * mu
        self.log_moment = square * c * (c + 1) / 2
        self.mean = square * (c + 0.5)
        self.variance = square
        self.spread = mu * (1 + 1e-15)
        self.rounding = 8 * UNIT_ROUNDOFF * self.log_moment

    def log_ratio(
        self, step: float, start: int, stop: int, uses: float = np.inf
    ) -> tuple[Complexes, Reals]:
        del uses
        y = step * np.arange(start, stop)
        real, imaginary = -self.variance * y * y / 2, self.mean * y
        return real + 1j * imaginary, 8 * UNIT_ROUNDOFF * (imaginary - real)

    def log_modulus_bound(self, edges: Reals, level: int) -> Reals:
        del level
        result: Reals = -self.variance * edges[:-1] ** 2 / 2 * (1 - 1e-12)
        return result


@dataclass(frozen=True, slots=True)
class GaussianMixtureLoss(LossDistribution):
    """The loss of a Gaussian mechanism drawn at random: M(z) = 1 - Σw + Σ w e^{μ²(z²+z)/2}.

    Args:
        mus: μ of the components, above 0.
        weights: their probabilities; what they leave has loss zero.
    """

    mus: tuple[float, ...]
    weights: tuple[float, ...]
    infinite_mass: float = 0.0
    supremum: float = float("inf")
    mass_at_supremum: float = 0.0

    def tilted(self, c: float) -> TiltedDistribution:
        """A mixture of the components' tilted laws."""
        return _TiltedMixture(np.square(self.mus), np.array(self.weights), c)

    def cumulants(self, orders: Reals) -> Reals:
        """Sums over the components; infinite where one would overflow."""
        square, weights = np.square(self.mus), np.array(self.weights)
        exponent = np.multiply.outer(orders * (orders + 1) / 2, square)
        growth = np.expm1(np.minimum(exponent, 690.0))
        total = 1.0 + product(growth, weights)
        growth += 1.0
        mean = np.multiply.outer(orders + 0.5, square)
        first = product(growth * mean, weights) / total
        second = product(growth * (square + mean**2), weights) / total
        value = np.where(exponent.max(axis=1) < 690.0, np.log(total), np.inf)
        return np.stack([value, first, np.maximum(second - first**2, 0.0)])


class _TiltedMixture(TiltedDistribution):
    def __init__(self, square: Reals, weights: Reals, c: float) -> None:
        self._square, self._c, self.size = square, c, len(square)
        growth = np.expm1(np.minimum(square * c * (c + 1) / 2, 690.0))
        excess = float(product(growth, weights))
        self._weights = weights * (growth + 1) / (1 + excess)
        means = square * (c + 0.5)
        self.log_moment = float(np.log1p(excess))
        self.mean = float(product(self._weights, means))
        at_zero = max(1.0 - float(self._weights.sum()), 0.0)
        centred = float(product(self._weights, square + (means - self.mean) ** 2))
        self.variance = centred + at_zero * self.mean**2
        self.spread = float(np.sqrt(self.variance)) * (1 + 1e-6)
        self._exposure = float(product(self._weights, square * (c + 1)))
        self._unit = UNIT_ROUNDOFF * (32 + self.size)
        self.rounding = self._unit * (c * self._exposure + min(1.0, excess))

    def log_ratio(
        self, step: float, start: int, stop: int, uses: float = np.inf
    ) -> tuple[Complexes, Reals]:
        del uses
        y = step * np.arange(start, stop)
        change = np.empty(len(y), dtype=np.complex128)
        rows = max(1, _TABLE // self.size)
        for k in range(0, len(y), rows):
            part = y[k : k + rows, None]
            exponent = self._square * (1j * (self._c + 0.5) * part - part**2 / 2)
            change[k : k + rows] = product(np.expm1(exponent), self._weights)
        error = np.minimum(self._unit * (y + y * y) * self._exposure, 2.0)
        # Far apart components can leave exactly nothing, of which there is no logarithm.
        gone = change == -1
        ratio = log1p(np.where(gone, 0, change))
        ratio[gone] = np.log(_LEAST)
        error = error / np.maximum(np.abs(1 + change), _LEAST) + gone
        return ratio, error + LOG1P_ERROR * np.abs(ratio)

    def log_modulus_bound(self, edges: Reals, level: int) -> Reals:
        """ln(at zero + Σ w e^{-μ²y²/2}), decreasing in y."""
        decay = np.exp(-np.multiply.outer(edges[:-1] ** 2 / 2, self._square))
        at_zero = max(1.0 - float(self._weights.sum()), 1e-15)
        return np.minimum(np.log(at_zero + product(decay, self._weights)) + 1e-13, 0.0)


_TABLE = 1_000_000
_LEAST = 1e-300
