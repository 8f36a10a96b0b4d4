"""The loss of the Laplace mechanism."""

from __future__ import annotations

import math
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


@dataclass(frozen=True, slots=True)
class LaplaceLoss(LossDistribution):
    """The loss of the Laplace mechanism with ``epsilon`` = sensitivity/scale.

    Atoms at ±ε and a density proportional to e^{l/2} between them:
    ``M(z) = [(z+1) e^{zε} + z e^{-(z+1)ε}] / (2z+1)``.
    """

    epsilon: float
    supremum: float
    infinite_mass: float = 0.0
    mass_at_supremum: float = 0.5 * (1 - 1e-15)

    @property
    def total_variation_bound(self) -> float:
        """1 - e^{-ε₀/2}."""
        return -math.expm1(-self.epsilon / 2) * (1 + 1e-14)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """1 - e^{(ε-ε₀)/2}, from exact arithmetic on the line."""
        value = -math.expm1(min(epsilon - self.epsilon, 0.0) / 2)
        return value * (1 - 1e-14), value * (1 + 1e-14)

    def tilted(self, c: float) -> TiltedDistribution:
        """The tilted law in closed form."""
        return _TiltedLaplace(self.epsilon, c)

    def cumulants(self, orders: Reals) -> Reals:
        """The logarithm in closed form, its derivatives by differences."""
        laws = [_TiltedLaplace(self.epsilon, float(c)) for c in orders]
        return np.array([[law.log_moment, law.mean, law.variance] for law in laws]).T


class _TiltedLaplace(TiltedDistribution):
    """M(z)e^{-zε} = 1 + [z/(2z+1)]·expm1(-(2z+1)ε), which cancels only while zε is small."""

    def __init__(self, epsilon: float, c: float) -> None:
        self._epsilon, self._c = epsilon, c
        self._small = (c + 1) * epsilon < 0.5
        at_c = complex(self._log(np.array([complex(c)]))[0]).real
        self.log_moment = at_c
        step = 1e-3 / epsilon / max(1.0, c * epsilon)
        near, error = self.log_ratio(step, 1, 2)
        self.mean = float(near[0].imag / step)
        self.variance = float(max(-2 * near[0].real / step / step, 0.0))
        self.spread = epsilon
        self.rounding = float(error[0])

    def _log(self, z: Complexes) -> Complexes:
        e = self._epsilon
        if self._small:
            excess = ((z + 1) * np.expm1(z * e) + z * np.expm1(-(z + 1) * e)) / (2 * z + 1)
            return log1p(excess)
        return np.asarray(z * e + log1p(z / (2 * z + 1) * np.expm1(-(2 * z + 1) * e)))

    def log_ratio(
        self, step: float, start: int, stop: int, uses: float = np.inf
    ) -> tuple[Complexes, Reals]:
        del uses
        y = step * np.arange(start, stop)
        z = np.asarray(self._c + 1j * y, dtype=np.complex128)
        values = self._log(z) - self.log_moment
        # |M(z)| >= e^{Re value} M(c) >= e^{Re value}, which the logarithm divides by.
        scale = (np.abs(z) + 1) * self._epsilon + (0.0 if self._small else 1.0)
        error = 128 * UNIT_ROUNDOFF * scale * np.exp(-np.maximum(values.real, -40.0))
        # The logarithm's argument is at most 1 in modulus, and itself at most this large.
        return values, error + 2 * LOG1P_ERROR * (np.abs(values) + 2 * np.abs(z) * self._epsilon)

    def log_modulus_bound(self, edges: Reals, level: int) -> Reals:
        """From pairs of the atom at ε and the density within D below it, see `ModulusBounds`.

        With w the atom's probability and g the density at its end, both tilted, g e^{-(c+½)D} is
        the least density there, so ``1 - |φ(y)|² >= 0.4583 y²·2w·g e^{-(c+½)D}D³/3`` for yD <= 1.
        """
        del level
        reach = np.minimum(1 / edges[1:], 2 * self._epsilon)
        height = 2 * (self._c * self._epsilon - self.log_moment) - math.log(8)
        exponent = height - (self._c + 0.5) * reach
        pairs = _PAIRS * edges[:-1] ** 2 * reach**3 * np.exp(np.minimum(exponent, 0.0))
        return np.asarray(np.log1p(-np.minimum(pairs, 0.99)) / 2)


_PAIRS = 0.4583 * 2 / 3 * (1 - 1e-6)
