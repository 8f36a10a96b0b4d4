"""Linear scores: ridge regression on numbers and their distances from the middle.

With hardly any ridge, combinations of numbers that are constant in each world and different between
them (noise used twice, noise shared by two nodes) get all the weight.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.learning.scaling import Scaling

Array = NDArray[np.float64]


def linear_score(first: Array, second: Array) -> Callable[[Array], Array]:
    """A score that separates two samples by means and spreads, steady in many dimensions."""
    scaled = Scaling.of(np.concatenate([first, second]))

    def design(values: Array) -> Array:
        z = scaled(values)
        return np.concatenate([z, np.abs(z)], axis=1)

    one, other = design(first), design(second)
    ridge = 1e-9 + np.var(np.concatenate([one, other]), axis=0).sum() / (len(one) + len(other))
    weights, middle = _discriminant(one, other, float(ridge))
    return lambda values: (design(values) - middle) @ weights


def means_score(first: Array, second: Array) -> Callable[[Array], Array]:
    """The same on the numbers alone."""
    scaled = Scaling.of(np.concatenate([first, second]))
    one, other = scaled(first), scaled(second)
    ridge = 1e-9 + np.var(np.concatenate([one, other]), axis=0).sum() / (len(one) + len(other))
    weights, middle = _discriminant(one, other, float(ridge))
    return lambda values: (scaled(values) - middle) @ weights


def exact_direction(first: Array, second: Array) -> Callable[[Array], Array] | None:
    """The same on the numbers alone and with a ridge of rounding only; None in too few runs."""
    if 2 * first.shape[1] > min(len(first), len(second)):
        return None
    scaled = Scaling.of(np.concatenate([first, second]))
    one, other = scaled(first), scaled(second)
    weights, middle = _discriminant(one, other, 1e-13 * float(np.square(one).mean() + 1e-300))
    return lambda values: (scaled(values) - middle) @ weights


def _discriminant(first: Array, second: Array, ridge: float) -> tuple[Array, Array]:
    """Weights that separate the means best against the scatter within, and the middle.

    With more numbers than runs the same by the matrix inversion lemma: products of runs take the
    memory of the runs, those of numbers would take its square.
    """
    means = first.mean(axis=0), second.mean(axis=0)
    middle, gap = (means[0] + means[1]) / 2, means[0] - means[1]
    pooled = np.concatenate([first - means[0], second - means[1]])
    runs, numbers = pooled.shape
    if numbers <= runs:
        scatter = pooled.T @ pooled / runs
        return np.linalg.solve(scatter + ridge * np.eye(numbers), gap), middle
    inner = pooled @ pooled.T + runs * ridge * np.eye(runs)
    return (gap - pooled.T @ np.linalg.solve(inner, pooled @ gap)) / ridge, middle
