"""A trade-off curve from below, by the lines that some hundred (ε, δ) give.

Every (ε, δ(ε)) bounds the false-negative rate at a false-positive rate α from below by
``max(0, 1 - δ - e^ε α, e^{-ε}(1 - δ - α))``. The best lines are looked for on a grid, and three
times more on finer ones next to the best; an imperfect choice costs tightness only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcalc import checks
from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.accounting.losses import Reals

if TYPE_CHECKING:
    from dpcalc.guarantees.base import Guarantee

_GRID, _FINER, _ROUNDS = 161, 8, 3
_SMALLEST, _FARTHEST = 1e-12, 700.0


def curve_below(guarantee: Guarantee, rates: Sequence[float]) -> tuple[float, ...]:
    """Lower bounds of any attack's false-negative rates at false-positive rates."""
    alpha = np.array([checks.probability("false_positive_rate", rate) for rate in rates])
    if len(alpha) == 0:
        return ()
    with with_relative_width(1e-2):
        certain = guarantee.delta(_FARTHEST) * (1 + _SMALLEST)
        reach = min(guarantee.epsilon(min(certain + _SMALLEST, 0.999)), _FARTHEST)
    grid = np.unique(np.append(reach * np.linspace(0, 1, _GRID) ** 1.5, 0.0))
    # Both kinds of lines rise and fall once along ε, so each is looked for by itself.
    values = _lines(grid, np.array(guarantee.deltas(grid.tolist())), alpha)
    found, best = values.max(axis=1), values.argmax(axis=1)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    rows = np.arange(len(found))
    for _ in range(_ROUNDS):
        near = np.linspace(low, high, _FINER + 1, axis=1)
        finer = np.unique(near)
        deltas = np.array(guarantee.deltas(finer.tolist()))[np.searchsorted(finer, near)]
        values = _lines(near, deltas, alpha)
        found, best = np.maximum(found, values.max(axis=1)), values.argmax(axis=1)
        low, high = near[rows, np.maximum(best - 1, 0)], near[rows, np.minimum(best + 1, _FINER)]
    found = found.reshape(2, -1).max(axis=0)
    below = np.nextafter(found * (1 - 1e-13) - 1e-15, -np.inf)
    return tuple(float(value) for value in np.maximum(below, 0.0))


def _lines(epsilons: Reals, deltas: Reals, rates: Reals) -> Reals:
    """What each (ε, δ) says of each rate, by lines of the one kind and then of the other.

    Args:
        epsilons: shape (n,) for all rates, or (2k, n).
        deltas: at these.
        rates: shape (k,).

    Returns:
        Shape (2k, n).
    """
    shape = (2 * len(rates), epsilons.shape[-1])
    grown, beyond = (np.broadcast_to(x, shape) for x in (np.exp(epsilons), deltas))
    half, alpha = len(rates), rates[:, None]
    steep = 1 - beyond[:half] - alpha * grown[:half]
    flat = (1 - beyond[half:] - alpha) / grown[half:]
    return np.concatenate([steep, flat])
