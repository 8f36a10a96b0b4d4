"""The infinite product of 1/(1 + a·rᵗ) over t >= 0, for a geometric series a·rᵗ that falls to zero."""

from __future__ import annotations

import math

import numpy as np

from dpcalc.numerics.precise import Real, round_up

_FAR = 45.0
"""How far the series falls before the rest is bounded by its sum: e⁻⁴⁵ of what counts."""
_MOST_FACTORS = 4_000_000
_PIECE = 1 << 18


def geometric_product(first: Real, ratio: Real) -> float:
    """A lower bound of Π 1/(1 + first·ratioᵗ), whose logarithm is too low by 1e-9 of itself.

    A factor falls as its term of the series grows, so that a and r are rounded up. The sum of
    ln(1 + term) is inflated by more than the rounding errors of its terms; of what comes after the
    last one, ln(1 + term) <= term bounds the sum. For ratios above 1 - 2e-5 that is coarse, since
    there are at most 4,000,000 factors.

    Args:
        first: a, above 0.
        ratio: r, in (0, 1).
    """
    a, r = round_up(first), round_up(ratio)
    if r >= 1.0 or math.isinf(a):
        return 0.0
    log_ratio = math.log(r)
    wanted = max(0.0, math.log(a) + _FAR - math.log1p(-r)) / -log_ratio
    terms = min(int(wanted) + 1, _MOST_FACTORS)
    logarithm = 0.0
    for low in range(0, terms, _PIECE):
        powers = np.arange(low, min(low + _PIECE, terms))
        logarithm += float(np.log1p(a * np.exp(log_ratio * powers)).sum())
    rest = a * math.exp(log_ratio * terms) / (1 - r)
    # An exponential is off by less than an ulp, which counts where the product is next to 1.
    return math.exp(-(logarithm + rest) * (1 + 1e-9)) * (1 - 4e-16)
