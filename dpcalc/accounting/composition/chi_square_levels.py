"""What a block adds at most, by what is near to a point and what is far from it.

Statement
    `dpcalc.accounting.composition.chi_square` bounds what a block adds at a point by ``νχ² + Σ held
    (curvature - ν)_+`` for every level ν. Here ν is sought among the curvatures next to the point,
    as if all that is farther towards the peak were above it and all on the other side below; what
    lies beyond a window counts in full, for ``(curvature - ν)_+ <= curvature``. So the bound holds
    whatever the curvatures are, and costs a third of one with the best level at every point.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dpcalc.accounting.losses.distribution import Reals

_CORE, _WINDOW = 12, 96
"""Lattice points on either side among which a level is sought, and beyond which curvatures count in
full: two and twenty standard deviations of a block."""


def gain(curvature: Reals, weights: Reals, budget: float, rows: int) -> Reals:
    """An upper bound of `chi_square._gain`, with the same arguments; the peak is the last row's."""
    size = len(curvature)
    half = min(_WINDOW, size - 1)
    near = weights[size - 1 - half : size + half]
    seen = sliding_window_view(np.pad(curvature, half), 2 * half + 1)[:rows]
    level = _levels(seen, near, budget)
    above = seen - level[:, None]
    np.maximum(above, 0.0, out=above)
    found: Reals = level * budget + np.einsum("ij,j->i", above, near)
    if half < size - 1:
        far = weights[size - rows :].copy()
        far[rows - 1 - half : rows + half] = 0.0
        found += np.correlate(far, curvature, "valid")[::-1]
    return found


def _levels(seen: Reals, near: Reals, budget: float) -> Reals:
    """For each row of curvatures about a point one that is a good level; 0 if all may be held."""
    middle = len(near) // 2
    core = slice(max(middle - _CORE, 0), middle + _CORE + 1)
    seen, held = seen[:, core], near[core]
    falling = np.argsort(-seen, axis=1, kind="stable")
    used = np.cumsum(held[falling], axis=1)
    used[: max(len(seen) - _CORE, 0)] += near[core.stop :].sum()
    row = np.arange(len(seen))
    level = seen[row, falling[row, np.argmax(used > budget, axis=1)]]
    return np.where(used[:, -1] > budget, level, 0.0)
