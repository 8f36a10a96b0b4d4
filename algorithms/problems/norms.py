"""Norms of rows, where their squares are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.problems import sparse
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.sparse import Rows

Array = NDArray[np.float64]

_SMALLEST = 1e-150
"""Of a bound; its inverse is the largest. Squares of both, and sums of them, are numbers."""


def row_norms(features: Rows) -> Array:
    """Euclidean norms of the rows.

    Raises:
        InvalidInput: if one is so large that its square is not a number.
    """
    with np.errstate(over="ignore"):
        squares = sparse.squared_norms(features)
    if not np.isfinite(squares).all():
        raise InvalidInput(
            "expected rows with norms below 1e154, whose squares are numbers; got longer ones; give "
            "ranges (--scale), or features in other units"
        )
    return np.asarray(np.sqrt(squares), dtype=np.float64)


def check_bound(bound: float) -> None:
    """Refuse a largest norm of rows with whose square nothing can be computed."""
    checks.positive("row_bound", bound)
    if not _SMALLEST <= bound <= 1 / _SMALLEST:
        raise InvalidInput(
            f"row_bound (--row-bound) needs a number from {_SMALLEST:g} to {1 / _SMALLEST:g}; got "
            f"{bound!r}; give features in other units"
        )
