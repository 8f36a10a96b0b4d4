"""The log-likelihood ratio of two Gaussian laws with the samples' means and covariances.

It sees worlds that differ in how numbers vary together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.learning.scaling import Scaling

Array = NDArray[np.float64]

_SHRUNK = 0.02  # share of the mean variance added to each
_MOST_NUMBERS = 60


def quadratic_score(first: Array, second: Array) -> Callable[[Array], Array] | None:
    """The score; None with too many numbers for the runs."""
    width = first.shape[1]
    if width > _MOST_NUMBERS or 4 * width > min(len(first), len(second)):
        return None
    scaled = Scaling.of(np.concatenate([first, second]))
    inside, outside = (fitted(scaled(sample)) for sample in (first, second))

    def score(values: Array) -> Array:
        z = scaled(values)
        return np.asarray(_log_density(z, *inside) - _log_density(z, *outside))

    return score


def fitted(sample: Array) -> tuple[Array, Array]:
    """Mean and Cholesky factor of the shrunk covariance of a sample, shape (runs, numbers)."""
    centred = sample - sample.mean(axis=0)
    covariance = centred.T @ centred / len(sample)
    ridge = _SHRUNK * covariance.trace() / len(covariance) + 1e-9
    return sample.mean(axis=0), np.linalg.cholesky(covariance + ridge * np.eye(len(covariance)))


def _log_density(values: Array, mean: Array, factor: Array) -> Array:
    unit = np.linalg.solve(factor, (values - mean).T)
    return np.asarray(-np.square(unit).sum(axis=0) / 2 - np.log(np.diag(factor)).sum())
