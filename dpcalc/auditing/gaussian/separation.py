"""How far apart two Gaussian laws are, for releases without a transcript."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpcalc.errors import AssumptionViolated

Array = NDArray[np.float64]

_NEGLIGIBLE = 1e-11  # of the largest eigenvalue: a direction without noise


class Law(Protocol):
    """A Gaussian law, as algorithms hand it out."""

    @property
    def mean(self) -> Array:
        """Shape (k,)."""

    @property
    def covariance(self) -> Array:
        """Shape (k, k)."""


def separation(first: Law, second: Law) -> tuple[float, Array, Array]:
    """μ of two laws with one covariance, and the direction and middle of the best test.

    The best test of N(m, S) against N(m', S) looks at v·(x - (m + m')/2), v = S⁻¹(m - m'), which is
    the log-likelihood ratio; μ = √((m - m')ᵀv). Where S has no noise and the means differ, μ is
    infinite and v points there.

    Raises:
        AssumptionViolated: if the covariances differ.
    """
    S = np.asarray(first.covariance)
    if not np.allclose(S, second.covariance, rtol=1e-8, atol=1e-12 * (1e-300 + np.abs(S).max())):
        raise AssumptionViolated(
            "expected one covariance in both worlds; two differ; take linear losses, or quadratic "
            "ones with the same curvature"
        )
    gap, middle = first.mean - second.mean, (first.mean + second.mean) / 2
    size = np.sqrt(np.maximum(np.diagonal(S), 0))
    scale = np.where(size > 0, size, max(float(size.max()), 1e-300))
    values, vectors = np.linalg.eigh(S / np.outer(scale, scale))
    inside = vectors.T @ (gap / scale)
    noisy = values > _NEGLIGIBLE * values.max()
    outside = np.where(noisy, 0.0, inside)
    if np.linalg.norm(outside) > 1e-6 * np.linalg.norm(inside):
        return math.inf, (vectors @ outside) / scale, middle
    weighted = np.where(noisy, inside / np.where(noisy, values, 1.0), 0.0)
    return math.sqrt(float(inside @ weighted)), (vectors @ weighted) / scale, middle
