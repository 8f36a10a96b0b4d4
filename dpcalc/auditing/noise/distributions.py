"""p-values of sums and of empirical distribution functions, with scipy.special alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def two_sided(lower_tail: float, upper_tail: float) -> float:
    """Twice the smaller tail, at most 1."""
    return min(1.0, 2 * min(lower_tail, upper_tail))


def gamma_two_sided(total: float, shape: float) -> float:
    """p-value of a sum that should be Gamma(shape, 1)."""
    from scipy.special import gammainc, gammaincc

    return two_sided(float(gammainc(shape, total)), float(gammaincc(shape, total)))


def normal_two_sided(z: float) -> float:
    """p-value of a number that should be standard normal."""
    from scipy.special import ndtr

    return float(min(1.0, 2 * ndtr(-abs(z))))


def kolmogorov(sample: Array, cdf: Callable[[Array], Array]) -> tuple[float, float]:
    """Largest distance of the empirical from a continuous distribution function, and its p-value.

    Two-sided, by Kolmogorov's limit with Stephens's correction for finite samples.
    """
    from scipy.special import kolmogorov as survival

    values = np.sort(np.asarray(sample, float).ravel())
    n = len(values)
    expected = cdf(values)
    steps = np.arange(n + 1) / n
    distance = float(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()))
    root = math.sqrt(n)
    return distance, float(survival((root + 0.12 + 0.11 / root) * distance))


def correlation(a: Array, b: Array, scale: float = 1.0) -> tuple[float, float]:
    """Mean product of two samples that should be independent with mean 0, and its p-value.

    Args:
        a: numbers, shape (n,).
        b: as many.
        scale: standard deviation of one product under independence.
    """
    n = len(a)
    mean = float(np.mean(a * b))
    return mean / scale, normal_two_sided(mean / scale * math.sqrt(n))


def poisson_at_least(count: int, expected: float) -> float:
    """P(Poisson(expected) >= count)."""
    from scipy.special import gammainc

    return 1.0 if count <= 0 else float(gammainc(count, expected))
