"""δ of a sum known at some places, and bounds of it in between.

δ(ε) is a convex and decreasing function of e^ε, for every sum of losses. So between two places it is at
most the chord, and at least what the chords on either side say when they are prolonged; beyond the last
place it is at most what it is there. Below zero

    δ(-η) = 1 - e^{-η} + e^{-η} δ'(η),

δ' that of the reversed pairs, which at 0 is δ(0) and elsewhere at least 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpcalc.accounting.losses import UNIT_ROUNDOFF, Reals

Ends = tuple[float, float]
"""A lower and an upper bound of δ."""

_DIGITS = 64 * UNIT_ROUNDOFF
"""More than what interpolation is off by, relative to the larger of what is interpolated."""

_FARTHEST, _NEAR = 700.0, 5.0
"""Up to the first e^x is a double; and up to the second a chord is prolonged to the right."""

_LEAST = 1e-300
"""Less than the distance of two places."""


@dataclass(slots=True)
class ConvexCurve:
    """δ(ε) at 0 and above, asked for where it is wanted.

    Args:
        ask: bounds of δ at a place.
        known: what is known at some.
    """

    ask: Callable[[float], Ends]
    known: Mapping[float, Ends] = field(default_factory=dict)
    _known: dict[float, Ends] = field(init=False)
    _places: Reals = field(init=False)
    _low: Reals = field(init=False)
    _high: Reals = field(init=False)

    def __post_init__(self) -> None:
        self._known = dict(self.known)
        self.add([0.0])

    def __len__(self) -> int:
        return len(self._known)

    def add(self, places: Iterable[float]) -> bool:
        """Ask at further places, 0 or above; whether there were any."""
        before = len(self._known)
        for place in places:
            if place not in self._known:
                self._known[place] = self.ask(place)
        self._places = np.array(sorted(self._known))
        ends = np.array([self._known[place] for place in self._places])
        # δ falls: what is known farther on bounds from below, what was known before from above.
        self._low = np.maximum.accumulate(ends[::-1, 0])[::-1]
        self._high = np.minimum.accumulate(np.minimum(ends[:, 1], 1.0))
        return len(self._known) > before

    def interval(self, at: Reals) -> Reals:
        """The number of the last place that is not beyond, for each."""
        return np.maximum(np.searchsorted(self._places, at, side="right") - 1, 0)

    def ends(self, place: float) -> Ends:
        """What is known at a place that was asked."""
        return self._known[place]

    def distance(self, place: float) -> float:
        """How far the nearest place is."""
        return float(np.abs(self._places - place).min())

    def high(self, at: Reals) -> Reals:
        """At least δ, at places 0 or above."""
        left = self.interval(at)
        right = np.minimum(left + 1, len(self._places) - 1)
        whole = self._places[right] - self._places[left]
        part = np.minimum(at - self._places[left], whole)
        # (e^part - 1)/(e^whole - 1), of which neither need be a double. What is left of the way is
        # taken as such: part - whole would be off by roundings of the whole.
        left_over = np.exp(np.minimum(at - self._places[right], 0.0))
        share = left_over * -np.expm1(-part) / np.maximum(-np.expm1(-whole), _LEAST)
        share = np.where(right > left, share, 0.0)
        high = self._high[left] * (1 - share) + self._high[right] * share
        return np.asarray(high + _DIGITS * self._high[left])

    def low(self, at: Reals) -> Reals:
        """At most δ, likewise."""
        last = len(self._places) - 1
        left = self.interval(at)
        right = np.minimum(left + 1, last)
        low = np.where(left < last, self._low[right], 0.0)
        places, lows, highs = self._places, self._low, self._high
        # From the left: the chord that ends at the place before falls at least as fast.
        before = np.maximum(left - 1, 0)
        width = -np.expm1(places[before] - places[left])
        near = (before < left) & (at - places[left] < _NEAR)
        part = np.where(near, _growth(at - places[left]), 0.0)
        drop = (highs[before] - lows[left]) * (part / np.maximum(width, _LEAST))
        low = np.maximum(low, np.where(near, lows[left] * (1 - _DIGITS) - drop, 0.0))
        # From the right: the chord that begins at the place after falls no faster.
        after = np.minimum(right + 1, last)
        width = _growth(places[after] - places[right])
        part = -np.expm1(np.minimum(at - places[right], 0.0))
        rise = np.maximum(lows[right] - highs[after], 0.0) * (part / np.maximum(width, _LEAST))
        inside = (left < right) & (right < after)
        low = np.maximum(low, np.where(inside, lows[right] + rise, 0.0))
        return np.asarray(np.maximum(low, 0.0) * (1 - _DIGITS))


def _growth(distance: Reals) -> Reals:
    """e^x - 1, at most what is a double."""
    return np.asarray(np.expm1(np.minimum(distance, _FARTHEST)))
