"""Exact likelihood ratio and μ of two Gaussian laws: last iterates of affine recursions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc.errors import AssumptionViolated, InvalidInput

Array = NDArray[np.float64]

_RELATIVE = 1e-10  # eigenvalues below this share of the largest count as zero
_MISS = 1e-6  # how far means may lie outside the range of a singular covariance, relatively


def gaussian_log_ratio(
    mean_in: ArrayLike, covariance_in: ArrayLike, mean_out: ArrayLike, covariance_out: ArrayLike
) -> Callable[[Array], Array]:
    """(x of shape (runs, k)) -> ln(density under IN / density under OUT), shape (runs,).

    Covariances may be singular, where part of the vector is a function of the rest, if both laws
    live on the same plane; the density is that on the plane.

    Args:
        mean_in: shape (k,).
        covariance_in: shape (k, k).
        mean_out: shape (k,).
        covariance_out: shape (k, k).

    Raises:
        AssumptionViolated: if the laws live on different planes: then one look tells them apart.
    """
    laws = [_whitened(covariance_in), _whitened(covariance_out)]
    means = [np.asarray(mean_in, float), np.asarray(mean_out, float)]
    _same_plane(laws, means[0] - means[1])

    def ratio(x: Array) -> Array:
        terms = []
        for (root, log_determinant, _), mean in zip(laws, means, strict=True):
            z = (np.asarray(x, float) - mean) @ root
            terms.append(-0.5 * np.einsum("rk,rk->r", z, z) - 0.5 * log_determinant)
        return np.asarray(terms[0] - terms[1])

    return ratio


def gaussian_distance(difference: ArrayLike, covariance: ArrayLike) -> float:
    """μ = |S^{-1/2}(m - m')| of two Gaussian laws with one covariance S: exactly μ-GDP."""
    root, _, plane = _whitened(covariance)
    gap = np.asarray(difference, float)
    if np.linalg.norm(gap - plane @ (plane.T @ gap)) > _MISS * np.linalg.norm(gap):
        return float("inf")
    return float(np.linalg.norm(gap @ root))


def _whitened(covariance: ArrayLike) -> tuple[Array, float, Array]:
    """S^{-1/2} on its range, ln of its determinant there, and an orthonormal basis of the range."""
    S = np.asarray(covariance, dtype=np.float64)
    if (
        S.ndim != 2
        or S.shape[0] != S.shape[1]
        or not np.allclose(S, S.T, atol=1e-9 * np.abs(S).max())
    ):
        raise InvalidInput(f"a symmetric covariance was needed; got shape={S.shape!r}")
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    kept = values > _RELATIVE * max(float(values[-1]), 0.0)
    if not kept.any():
        raise InvalidInput("a covariance other than zero was needed: nothing is random")
    plane = vectors[:, kept]
    return plane / np.sqrt(values[kept]), float(np.log(values[kept]).sum()), plane


def _same_plane(laws: list[tuple[Array, float, Array]], gap: Array) -> None:
    first, second = laws[0][2], laws[1][2]
    apart = first.shape != second.shape or np.linalg.norm(
        first - second @ (second.T @ first)
    ) > _MISS * np.sqrt(first.shape[1])
    outside = np.linalg.norm(gap - first @ (first.T @ gap)) > _MISS * np.linalg.norm(gap)
    if apart or outside:
        raise AssumptionViolated(
            "two Gaussian laws on one plane were needed; got laws whose noiseless parts differ, which "
            "one look tells apart; see the exposure check"
        )
