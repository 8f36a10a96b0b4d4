"""Where to integrate for a certificate. All of it is a choice: any line gives true enclosures."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from typing import Any

from flint import acb, arb

from dpcalc.certificates.balls import Ball, precision
from dpcalc.certificates.laws import Law, Rounds, in_parts
from dpcalc.certificates.renyi import sums_of_small

_PER_OCTAVE = 4
_COARSE = 40
"""Bits with which choices are made."""

_FINER = 1.5
"""More of them where small losses are left out, for every e-fold of how small errors are to be."""

_PLACES = 10.0, 3.0, 1.0, 0.3, 0.1
"""Odds below which losses count as small."""

_ORDERS = (*(2.0 ** (k / 2) for k in range(-20, 10)),)
"""Orders at which small losses are bounded."""

_HEIGHTS = 0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 6.0, 8.0
"""How far the integral of large losses may be moved; up to 1, in units of the strip."""

_SHALLOWEST, _NEAR = 500.0, 2.5
"""A strip's height over the least shift that is tried, and how far from the last one they are."""

_LEAST = 1e-9
"""Real parts are between it and its inverse."""

_HIGH, _FARTHEST = 32.0, 1e7
"""The height from which on it is asked whether the end will come before the farthest one."""

_QUIET = 75
"""Logarithm of how much less than its limit is left of a law where it is quiet."""


class Chooser:
    """Lines for the δ(ε) of some rounds."""

    def __init__(self, rounds: Rounds, eps: float, known: dict[float, float] | None = None) -> None:
        self._rounds, self._eps = rounds, eps
        self._known = {} if known is None else known  # logarithms of moments at real parts
        self._small: dict[tuple[float, int], float] = {}  # by place and order
        self._heights: dict[int, int] = {}  # the best of _HEIGHTS for a law when last looked for
        self._shifts: dict[int, float] = {}  # the best shift for a law when last looked for

    def line(
        self, log_tolerance: float, smoothing: float = 0.0, bits: int = _COARSE
    ) -> dict[str, Any]:
        """The fields of a line with few nodes whose errors are about e^log_tolerance.

        Args:
            log_tolerance: logarithm of the error that aliases and tail may each have.
            smoothing: μ of one more Gaussian round, in units of 1/c.
            bits: with which it is chosen.
        """
        with precision(_COARSE):
            c, period, order = self._place(log_tolerance)
        with precision(bits):
            step = 2 * math.pi / period
            s = min(smoothing / c, 0.3)
            y = self._end(c, log_tolerance + math.log(step), s)
            nodes = max(1, math.ceil(y / step))
            quiet = [self._quiet(k, c, step, nodes) for k in range(len(self._rounds))]
            shifts = [self._beyond(k, c, step * first)[1] for k, first in enumerate(quiet)]
        return {
            "real_part": repr(c),
            "period": repr(period),
            "order": repr(order),
            "smoothing": repr(s),
            "nodes": nodes,
            "shifts": [repr(shift) for shift in shifts],
            "quiet": quiet,
        }

    def parted_line(self, log_tolerance: float) -> dict[str, Any] | None:
        """The same without sums of small losses; None where too much would be left out."""
        bits = _COARSE + math.ceil(_FINER * max(0.0, -log_tolerance))
        with precision(bits):
            place, chernoff = self._parts(log_tolerance)
            if not place:
                return None
            split = [(in_parts(law, arb(place)), n) for law, n in self._rounds]
            chooser = Chooser(split, self._eps, self._known)  # moments are the same in parts
            found = chooser.line(log_tolerance, bits=bits)
        del found["smoothing"], found["quiet"]
        return {**found, "place": repr(place), "chernoff": repr(chernoff)}

    def _parts(self, log_tolerance: float) -> tuple[float, float]:
        """The largest place of a few, and the least order, at which next to nothing is left out."""
        if not self._order(_PLACES[-1], log_tolerance):  # of the least place least is left out
            return 0.0, 0.0
        found = ((place, self._order(place, log_tolerance)) for place in _PLACES)
        return next((place, order) for place, order in found if order)

    def _order(self, place: float, log_tolerance: float) -> float:
        """The least order at which next to nothing is left out, 0 if there is none."""

        def little(k: int) -> bool:
            return self._left_out(place, k) < log_tolerance - 1

        def rises(k: int) -> bool:
            return self._left_out(place, k) <= self._left_out(place, k + 1)

        last = len(_ORDERS) - 1
        least = bisect_left(range(last), True, key=rises)  # the bound has one valley
        if not little(least):
            return 0.0
        return _ORDERS[bisect_left(range(least), True, key=little)]

    def _left_out(self, place: float, k: int) -> float:
        """Logarithm of the bound of what is left out, at the k-th order."""
        if (place, k) not in self._small:
            split = [(in_parts(law, arb(place)), n) for law, n in self._rounds]
            bound = sums_of_small(split, arb(self._eps), arb(_ORDERS[k])).upper()
            self._small[place, k] = log(bound) if bound.is_finite() else math.inf
        return self._small[place, k]

    def _lead(self, c: float) -> float:
        """Logarithm of the summed loss's moment, times e^{-cε}."""
        if c not in self._known:
            z = acb(c)
            logs = (n * log(law.moment(z)) for law, n in self._rounds)
            self._known[c] = math.fsum(logs) - c * self._eps
        return self._known[c]

    def _place(self, log_tolerance: float) -> tuple[float, float, float]:
        """Real part, period and order with the shortest period, not far above the saddle."""

        def height(c: float) -> float:
            return self._lead(c) - math.log(c * (c + 1))

        saddle = 1.0
        for factor in (2.0, 0.5):
            while height(saddle * factor) < height(saddle) and _LEAST < saddle < 1 / _LEAST:
                saddle *= factor
        saddle = math.exp(
            lowest(lambda t: height(math.exp(t)), math.log(saddle / 2), math.log(saddle * 2), 6)[0]
        )
        grid = [saddle * 2.0 ** (k / _PER_OCTAVE) for k in range(-8, 17)]
        least = height(saddle)
        best = (math.inf, saddle, 2 * saddle)
        for k, c in enumerate(grid[:-1]):
            if height(c) > least + 12:
                continue
            for order in grid[k + 1 : k + 13]:
                right = (self._lead(order) - log_tolerance) / (order - c)
                period = max(-log_tolerance / c, right)
                best = min(best, (period, c, order))
        period, c, order = best
        return c, period, order

    def _end(self, c: float, log_tolerance: float, s: float) -> float:
        """A height beyond which everything is negligible."""

        def beyond(y: float) -> float:
            total = -c * self._eps - math.log(y) - (s * y) ** 2 / 2
            return total + self._above(c, y)

        y = 1.0
        while beyond(y) > log_tolerance:
            y *= 2
            if y == _HIGH and beyond(_FARTHEST) > log_tolerance:  # it does not fall, or too slowly
                return _FARTHEST * 1e6
        return first(lambda height: beyond(height) <= log_tolerance, y / 2, y)

    def _above(self, c: float, y: float) -> float:
        """Logarithm of the bound on the moment beyond a height, less what stays at loss 0."""
        bounds = [
            (n, float(_left_out(law, c)), self._beyond(k, c, y)[0])
            for k, (law, n) in enumerate(self._rounds)
        ]
        if all(still > 0 for _, still, _ in bounds):
            more = math.fsum(n * _log1p_exp(log - math.log(still)) for n, still, log in bounds)
            idle = math.fsum(n * math.log(still) for n, still, _ in bounds)
            return idle + _log_expm1(more)
        return math.fsum(
            n * (math.log(still) + _log1p_exp(log - math.log(still)) if still > 0 else log)
            for n, still, log in bounds
        )

    def _quiet(self, k: int, c: float, step: float, nodes: int) -> int:
        """The first node at which a law is as good as its limit, or one beyond the last."""
        law, count = self._rounds[k]
        if law.small or law.strip == 0 or not law.still > 0:
            return nodes + 1
        small = log(law.still) - _QUIET - math.log(count)

        def quiet(y: float) -> bool:
            return self._beyond(k, c, y)[0] <= small

        if not quiet(step * nodes):
            return nodes + 1
        y = step
        while not quiet(y):
            y *= 2
        return min(nodes + 1, math.ceil(first(quiet, y / 2, y) / step))

    def _beyond(self, k: int, c: float, y: float) -> tuple[float, float]:
        """Logarithm of the bound on a law's moment beyond a height, and a shift that makes it small."""
        law = self._rounds[k][0]

        @cache
        def bound(shift: float) -> float:
            return log(law.beyond(arb(c), arb(y), arb(shift)))

        if law.strip == 0:
            return bound(0.0), 0.0
        if not law.small:
            shift, least = self._lowest_shift(k, math.log(law.strip), bound)
            return least, shift
        shifts = [each * (law.strip if each <= 1 else 1) * 0.63 for each in _HEIGHTS]
        at = self._heights.get(k, -1)
        if at < 0:
            at = min(range(len(shifts)), key=lambda j: bound(shifts[j]))
        while (near := min(_next_to(at), key=lambda j: bound(shifts[j]))) != at:
            at = near
        self._heights[k] = at
        return bound(shifts[at]), shifts[at]

    def _lowest_shift(
        self, k: int, log_strip: float, bound: Callable[[float], float]
    ) -> tuple[float, float]:
        """The shift up to a strip's height at which a bound is about the least; near the last one."""
        low, high, steps = log_strip - math.log(_SHALLOWEST), log_strip, 10
        if k in self._shifts:
            last, near = math.log(self._shifts[k]), math.log(_NEAR)
            low, high, steps = max(low, last - near), min(high, last + near), 4
        shift, least = lowest(lambda s: bound(math.exp(s)), low, high, steps)
        self._shifts[k] = math.exp(shift)
        return self._shifts[k], least


def _left_out(law: Law, c: float) -> Ball:
    """The moment of what is left out of a law."""
    return abs(law.small(acb(c))) if law.small else law.still


def _log1p_exp(x: float) -> float:
    return math.log1p(math.exp(x)) if x < 30 else x


def _log_expm1(x: float) -> float:
    if x > 30:
        return x
    return math.log(math.expm1(x)) if x > 0 else -math.inf


def first(holds: Callable[[float], bool], low: float, high: float, steps: int = 4) -> float:
    """About where it begins to hold, from the side where it does."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _next_to(at: int) -> list[int]:
    """A place among _HEIGHTS and those next to it; it is the first where all are alike."""
    return [at, *(j for j in (at - 1, at + 1) if 0 <= j < len(_HEIGHTS))]


def log(value: Any) -> float:
    """The logarithm of an upper bound of a modulus, infinite where nothing is known."""
    log = float(abs(value).upper().log())
    return math.inf if math.isnan(log) else log


def lowest(f: Callable[[float], float], low: float, high: float, steps: int) -> tuple[float, float]:
    """About where a function with one valley is least, and its value there."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = f(left), f(right)
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = f(right)
    return (left, at_left) if at_left <= at_right else (right, at_right)
