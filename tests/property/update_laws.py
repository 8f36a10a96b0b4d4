"""What opposite records make of an update: twice the shift."""

from __future__ import annotations

import math

from scipy.special import ndtr


def doubled_shift(mu: float, epsilon: float) -> float:
    """δ(ε) of a Gaussian mechanism with 2μ, in doubles."""
    m = 2 * mu
    return float(ndtr(m / 2 - epsilon / m) - math.exp(epsilon) * ndtr(-m / 2 - epsilon / m))
