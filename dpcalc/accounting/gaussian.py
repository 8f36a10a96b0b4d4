"""The Gaussian mechanism's exact privacy profile and its two inverses.

Statement
    For N(0, 1) against N(μ, 1) the hockey-stick divergence is
    ``δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)``; T adaptive Gaussian mechanisms with sensitivities
    Δ_t and noise σ_t compose exactly to μ² = Σ (Δ_t/σ_t)².
Source
    Balle and Wang 2018, theorem 8; Dong, Roth and Su 2022, corollary 1.
Rounding
    Formulas are evaluated with sixty digits after cancellation, over the whole range of the
    doubles, and rounded outward once: ε and δ are never below the exact value and at most one double
    above it; μ is never above the largest that meets the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.errors import NumericalFailure
from dpcalc.numerals import at_least
from dpcalc.numerics.precise import (
    DIGITS,
    Real,
    context,
    mpf,
    normal_cdf,
    normal_quantile,
    round_down,
    round_up,
    scaled_tail,
)

_ROOT_2 = math.sqrt(2)
_SPARE = 15  # digits that the two terms of δ may lose before more are carried
_CERTAIN = 60  # Φ(-60) < 2^-2600


@lru_cache(maxsize=4096)
def gaussian_delta(mu: float, epsilon: float) -> float:
    """The smallest δ for which μ-GDP implies (ε, δ)-DP.

    Args:
        mu: distance of the two unit-variance Gaussians, 0 or above; infinity gives 1.
        epsilon: 0 or above; infinity gives 0.
    """
    checks.non_negative_or_infinite("mu", mu)
    checks.non_negative_or_infinite("epsilon", epsilon)
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    return min(1.0, round_up(_delta(mpf(mu), mpf(epsilon))))


@lru_cache(maxsize=4096)
def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest ε for which μ-GDP implies (ε, δ)-DP; infinite at δ = 0 unless μ = 0."""
    checks.non_negative_or_infinite("mu", mu)
    checks.delta(delta)
    if mu == 0:
        return 0.0
    if delta == 0 or mu == math.inf:
        return math.inf
    return round_up(_epsilon(mpf(mu), mpf(delta)))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest μ for which μ-GDP implies (ε, δ)-DP: the exact Gaussian calibration.

    The noise standard deviation for sensitivity Δ over T rounds is √T·Δ/μ.

    Raises:
        InvalidInput: if δ is 0 or not below 1: no Gaussian noise gives pure differential privacy.
    """
    checks.non_negative("epsilon", epsilon)
    checks.proper_delta(delta)
    return round_down(mu_exact(epsilon, delta))


@lru_cache(maxsize=1024)
def mu_exact(epsilon: float, delta: float) -> Real:
    """`gaussian_mu` before rounding: a sixty-digit number just on the safe side of the root.

    ``δ(μ)`` is increasing; bisection in log μ to 1e-40 relative keeps the left end.
    """
    ctx = context()
    target, eps = mpf(delta), mpf(epsilon)
    # Two lower bounds of the root: δ(ε) <= δ(0) = erf(μ/√8), and δ(ε) <= Φ(μ/2 − ε/μ).
    low = _erf_inverse(target)
    if eps > 0:
        z = normal_quantile(target)
        root = ctx.sqrt(z**2 + 2 * eps)
        low = max(low, z + root if z > 0 else 2 * eps / (root - z))
    high = 2 * low
    while _delta(high, eps) <= target:
        high *= 2
    log_mu = _left_of_root(
        lambda t: _delta(ctx.exp(t), eps) - target, ctx.log(low) - 1, ctx.log(high)
    )
    return ctx.exp(log_mu)


def total_mu(mus: Iterable[tuple[float, int]]) -> float:
    """√(Σ n μ²) over pairs (μ, n), rounded up: the exact composition of Gaussian mechanisms."""
    pairs = [(mu, n) for mu, n in mus if n > 0]
    if any(mu == math.inf for mu, _ in pairs):
        return math.inf
    # In units of the finest power of two among them all are whole numbers.
    ratios = [(*at_least(mu).as_integer_ratio(), n) for mu, n in pairs]
    finest = max((denominator.bit_length() for _, denominator, _ in ratios), default=1)
    total = 0
    for numerator, denominator, n in ratios:
        total += n * (numerator << (finest - denominator.bit_length())) ** 2
    return round_up(context().sqrt(context().ldexp(mpf(total), -2 * (finest - 1))))


def _delta(mu: Real, epsilon: Real) -> Real:
    """δ(ε), to the working precision less a few digits, however much cancels.

    With ``a = ε/μ − μ/2`` and ``b = ε/μ + μ/2`` it is ``Φ(−a) − e^{−a²/2} · e^{b²/2} Φ(−b)``. Digits
    are added for the integer part of a, which is a difference of large numbers, and until the
    difference of the two terms has lost no more than what was added. Beyond `_CERTAIN` it is below
    every double above 0, or rounds to 1.
    """
    ctx = context()
    spare = _SPARE + max(0, ctx.mag(epsilon / mu), ctx.mag(mu)) // 3
    extra = spare
    while True:
        with ctx.extradps(extra):
            a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
            if abs(a) > _CERTAIN:
                return ctx.ldexp(1, -1500) if a > 0 else ctx.one
            first = normal_cdf(-a)
            value = first - ctx.exp(-a * a / 2) * scaled_tail(b)
            lost = ctx.mag(first) - ctx.mag(value) if value > 0 else ctx.prec
            if lost < 3 * (extra - spare + _SPARE):
                return value
        extra = 2 * extra + DIGITS


def _epsilon(mu: Real, delta: Real) -> Real:
    """The root in sixty digits, or in as many as a root next to zero takes."""
    ctx = context()
    if _delta(mu, mpf(0)) <= delta:
        return mpf(0)
    for extra in (0, 2 * DIGITS, 10 * DIGITS, 20 * DIGITS):
        with ctx.extradps(extra):
            found = _epsilon_by_newton(mu, delta)
            if found is not None:
                return found
    raise NumericalFailure(
        f"ε does not fit in a double; got mu={float(mu):g}, delta={float(delta):g}; "
        "try a delta farther from the one at ε = 0"
    )


def _epsilon_by_newton(mu: Real, delta: Real) -> Real | None:
    """Newton's method on log δ(ε), which is decreasing and concave; None if digits run out.

    A tangent of a concave function lies above it, so wherever the start every iterate is on the
    right of the root: the last one, with room for rounding, is an upper bound.
    """
    ctx = context()
    noise = ctx.ldexp(1, 40 - ctx.prec)
    log_delta = ctx.log(delta)
    # δ(ε) <= Φ(μ/2 − ε/μ) <= exp(−(ε/μ − μ/2)²/2) gives the start, double precision a better one.
    epsilon = mu**2 / 2 + mu * ctx.sqrt(-2 * log_delta)
    epsilon = ctx.mpf(_epsilon_in_doubles(float(mu), float(log_delta), float(epsilon)) or epsilon)
    for _ in range(400):
        value = _delta(mu, epsilon)
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        slope = -ctx.exp(-a * a / 2) * scaled_tail(b) / value
        step = (log_delta - ctx.log(value)) / slope
        epsilon += step
        if epsilon <= 0 or noise > abs(slope) * epsilon * ctx.mpf("1e-31"):
            return None
        if abs(step) <= epsilon * ctx.mpf("1e-35"):
            return epsilon * (1 + ctx.mpf("1e-30"))
    return None


def _epsilon_in_doubles(mu: float, log_delta: float, start: float) -> float | None:
    """About the root, if ordinary arithmetic can tell: a place to start, not a bound."""
    epsilon = start
    try:
        for _ in range(50):
            a = epsilon / mu - mu / 2
            second = math.exp(epsilon) * math.erfc((a + mu) / _ROOT_2) / 2
            value = math.erfc(a / _ROOT_2) / 2 - second
            step = (math.log(value) - log_delta) * value / second
            epsilon += step
            if abs(step) <= 1e-9 * epsilon:
                return epsilon
    except (ArithmeticError, ValueError):
        pass
    return None


def _erf_inverse(delta: Real) -> Real:
    """A μ with erf(μ/√8) <= δ: tangent bound for small δ, the quantile for the rest."""
    ctx = context()
    if delta < 0.1:
        return ctx.sqrt(2 * ctx.pi) * delta  # erf(x) <= 2x/√π
    return 2 * normal_quantile((1 + delta) / 2) * (1 - ctx.mpf("1e-50"))


def _left_of_root(function: Callable[[Real], Real], left: Real, right: Real) -> Real:
    """A point within 1e-40 on the left of the root of an increasing function (Illinois method)."""
    at_left, at_right = function(left), function(right)
    kept = 0  # which end survived the last step: halving its value forces the other end to move
    while right - left > 1e-40:
        middle = left - at_left * (right - left) / (at_right - at_left)
        if not left < middle < right:
            middle = (left + right) / 2
        value = function(middle)
        if value <= 0:
            left, at_left = middle, value
            at_right = at_right / 2 if kept == 1 else at_right
            kept = 1
        else:
            right, at_right = middle, value
            at_left = at_left / 2 if kept == -1 else at_left
            kept = -1
    return left


def gaussian_delta_bounds(mus: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Upper bounds of δ(ε) for many μ at once, in double precision, relative excess about 1e-12.

    ``δ = φ-part · [erfcx(a/√2) - erfcx(b/√2)]/2`` with a = ε/μ - μ/2, b = a + μ and the part
    e^{-a²/2}; where a < 0 the first term is Φ(-a). The allowance covers the error of the special
    functions (1e-14) and of a, and the smallest normal double what underflows: from a = 39 on that
    alone is the bound.

    Args:
        mus: above 0, shape (n,).
        epsilon: 0 or above.
    """
    from scipy.special import erfcx, ndtr

    tiny = np.finfo(np.float64).tiny
    with np.errstate(over="ignore"):  # for tiny μ infinity is the right end of all of them
        a = epsilon / mus - mus / 2
        b = epsilon / mus + mus / 2
        bell = np.exp(-np.minimum(a * a, 1480.0) / 2) / 2
        slack = 1 + 4e-16 * (2 + np.abs(a)) * (epsilon / mus + mus)
        low, high = erfcx(np.maximum(a, 0.0) / _ROOT_2), erfcx(b / _ROOT_2)
        first = np.where(a >= 0, bell * low, ndtr(-a))
        allowance = 2e-14 * (first + bell * high) + tiny
        bound = np.minimum((first - bell * high + allowance) * slack, 1.0)
        return np.where(a > 39 + 4e-16 * np.minimum(b, 1e300), tiny, bound)
