"""Log-odds of how far a release lies from the middle of all.

It sees worlds that differ neither in means nor in covariances, such as noise on a sphere beside
Gaussian noise, of which every single number looks nearly alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.learning.quadratic import fitted
from dpcalc.auditing.learning.repeats import value_odds
from dpcalc.auditing.learning.scaling import Scaling

Array = NDArray[np.float64]

_MOST_NUMBERS = 60


def distance_odds(first: Array, second: Array) -> Callable[[Array], Array] | None:
    """The score; None of a single number, and of too many for the runs.

    Distances are those of Mahalanobis under the covariance of both samples together.
    """
    width = first.shape[1]
    if not 1 < width <= _MOST_NUMBERS or 4 * width > min(len(first), len(second)):
        return None
    both = np.concatenate([first, second])
    scaled = Scaling.of(both)
    mean, factor = fitted(scaled(both))

    def distance(values: Array) -> Array:
        return np.asarray(np.square(np.linalg.solve(factor, (scaled(values) - mean).T)).sum(axis=0))

    odds = value_odds(distance(first), distance(second))
    return lambda values: odds(distance(values))
