"""How every noise is shared between the kernel before it and the kernel after it.

Statement
    Kernel t works with the share θ_t of the noise before it and the share 1 - θ_{t+1} of the noise
    after it, θ_1 = 1 and θ_K = 0. ``best_shares`` makes ``Σ_t weight_t·score(θ_t, 1 - θ_{t+1})``
    large: dynamic programming over a grid, then over ever finer grids around the best.
Rounding
    Doubles. Any shares prove a bound, so the search may miss the best; it never loses to a choice
    of shares on its first grid, 0 and 1 among them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Score = Callable[[Reals, Reals], Reals]

_GRID, _NEAR, _ZOOMS, _SHRINK = 33, 7, 13, 0.4


def best_shares(score: Score, weights: Reals, near: Reals | None = None) -> Reals:
    """θ_1..θ_K for K - 1 kernels.

    Args:
        score: (share of the noise before, share of the noise after) -> what a kernel is worth;
            broadcasts over arrays.
        weights: of the kernels, 0 or above, shape (K - 1,).
        near: shares to begin with in place of the whole grid, shape (K,).
    """
    inner = len(weights) - 1
    if near is None:
        whole = np.tile(np.linspace(0.0, 1.0, _GRID), (inner, 1))
        near = _best_path(score, weights, whole)
    width = 1.0 / (_GRID - 1)
    for _ in range(_ZOOMS if inner else 0):
        around = near[1:-1, None] + width * np.linspace(-1, 1, _NEAR)
        near = _best_path(score, weights, np.clip(around, 0.0, 1.0))
        width *= _SHRINK
    return near


def _best_path(score: Score, weights: Reals, grids: Reals) -> Reals:
    """The best shares of which each inner one is from its own row of ``grids``."""
    inner, count = grids.shape
    shares = np.empty((inner + 2, count))
    shares[0], shares[1:-1], shares[-1] = 1.0, grids, 0.0
    # Axis 0: the kernel; axis 1: the share before it; axis 2: that of the noise after it.
    gain = score(shares[:-1, :, None], 1 - shares[1:, None, :])
    gain = np.where(weights[:, None, None] > 0, weights[:, None, None] * gain, 0.0)
    ahead, choices = np.zeros(count), np.empty((inner + 1, count), dtype=np.intp)
    for k in range(inner, -1, -1):
        total = gain[k] + ahead
        choices[k] = np.argmax(total, axis=1)
        ahead = np.max(total, axis=1)
    path = np.empty(inner + 2)
    at = 0
    for k, row in enumerate(shares):
        path[k] = row[at]
        if k <= inner:
            at = choices[k, at]
    return path
