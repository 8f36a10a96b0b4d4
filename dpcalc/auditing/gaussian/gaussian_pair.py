"""N(0, 1) against N(μ, 1) in double precision, batched: the yardstick for power and plots.

Nothing here is rounded outward. Bounds that are reported go through `dpcalc.accounting.gaussian`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def delta_of(mu: ArrayLike, epsilon: ArrayLike) -> Array:
    """δ(ε) = Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ), for μ > 0."""
    from scipy.special import log_ndtr, ndtr

    m, e = np.asarray(mu, float), np.asarray(epsilon, float)
    second = np.exp(e + log_ndtr(-e / m - m / 2))
    return np.asarray(np.maximum(ndtr(m / 2 - e / m) - second, 0.0))


def epsilon_of(mu: ArrayLike, delta: float) -> Array:
    """ε(δ), by bisection; 0 where μ is 0 or δ(0) is at most δ."""
    m = np.asarray(mu, float)
    safe = np.where(m > 0, m, 1.0)
    low = np.zeros_like(safe)
    high = (
        safe * (safe / 2 + np.sqrt(-2 * np.log(delta))) if delta > 0 else np.full_like(safe, np.inf)
    )
    for _ in range(60):
        middle = (low + high) / 2
        above = delta_of(safe, middle) > delta
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(np.where(m > 0, low, 0.0))


def mu_of(epsilon: ArrayLike, delta: float) -> Array:
    """μ at which ε(δ) is the given one, by bisection."""
    e = np.asarray(epsilon, float)
    low, high = np.full_like(e, 1e-12), np.full_like(e, 1.0)
    while (delta_of(high, e) <= delta).any():
        high = high * 2
    for _ in range(60):
        middle = (low + high) / 2
        above = delta_of(middle, e) > delta
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(low)
