"""Dominating pairs of the subsampled Gaussian mechanism.

Units: the largest norm of one record's contribution is 1, so that ``sigma`` is the noise multiplier.

*Poisson sampling, add/remove.* Every record is included with probability q on its own. The pair is
(1-q)N(0) + qN(1) against N(0), and the reverse for the other direction.

*Poisson sampling, replace-one.* (1-q)N(0) + qN(1) against (1-q)N(0) + qN(-1). That no other two
records are worse: with ``e^{ε'} = 1 + q(e^ε - 1)`` and ``β = e^{ε'-ε}`` the divergence of
(1-q)N(0) + qN(u) from (1-q)N(0) + qN(v) at ε' is q times that of N(u) from (1-β)N(0) + βN(v) at ε
(Balle, Barthe and Gaboardi 2018, theorem 2). For a set of N(u)-measure Φ(τ) the smallest possible
measure under N(w) is Φ(τ - |u-w|) (Neyman and Pearson), so the divergence is at most
``sup_τ Φ(τ) - e^ε[(1-β)Φ(τ-|u|) + βΦ(τ-|u-v|)]``, increasing in |u| <= 1 and |u-v| <= 2, and attained
on the line at u = 1, v = -1.

*Sampling without replacement, replace-one.* b of n records, γ = b/n. The profile is
``δ'(ln(1 + γ(e^ε - 1))) = γ δ(ε)`` for ε >= 0, δ the profile of the unsampled replacement
(Balle, Barthe and Gaboardi 2018, theorem 11), and symmetric. Its positive losses are those of
(1-γ)N(0) + γN(μ) against N(0), its negative ones their mirror image, the rest sits at zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.distribution import Reals

_LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True)
class PoissonPair(DensityPair):
    """What the pairs of Poisson sampling share.

    Args:
        sigma: the noise multiplier.
        rate: q, the probability that a record is in the sample.
    """

    sigma: float
    rate: float

    @property
    def total_variation_bound(self) -> float:
        """The record is in the sample."""
        return self.rate

    @property
    def signal_to_noise(self) -> float:
        """Between a record that is in the sample and its neighbour."""
        return 1 / self.sigma

    def truncation_interval(self, tail: float) -> tuple[float, float]:
        """From the tail of N(0) on the left to that of N(1) on the right."""
        reach = _normal_reach(tail) * self.sigma
        return -reach, 1 + reach

    def max_cell_width(self, x: Reals) -> Reals:
        """A fraction of σ that shrinks in the tails."""
        return _widest(x, self.sigma, 1.0)

    def log_moment_bound(self, exponent: float) -> float:
        """Sampling every record: α(α-1)/(2σ²)."""
        return exponent * (exponent + 1) / self.sigma / (2 * self.sigma) * (1 + 1e-14)

    def _mixed(self, x: Reals) -> Reals:
        """The loss of the mixture with N(1) against N(0): ln(1 + q(e^t - 1)), t = (2x-1)/(2σ²)."""
        return mixture_loss((2 * x - 1) / self.sigma / (2 * self.sigma), self.rate)


@dataclass(frozen=True, slots=True)
class PoissonRemove(PoissonPair):
    """(1-q)N(0, σ²) + qN(1, σ²) against N(0, σ²)."""

    def log_q(self, x: Reals) -> Reals:
        """N(0, σ²)."""
        return _log_normal(x, self.sigma)

    def loss(self, x: Reals) -> Reals:
        """The mixture's."""
        return self._mixed(x)

    def moment_interval(self, exponent: float) -> tuple[tuple[float, float], float]:
        """On the left losses are negative; on the right L <= t, see `_gaussian_window`."""
        return _gaussian_window(exponent, 1 / self.sigma, self.sigma, 0.0)


@dataclass(frozen=True, slots=True)
class PoissonAdd(PoissonPair):
    """N(0, σ²) against (1-q)N(0, σ²) + qN(-1, σ²): the reverse of `PoissonRemove`, mirrored."""

    @property
    def supremum(self) -> float:
        """-ln(1-q): the sample may well have left the record out."""
        return -math.log1p(-self.rate) * (1 + 1e-14) if self.rate < 1 else math.inf

    def truncation_interval(self, tail: float) -> tuple[float, float]:
        """The two tails of N(0)."""
        reach = _normal_reach(tail) * self.sigma
        return -reach, reach

    def log_q(self, x: Reals) -> Reals:
        """N(0, σ²) times the mixture's likelihood ratio."""
        return _log_normal(x, self.sigma) - self.loss(x)

    def loss(self, x: Reals) -> Reals:
        """Minus the mixture's, mirrored."""
        return -self._mixed(-x)

    def moment_interval(self, exponent: float) -> tuple[tuple[float, float], float]:
        """On the left losses are negative; on the right they are at most -ln(1-q)."""
        growth = -exponent * math.log1p(-self.rate)
        far, rest = math.sqrt(2 * (_NEGLIGIBLE + growth)), -_NEGLIGIBLE
        if far > _FARTHEST:
            far, rest = _FARTHEST, growth * (1 + 1e-12) - _FARTHEST**2 / 2
        reach = far * self.sigma
        return (-max(reach, 0.5), reach), rest


@dataclass(frozen=True, slots=True)
class PoissonReplace(PoissonPair):
    """(1-q)N(0, σ²) + qN(1, σ²) against (1-q)N(0, σ²) + qN(-1, σ²); symmetric."""

    @property
    def signal_to_noise(self) -> float:
        """Between a record that is in the sample and the one that replaces it."""
        return 2 / self.sigma

    def log_q(self, x: Reals) -> Reals:
        """The mixture with N(-1, σ²)."""
        return _log_normal(x, self.sigma) + self._mixed(-x)

    def loss(self, x: Reals) -> Reals:
        """The difference of the two mixtures' losses against N(0, σ²)."""
        return self._mixed(x) - self._mixed(-x)

    def moment_interval(self, exponent: float) -> tuple[tuple[float, float], float]:
        """On the right L <= t - ln(1-q) and p <= N(0)e^t; on the left losses are negative."""
        growth = -exponent * math.log1p(-self.rate)
        return _gaussian_window(exponent, 1 / self.sigma, self.sigma, growth)

    def log_moment_bound(self, exponent: float) -> float:
        """Sampling every record: 4α(α-1)/(2σ²)."""
        return exponent * (exponent + 1) * 2 / self.sigma / self.sigma * (1 + 1e-14)


@dataclass(frozen=True, slots=True)
class WithoutReplacement(DensityPair):
    """The positive losses of (1-γ)N(0) + γN(μ) against N(0), to be mirrored.

    Args:
        mu: sensitivity of replacing a sampled record over the noise standard deviation.
        rate: γ, sampled fraction.
    """

    mu: float
    rate: float
    mirrored: bool = True

    @property
    def total_variation_bound(self) -> float:
        """The record is in the sample."""
        return self.rate

    @property
    def signal_to_noise(self) -> float:
        """Between a record that is in the sample and its neighbour."""
        return self.mu

    def truncation_interval(self, tail: float) -> tuple[float, float]:
        """From loss zero, x = μ/2, to the tail of N(μ)."""
        return self.mu / 2, self.mu + _normal_reach(tail)

    def log_q(self, x: Reals) -> Reals:
        """N(0, 1)."""
        return _log_normal(x, 1.0)

    def loss(self, x: Reals) -> Reals:
        """ln(1 + γ(e^t - 1)) with t = μx - μ²/2, never below zero."""
        return mixture_loss(np.maximum(self.mu * (x - self.mu / 2), 0.0), self.rate)

    def max_cell_width(self, x: Reals) -> Reals:
        """A fraction of one that shrinks in the tails."""
        return _widest(x, 1.0, self.mu)

    def moment_interval(self, exponent: float) -> tuple[tuple[float, float], float]:
        """From loss zero; on the right L <= t, and the mirror image is negative."""
        (_, right), rest = _gaussian_window(exponent, self.mu, 1.0, 0.0)
        return (self.mu / 2, right), rest

    def log_moment_bound(self, exponent: float) -> float:
        """Sampling every record: α(α-1)μ²/2."""
        return exponent * (exponent + 1) * self.mu * self.mu / 2 * (1 + 1e-14)


_NEGLIGIBLE = 90.0
"""What is left outside a window adds at most e^{-90} to a moment, which is at least 1."""

_FARTHEST = 36.0
"""Standard deviations from a centre at which a normal density, e^{-648}, is a double yet."""


def _gaussian_window(
    exponent: float, mu: float, unit: float, growth: float
) -> tuple[tuple[float, float], float]:
    """Where to integrate e^{sL}p if p <= N(0)e^t and L <= t + ``growth``/s on the right.

    In units of the noise t = μx - μ²/2, and with α = s + 1 the integral of N(0)e^{αt} right of X is
    e^{α(α-1)μ²/2} P(N(αμ, 1) > X), at most e^{α(α-1)μ²/2 - (X-αμ)²/2}. Where N(μ) is too small for
    a double nothing can be integrated: what lies there is part of the bound.
    """
    order = exponent + 1
    left = math.sqrt(2 * _NEGLIGIBLE)
    size = order * exponent * mu * mu
    if not math.isfinite(size):
        return (-left * unit, left * unit), math.inf
    right = order * mu + math.sqrt(2 * (_NEGLIGIBLE + growth) + size) * (1 + 1e-12)
    if right <= mu + _FARTHEST:
        return (-left * unit, right * unit), -_NEGLIGIBLE
    right, beyond = mu + _FARTHEST, _FARTHEST - exponent * mu
    if beyond <= 0:
        return (-left * unit, left * unit), math.inf
    rest = growth + size / 2 - beyond * beyond / 2
    return (-left * unit, right * unit), rest + 1e-12 * (growth + size + _FARTHEST**2)


_EXPONENT = 700.0
"""Up to it e^t is a double, and 1 + q(e^t - 1) loses nothing where t + ln q would cancel."""


def mixture_loss(t: Reals, rate: float) -> Reals:
    """ln(1 - q + q e^t), accurate for tiny results, for huge t, and where q is near one."""
    rest = math.log1p(-rate) if rate < 1 else -math.inf
    with np.errstate(over="ignore", divide="ignore"):
        result = np.log1p(rate * np.expm1(np.minimum(t, _EXPONENT)))
    apart = t > _EXPONENT
    if rate > 0.5:  # 1 - q + q e^t may be a small difference of numbers near one
        apart |= t < -0.5
    if np.any(apart):
        result = np.where(apart, np.logaddexp(rest, math.log(rate) + t), result)
    return np.asarray(result, dtype=np.float64)


def _log_normal(x: Reals, sigma: float) -> Reals:
    result: Reals = -((x / sigma) ** 2) / 2 - (math.log(sigma) + _LOG_ROOT_2_PI)
    return result


def _normal_reach(tail: float) -> float:
    """A z with P(N(0,1) > z) <= tail, from Φ(-z) <= e^{-z²/2}/2."""
    return math.sqrt(max(2 * math.log(0.5 / tail), 0.0)) * (1 + 1e-12)


def _widest(x: Reals, sigma: float, other: float) -> Reals:
    """Width up to which six-point quadrature of normal densities is exact to 1e-14, relative.

    Near z standard deviations from a centre the density's n-th derivative grows like z^n.
    """
    far = np.maximum(np.abs(x), np.maximum(np.abs(x - other), np.abs(x + other))) / sigma
    result: Reals = 0.6 * sigma / (1 + far)
    return result
