"""A trade-off curve from some dozens of (ε, δ), from below and from above.

Every (ε, δ(ε)) bounds the false-negative rate at a false-positive rate α from below by
``max(0, 1 - δ - e^ε α, e^{-ε}(1 - δ - α))``. The best lines are looked for on a grid, then at the
top of parabolas through three neighbours and in corners, as long as that gains something; an
imperfect choice costs tightness only.

The curve that all of them make is ``f(α) = sup_t h(t) - tα`` over t > 0, with ``h(e^ε) = 1 - δ(ε)``
and ``h(t) = t h(1/t)`` below 1: from 0 it rises concavely to 1. Between two places h is therefore
below the lines that neighbours on either side give, and the supremum below its value in the corners
of these lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.accounting.enclosure import Bracket, with_relative_width
from dpcalc.accounting.losses import Reals
from dpcalc.guarantees.tradeoff_ends import Reaching

Indices = NDArray[np.intp]

Ends = tuple[float, float]
"""A lower and an upper bound of δ."""

Curve = Callable[[Sequence[float]], list[Ends]]
"""What bounds δ at increasing ε."""

_GRID, _ROUNDS, _FINE = 41, 3, 400
_STEPS = 32
"""Between the neighbours of a best line; rates that are close together share a step."""

_GAIN, _CORNER, _SMALL = 1e-5, 1e-3, 1e-3
"""What another line has to add to be asked for, relative to what is found or to the last."""

_SMALLEST, _FARTHEST, _SHARE, _WASTED, _LONG = 1e-12, 700.0, 1e-3, 4.0, 20.0
"""The last two: how far beyond where lines matter ε are looked at as well, and how far in any case."""

_ROOM = 4e-15
"""More than what a few roundings change by, relatively."""

_FARTHEST_CORNER = 1e300


def curve_below(guarantee: Reaching, ends: Curve, rates: Sequence[float]) -> tuple[float, ...]:
    """Lower bounds of any attack's false-negative rates at false-positive rates.

    Args:
        guarantee: says how far ε matters.
        ends: bounds of its δ at several ε.
        rates: false-positive rates.
    """
    alpha = np.array([checks.probability("false_positive_rate", rate) for rate in rates])
    if len(alpha) == 0:
        return ()
    return tuple(_below(*_asked(guarantee, ends, alpha)[::2], alpha).tolist())


def curve_ends(
    guarantee: Reaching, ends: Curve, rates: Sequence[float], certain: float = 0.0
) -> tuple[Bracket, ...]:
    """Enclosures of the curve that δ at all ε gives; arguments as for `curve_below`.

    Args:
        guarantee: says how far ε matters.
        ends: bounds of its δ at several ε.
        rates: false-positive rates.
        certain: a lower bound of δ at every ε, the probability of an infinite loss.
    """
    alpha = np.array([checks.probability("false_positive_rate", rate) for rate in rates])
    if len(alpha) == 0:
        return ()
    grid, least, deltas = _asked(guarantee, ends, alpha)
    below = _below(grid, deltas, alpha)
    least = np.maximum(least, certain)
    above = np.maximum(_above(grid, least, deltas, alpha, 1 - certain), below)
    return tuple(
        Bracket(low, high, "lines of (ε, δ)")
        for low, high in zip(below.tolist(), above.tolist(), strict=True)
    )


def profile_ends(guarantee: Reaching, ends: Curve, rates: Sequence[float]) -> tuple[Bracket, ...]:
    """Enclosures of the supremum of all lines of a profile that falls, be it convex or not.

    From one place to the next it is at least what it is at the next, and no line is above the one of
    that δ through the former. Arguments as for `curve_below`.
    """
    alpha = np.array([checks.probability("false_positive_rate", rate) for rate in rates])
    if len(alpha) == 0:
        return ()
    grid, _, deltas = _asked(guarantee, ends, alpha)
    below = _below(grid, deltas, alpha)
    grid = np.union1d(grid, np.linspace(0.0, float(grid[-1]), _FINE))
    beyond = np.append(np.array(ends(grid.tolist()))[1:, 0], 0.0)
    above = np.maximum(_highest(grid, beyond, alpha), below)
    method = "lines of a falling profile"
    return tuple(
        Bracket(*each, method) for each in zip(below.tolist(), above.tolist(), strict=True)
    )


def _highest(grid: Reals, deltas: Reals, alpha: Reals) -> Reals:
    """The best of the lines, rounded up, no higher than guessing."""
    found = _lines(grid, deltas, alpha).max(axis=1).reshape(2, -1).max(axis=0)
    return np.clip(found + 4 * _ROOM, 0.0, (1 - alpha) * (1 + _ROOM)).clip(max=1.0)


def _asked(guarantee: Reaching, ends: Curve, alpha: Reals) -> tuple[Reals, Reals, Reals]:
    """Increasing ε, with lower and upper bounds of δ there."""
    grid = _grid(guarantee, ends, alpha)
    found = np.array(ends(grid.tolist()))
    for _ in range(_ROUNDS if len(grid) > 2 else 0):
        further = np.setdiff1d(_tops(grid, _lines(grid, found[:, 1], alpha)), grid)
        if len(further) == 0:
            break
        grid = np.append(grid, further)
        found = np.concatenate([found, ends(further.tolist())])
        order = grid.argsort()
        grid, found = grid[order], found[order]
    # δ falls: what holds at one ε holds above it for δ at most, below it for δ at least.
    least = np.maximum.accumulate(found[::-1, 0])[::-1]
    return grid, least, np.minimum.accumulate(found[:, 1])


def _below(grid: Reals, deltas: Reals, alpha: Reals) -> Reals:
    """The best of the lines, rounded down."""
    found = _lines(grid, deltas, alpha).max(axis=1).reshape(2, -1).max(axis=0)
    return np.maximum(np.nextafter(found * (1 - 1e-13) - 1e-15, -np.inf), 0.0)


def _above(grid: Reals, least: Reals, most: Reals, alpha: Reals, limit: float) -> Reals:
    """At least the supremum of h(t) - tα over all t, from bounds of δ, h at most a limit."""
    steep = _Concave.through(np.exp(grid), 1 - most, 1 - least)
    shrunk, low, high = (values[::-1] for values in (np.exp(-grid), 1 - most, 1 - least))
    flat = _Concave.through(shrunk, shrunk * low, shrunk * high)
    each = [
        _supremum(*corners, alpha) for corners in (steep.corners_beyond_one(limit), flat.corners())
    ]
    return np.minimum(np.maximum(*each), np.minimum((1 - alpha) * (1 + _ROOM), 1.0))


@dataclass(frozen=True, slots=True)
class _Concave:
    """A concave function of t that rises from 0 at 0 with a slope of 1 at most, between bounds.

    Attributes:
        t: places, shape (n,), the first of them 0.
        high: upper bounds there.
        before: upper bounds of the slope on the left of each.
        after: lower bounds of the slope on the right.
    """

    t: Reals
    high: Reals
    before: Reals
    after: Reals

    @classmethod
    def through(cls, t: Reals, low: Reals, high: Reals) -> _Concave:
        """From bounds at increasing places that are rounded: no share of it is less than that of t."""
        t, kept = np.unique(t, return_index=True)  # places may differ by less than a double's share
        t, low, high = (
            np.append(0, t),
            np.append(0, low[kept] * (1 - _ROOM)),
            np.append(0, high[kept] * (1 + _ROOM)),
        )
        steps = np.diff(t)
        before = np.append(1.0, (high[1:] - low[:-1]) / steps * (1 + _ROOM))
        after = np.append((low[1:] - high[:-1]) / steps * (1 - _ROOM), 0.0)
        return cls(t, high, before, np.maximum(after, 0.0))

    def corners(self) -> tuple[Reals, Reals]:
        """Corners of a function above it up to the last place.

        Between two places it is below the line of the slope before the first and that of the slope
        after the second; chords to wherever these are taken to meet lie above both.
        """
        start, end = self.high[:-1], self.high[1:]
        width, rise, fall = np.diff(self.t), self.before[:-1], self.after[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            meeting = (end - fall * width - start) / (rise - fall)
        along = np.clip(np.where(rise > fall, meeting, width), 0.0, width)
        top = np.maximum(start + rise * along, end - fall * (width - along)) * (1 + _ROOM)
        return np.append(self.t[:-1] + along, self.t), np.append(top, self.high)

    def corners_beyond_one(self, limit: float) -> tuple[Reals, Reals]:
        """Likewise beyond the place after 0, and up to where it may reach its limit at last."""
        t, high = self.corners()
        cells = len(self.t) - 1
        last, slope = float(self.high[-1]), float(self.before[-1])
        rest = (limit - last) / slope if slope > 0 and last < limit else 0.0
        further = min(rest, _FARTHEST_CORNER)
        top = max(last, limit) if slope > 0 else last
        kept = np.r_[1:cells, cells + 1 : len(t)]
        return np.append(t[kept], self.t[-1] + further), np.append(high[kept], top * (1 + _ROOM))


def _supremum(t: Reals, high: Reals, alpha: Reals) -> Reals:
    """At least the largest value of the function with these corners, less tα."""
    return np.asarray((high * (1 + _ROOM) - alpha[:, None] * (t * (1 - _ROOM))).max(axis=1))


def _grid(guarantee: Reaching, ends: Curve, rates: Reals) -> Reals:
    """Increasing ε from 0 on, no further than lines can be above 0, or above that of ε = 0.

    From the last but those that infinite losses ask for on, lines at larger ε gain at most δ, a
    thousandth of every rate and of its rest.
    """
    smallest = max(float(np.minimum(rates, 1 - rates).min()) * _SHARE, _SMALLEST)
    beyond = [0.0]
    with with_relative_width(1e-2):
        reach = guarantee.epsilon(smallest)
        if reach == math.inf:
            certain = guarantee.delta(_FARTHEST) * (1 + _SMALLEST)
            reach = guarantee.epsilon(min(certain + _SMALLEST, 0.999))
            beyond.append(_FARTHEST)
    reach = min(reach, _FARTHEST)
    enough = _SHARE - math.log(max(float(rates.min()), math.exp(-_FARTHEST)))
    if reach > max(_WASTED * enough, _LONG):
        least = 1 - ends([0.0, enough])[0][1] - float(rates.max())
        enough = max(enough, -math.log(max(least, math.exp(-_FARTHEST)))) + _SHARE
        reach = enough if reach > _WASTED * enough else reach
    return np.unique(np.append(reach * np.linspace(0, 1, _GRID) ** 1.5, beyond))


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
