"""Statements about symmetric matrices that hold in spite of rounding.

A Cholesky factorisation of ``M - cI`` in doubles that runs to its end proves that M is positive
definite once c covers the backward error of the factorisation, a multiple of the unit roundoff
times the trace (Rump 2006, Verification of positive definiteness). Everything else follows: an
eigenvalue is bounded by the definiteness of a shifted matrix, a contraction by that of
``P - MᵀPM/r²``. Estimates come from ordinary eigenvalue routines and are only ever starting points.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.errors import NumericalFailure

Array = NDArray[np.float64]

UNIT = 2.0**-53
"""The unit roundoff of a double."""


def positive_definite(matrix: Array, slack: float = 0.0) -> bool:
    """True only if every symmetric matrix within ``slack`` (spectral norm) of this one is so."""
    symmetric = (matrix + matrix.T) / 2
    if not (np.isfinite(symmetric).all() and math.isfinite(slack)):
        return False
    size = len(symmetric)
    trace = float(np.abs(np.diagonal(symmetric)).sum())
    norm = float(np.abs(symmetric).sum(axis=1).max())
    shift = slack + 4 * (size + 3) * UNIT * (trace + norm) + 1e-290
    try:
        np.linalg.cholesky(symmetric - shift * np.eye(size))
    except np.linalg.LinAlgError:
        return False
    return True


def largest_eigenvalue(
    matrix: Array, slack: float = 0.0, *, estimate: float | None = None
) -> float:
    """An upper bound of the largest eigenvalue of a symmetric matrix known up to ``slack``."""
    norm = _norm(matrix)
    if estimate is None:
        estimate = float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1])
    margin = slack + 16 * len(matrix) * UNIT * norm + 1e-280
    for _ in range(60):
        bound = estimate + margin
        if positive_definite(bound * np.eye(len(matrix)) - matrix, slack + 2 * UNIT * norm):
            return bound
        margin *= 2
    raise NumericalFailure("an eigenvalue could not be bounded; try a better scaled matrix")


def smallest_eigenvalue(matrix: Array, slack: float = 0.0) -> float:
    """A lower bound of the smallest eigenvalue of a symmetric matrix known up to ``slack``."""
    return -largest_eigenvalue(-matrix, slack)


def singular_values(matrix: Array) -> tuple[float, float]:
    """A lower bound of the smallest and an upper bound of the largest singular value.

    The smallest is that of the shorter side, 0 if full rank cannot be established.
    """
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    gram = wide @ wide.T
    slack = 2 * (wide.shape[1] + 2) * UNIT * _norm(np.abs(wide) @ np.abs(wide).T)
    low = smallest_eigenvalue(gram, slack)
    high = largest_eigenvalue(gram, slack)
    return _root(max(low, 0.0), -math.inf), _root(high, math.inf)


def contraction(matrix: Array, bound: Array) -> float | None:
    """A number r such that powers of the matrix shrink like r^k in some fixed norm, or None.

    Args:
        matrix: the matrix of a linear recursion, entries with a few roundings each.
        bound: entrywise bound of the absolute values summed in computing it.
    """
    estimate = float(np.abs(np.linalg.eigvals(matrix)).max())
    for margin in (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1):
        rate = max(estimate * (1 + margin), margin)
        if _shrinks(matrix, bound, rate):
            return rate
    return None


def _shrinks(matrix: Array, bound: Array, rate: float) -> bool:
    """Whether ``P - MᵀPM/r²`` is positive definite for the P that solves it with identity."""
    size = len(matrix)
    power, form = matrix / rate, np.eye(size)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(60):
            form = form + power.T @ form @ power
            power = power @ power
            if not np.isfinite(form).all():
                return False
            if np.abs(power).max() < 1e-20:
                break
        else:
            return False
        form = (form + form.T) / 2
        shrunk = matrix.T @ form @ matrix / rate**2
        size_of_error = np.abs(bound).T @ np.abs(form) @ np.abs(bound) / rate**2 + np.abs(form)
        slack = 8 * (size + 16) * UNIT * _norm(size_of_error)
    return positive_definite(form) and positive_definite(form - shrunk, slack)


def _norm(matrix: Any) -> float:
    """The Frobenius norm, an upper bound of the spectral one."""
    return float(np.sqrt(np.square(matrix).sum())) * (1 + 1e-12)


def _root(value: float, towards: float) -> float:
    """The square root, rounded outward."""
    return value if value == 0 else math.nextafter(math.sqrt(value), towards)
