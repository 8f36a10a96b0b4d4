"""How many numbers of one release are equal to another of the same release."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.learning.repeats import value_odds

Array = NDArray[np.float64]


def tie_odds(first: Array, second: Array) -> Callable[[Array], Array] | None:
    """Log-odds of that number; None where it never changes."""
    seen = [_ties(values) for values in (first, second)]
    both = np.concatenate(seen)
    if (both == both[0]).all():
        return None
    odds = value_odds(*seen)
    return lambda values: odds(_ties(values))


def _ties(values: Array) -> Array:
    ordered = np.sort(values, axis=1)
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).sum(axis=1), dtype=np.float64)
