"""The privacy loss of noise with density proportional to e^{-η‖b‖} in dimension d.

Let the two outputs' centres be a distance r apart and a = ηr. The loss at an outcome is η times the
difference of its distances to the centres, hence in [-a, a].

*The farthest centres are the worst.* Let f be any log-concave density, u a direction, k > 0. On a
line y + tu the set where f(x) > k f(x - ru) is a half-line t < τ, because the increments of the
convex function -ln f increase. With F the integral of f along the line up to t, the hockey-stick
divergence is ``∫ sup_τ [F(τ) - k F(τ - r)] dy``, and F(τ - r) decreases in r. So the divergence
increases with r for every k, which is domination; by symmetry the direction does not matter.

*One dimension is enough.* In prolate spheroidal coordinates around the centres, ξ = η(r₁ + r₂)/a >= 1
and ν = η(r₂ - r₁)/a in [-1, 1], the volume element is proportional to
``(ξ² - ν²) [(ξ² - 1)(1 - ν²)]^{(d-3)/2}``, the loss is aν, and the noise density is
e^{-a(ξ-ν)/2}. Integrating ξ out leaves the density of ν, in the variable x with ν = tanh x:

    p(x) ∝ e^{(a/2) tanh x} cosh(x)^{1-d} (C + 1/cosh² x),
    C = (d-1) K_{d/2}(a/2) / [(a/2) K_{d/2-1}(a/2)],

K Bessel's function of the third kind, and q(x) = p(-x). In one dimension the law is Laplace's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.distribution import Reals
from dpcalc.accounting.losses.quadrature import MASS_ERROR

LARGEST_DIMENSION = 1_000_000

SMALLEST_BOUND, LARGEST_BOUND = 1e-100, 1e8
"""Of a, between which the density is evaluated; a larger a dominates a smaller one."""


@dataclass(frozen=True, slots=True)
class ExponentialNorm(DensityPair):
    """The difference of distances to the two centres, in dimension 2 and above; symmetric.

    Args:
        bound: a = η times the sensitivity: the largest loss.
        dimension: d.
    """

    bound: float
    dimension: int
    mirrored: bool = False

    @property
    def mass_error(self) -> float:  # type: ignore[override] # a value like the others
        """Grows with the pieces of ln p, which may be much larger than their sum.

        Twice, in ln p and in its normaliser: 4.5u·a of the term in tanh, 1.5u·a of the recurrence of
        Bessel functions; what goes with d and ln cosh is of the size of ln p.
        """
        return MASS_ERROR * (1 + self.bound / 75 + self.dimension / 1000)

    def truncation_interval(self, tail: float) -> tuple[float, float]:
        """Where ``p(X)/|slope of ln p at X|``, a bound of the tails, is below ``tail``.

        For x > 0 the slope of ln p is at most (a/2)/cosh² x - (d-1) tanh x, which decreases; for
        x < 0 it is at least (d-1)|tanh x|.
        """
        return -_reach(self, -1.0, math.log(tail)), self.window_end(tail)

    def window_end(self, tail: float) -> float:
        """The upper end of `truncation_interval`."""
        return _reach(self, 1.0, math.log(tail))

    def log_q(self, x: Reals) -> Reals:
        """p(-x)."""
        return self.log_p(-x)

    def log_p(self, x: Reals) -> Reals:
        """The density of the module's first lines."""
        return _log_shape(x, self.bound, self.dimension) - _log_normaliser(
            self.bound, self.dimension
        )

    def loss(self, x: Reals) -> Reals:
        """Aν."""
        return np.asarray(self.bound * np.tanh(x))

    def max_cell_width(self, x: Reals) -> Reals:
        """A fraction of the length on which p or q changes, or of the distance to cosh's zeros."""
        bell = 1 / np.cosh(np.minimum(np.abs(x), 300.0)) ** 2
        slope = self.bound / 2 * bell + (self.dimension - 1) * np.tanh(np.abs(x))
        curvature = np.sqrt((self.bound + self.dimension) * bell)
        return np.asarray(0.6 / (3 + slope + curvature))

    def moment_interval(self, exponent: float) -> tuple[tuple[float, float], float]:
        """Losses are at most a, hence e^{sa} times the tail's mass, which is a double yet."""
        growth = exponent * self.bound
        log_tail, rest = -90.0 - growth, -90.0
        if log_tail < -650:
            log_tail, rest = -650.0, growth * (1 + 1e-12) - 650
        return (-_reach(self, -1.0, -90.0), _reach(self, 1.0, log_tail)), rest

    def log_moment_bound(self, exponent: float) -> float:
        """That of the largest loss."""
        return exponent * self.bound * (1 + 1e-15)


@lru_cache(maxsize=1024)
def _reach(pair: ExponentialNorm, side: float, log_tail: float) -> float:
    """How far one side of the window of `truncation_interval` reaches."""
    pull, steepness = pair.bound / 2 * (side > 0), pair.dimension - 1

    def small(reach: float) -> bool:
        slope = steepness * math.tanh(reach) - pull / math.cosh(min(reach, 300.0)) ** 2
        density = float(pair.log_p(np.array([side * reach]))[0])
        return slope > 0 and density - math.log(slope) <= log_tail

    low, high = 0.0, 1.0
    least = 0.01 / math.sqrt(pair.bound + pair.dimension)
    while not small(high):
        low, high = high, 2 * high
    while high - low > 1e-3 * high and high > least:
        middle = (low + high) / 2
        low, high = (low, middle) if small(middle) else (middle, high)
    return high


def _log_shape(x: Reals, bound: float, dimension: int) -> Reals:
    """(a/2)(tanh x - 1) - (d-1) ln cosh x + ln(C + 1/cosh² x)."""
    size = np.abs(x)
    near = np.minimum(size, 5.0)
    log_cosh = np.where(
        size <= 5.0, np.log1p(np.sinh(near) ** 2) / 2, size + np.log1p(np.exp(-2 * size)) - _LOG_2
    )
    pull = -bound / (1 + np.exp(np.clip(2 * x, -700.0, 700.0)))
    bell = np.exp(-2 * np.minimum(log_cosh, 350.0))
    ratio = _bessel_ratio(dimension, bound / 2) * (dimension - 1) / (bound / 2)
    return np.asarray(pull - (dimension - 1) * log_cosh + np.log(ratio + bell))


_LOG_2 = math.log(2.0)


@lru_cache(maxsize=256)
def _log_normaliser(bound: float, dimension: int) -> float:
    """The logarithm of the integral of the shape, by the trapezoidal rule.

    The shape is analytic within π/2 of the real line and hardly grows within three times
    w = 1/√(d + a + 1) of it, so steps of 0.3w leave e^{-60}.
    """
    step = 0.3 / math.sqrt(dimension + bound + 1)
    peak = math.asinh(bound / (dimension - 1)) / 2  # where (a/2)/cosh² x = (d-1) tanh x
    top = float(_log_shape(np.array([peak]), bound, dimension)[0])
    ends = [peak, peak]
    for k, side in enumerate((-1, 1)):
        while float(_log_shape(np.array([ends[k]]), bound, dimension)[0]) > top - 45:
            ends[k] += side * 32 * step
    x = np.arange(ends[0], ends[1] + step, step)
    total = float(np.exp(_log_shape(x, bound, dimension) - top).sum()) * step
    return top + math.log(total)


@lru_cache(maxsize=256)
def _bessel_ratio(dimension: int, k: float) -> float:
    """K_{d/2}(k)/K_{d/2-1}(k), by the recurrence R_{n+1} = 2n/k + 1/R_n of positive terms."""
    from scipy.special import kve

    if dimension % 2:
        ratio, order = 1.0, 0.5  # K_{1/2}/K_{-1/2}
    else:
        ratio, order = float(kve(1, k) / kve(0, k)), 1.0
    while order < dimension / 2 - 0.25:
        ratio = 2 * order / k + 1 / ratio
        order += 1.0
    return ratio
