"""A trade-off curve from below, by the lines that some dozens of (ε, δ) give.

Every (ε, δ(ε)) bounds the false-negative rate at a false-positive rate α from below by
``max(0, 1 - δ - e^ε α, e^{-ε}(1 - δ - α))``. The best lines are looked for on a grid, then at the
top of parabolas through three neighbours and in corners, as long as that gains something; an
imperfect choice costs tightness only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.accounting.losses import Reals

if TYPE_CHECKING:
    from dpcalc.guarantees.base import Guarantee

Indices = NDArray[np.intp]

_GRID, _ROUNDS = 41, 3
_STEPS = 32
"""Between the neighbours of a best line; rates that are close together share a step."""

_GAIN, _CORNER, _SMALL = 1e-5, 1e-3, 1e-3
"""What another line has to add to be asked for, relative to what is found or to the last."""

_SMALLEST, _FARTHEST, _SHARE = 1e-12, 700.0, 1e-3


def curve_below(guarantee: Guarantee, rates: Sequence[float]) -> tuple[float, ...]:
    """Lower bounds of any attack's false-negative rates at false-positive rates."""
    alpha = np.array([checks.probability("false_positive_rate", rate) for rate in rates])
    if len(alpha) == 0:
        return ()
    reach = _reach(guarantee, alpha)
    grid = np.unique(np.append(reach * np.linspace(0, 1, _GRID) ** 1.5, 0.0))
    deltas = np.array(guarantee.deltas(grid.tolist()))
    for _ in range(_ROUNDS if len(grid) > 2 else 0):
        further = np.setdiff1d(_tops(grid, _lines(grid, deltas, alpha)), grid)
        if len(further) == 0:
            break
        grid = np.append(grid, further)
        deltas = np.append(deltas, guarantee.deltas(further.tolist()))
        order = grid.argsort()
        grid, deltas = grid[order], deltas[order]
    found = _lines(grid, deltas, alpha).max(axis=1).reshape(2, -1).max(axis=0)
    below = np.nextafter(found * (1 - 1e-13) - 1e-15, -np.inf)
    return tuple(float(value) for value in np.maximum(below, 0.0))


def _reach(guarantee: Guarantee, rates: Reals) -> float:
    """From here on lines at larger ε gain at most δ, a thousandth of every rate and of its rest."""
    smallest = float(np.minimum(rates, 1 - rates).min()) * _SHARE
    with with_relative_width(1e-2):
        reach = guarantee.epsilon(max(smallest, _SMALLEST))
        if reach == math.inf:
            certain = guarantee.delta(_FARTHEST) * (1 + _SMALLEST)
            reach = guarantee.epsilon(min(certain + _SMALLEST, 0.999))
    return min(reach, _FARTHEST)


def _tops(epsilons: Reals, values: Reals) -> Reals:
    """Where another line of each kind promises to gain something over the better kind.

    Both kinds rise and fall once along ε, so each is looked for by itself: at the top of a parabola
    through the best line and its neighbours; where no parabola promises anything, in the corners that
    lines from both sides make next to it. Each place is one of some steps between the neighbours.
    """
    best, last = values.argmax(axis=1), len(epsilons) - 1
    found = np.tile(values.max(axis=1).reshape(2, -1).max(axis=0), 2)
    low, high = epsilons[np.maximum(best - 1, 0)], epsilons[np.minimum(best + 1, last)]

    def places(top: Reals, height: Reals, gain: float) -> Reals:
        asked = height - found > gain * np.maximum(found, _SMALL)
        step = (high[asked] - low[asked]) / _STEPS
        return low[asked] + np.round((top[asked] - low[asked]) / step) * step

    tops = places(*_parabola(epsilons, values, np.clip(best, 1, last - 1), low, high), _GAIN)
    if len(tops) == 0:
        corners = [_corner(epsilons, values, first) for first in (best - 2, best - 1)]
        tops = np.concatenate([places(*corner, _CORNER) for corner in corners])
    return np.unique(tops)


def _parabola(
    epsilons: Reals, values: Reals, middle: Indices, low: Reals, high: Reals
) -> tuple[Reals, Reals]:
    """The top, and its height, of parabolas through each row's middle and its neighbours."""
    x0, x1, x2 = (epsilons[middle + k] for k in (-1, 0, 1))
    y0, y1, y2 = (values[np.arange(len(values)), middle + k] for k in (-1, 0, 1))
    left, right = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    bend = (right - left) / (x2 - x0)  # y = y1 + slope (x - x1) + bend (x - x1)²
    slope = left + bend * (x1 - x0)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = np.clip(x1 - slope / (2 * bend), low, high)
    return top, np.where(bend < 0, y1 + (slope + bend * (top - x1)) * (top - x1), -np.inf)


def _corner(epsilons: Reals, values: Reals, first: Indices) -> tuple[Reals, Reals]:
    """Where the lines through the first two and the last two of four points in a row meet."""
    there = (first >= 0) & (first + 3 < len(epsilons))
    start, rows = np.clip(first, 0, max(len(epsilons) - 4, 0)), np.arange(len(values))
    x0, x1, x2, x3 = (epsilons[np.minimum(start + k, len(epsilons) - 1)] for k in range(4))
    y0, y1, y2, y3 = (values[rows, np.minimum(start + k, len(epsilons) - 1)] for k in range(4))
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = (y1 - y0) / (x1 - x0), (y3 - y2) / (x3 - x2)
        top = x1 + (y2 - y1 - down * (x2 - x1)) / (up - down)
    between = there & (up > down) & (x1 < top) & (top < x2)
    return np.where(between, top, x1), np.where(between, y1 + up * (top - x1), -np.inf)


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
