"""Numbers as the words that labels are told apart and named by."""

from __future__ import annotations

import numpy as np

_PLAIN = 1e16
"""Whole numbers below have all their digits as doubles."""


def word(value: float) -> str:
    """A number with all digits that its type holds, a whole one without a point: two that differ do.

    Args:
        value: a float of Python or numpy, of any precision.
    """
    if 1e-4 <= abs(value) < _PLAIN or value == 0:
        return np.format_float_positional(value, trim="-")
    return np.format_float_scientific(value, trim="-") if np.isfinite(value) else str(value)
