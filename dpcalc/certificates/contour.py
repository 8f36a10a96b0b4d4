"""Where to integrate for a certificate. All of it is a choice: any line gives true enclosures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flint import acb, arb

from dpcalc.certificates.inversion import Rounds
from dpcalc.certificates.laws import Law, precision

_PER_OCTAVE = 4
_COARSE = 64
"""Bits with which choices are made."""

_LEAST = 1e-9
"""Real parts are between it and its inverse."""

_FARTHEST = 1e7
"""Heights beyond it are not looked at."""


class Chooser:
    """Lines for the δ(ε) of some rounds."""

    def __init__(self, rounds: Rounds, eps: float) -> None:
        self._rounds, self._eps = rounds, eps
        self._known: dict[float, float] = {}

    def line(self, log_tolerance: float, smoothing: float = 0.0) -> dict[str, Any]:
        """The fields of a line with few nodes whose errors are about e^log_tolerance.

        Args:
            log_tolerance: logarithm of the error that aliases and tail may each have.
            smoothing: μ of one more Gaussian round, in units of 1/c.
        """
        with precision(_COARSE):
            c, period, order = self._place(log_tolerance)
            step = 2 * math.pi / period
            s = min(smoothing / c, 0.3)
            y, shifts = self._end(c, log_tolerance + math.log(step), s)
        nodes = max(1, math.ceil(y / step))
        return {
            "real_part": repr(c),
            "period": repr(period),
            "order": repr(order),
            "smoothing": repr(s),
            "nodes": nodes,
            "shifts": [repr(shift) for shift in shifts],
        }

    def _lead(self, c: float) -> float:
        """Logarithm of the summed loss's moment, times e^{-cε}."""
        if c not in self._known:
            z = acb(c)
            logs = (n * _log(law.moment(z)) for law, n in self._rounds)
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
            _lowest(lambda t: height(math.exp(t)), math.log(saddle / 2), math.log(saddle * 2), 6)[0]
        )
        grid = [saddle * 2.0 ** (k / _PER_OCTAVE) for k in range(-8, 17)]
        lowest = height(saddle)
        best = (math.inf, saddle, 2 * saddle)
        for k, c in enumerate(grid[:-1]):
            if height(c) > lowest + 12:
                continue
            for order in grid[k + 1 : k + 13]:
                right = (self._lead(order) - log_tolerance) / (order - c)
                period = max(-log_tolerance / c, right)
                best = min(best, (period, c, order))
        period, c, order = best
        return c, period, order

    def _end(self, c: float, log_tolerance: float, s: float) -> tuple[float, tuple[float, ...]]:
        """A height beyond which everything is negligible, with the shifts that show it."""

        def beyond(y: float) -> tuple[float, tuple[float, ...]]:
            total = -c * self._eps - math.log(y) - (s * y) ** 2 / 2
            found = [_beyond(law, c, y) for law, _ in self._rounds]
            counts = [n for _, n in self._rounds]
            total += math.fsum(n * log for n, (log, _) in zip(counts, found, strict=True))
            return total, tuple(shift for _, shift in found)

        y = 1.0
        if beyond(_FARTHEST)[0] > log_tolerance:  # it does not fall, or falls too slowly
            return _FARTHEST * 1e6, tuple(0.0 for _ in self._rounds)
        while beyond(y)[0] > log_tolerance:
            y *= 2
        low = y / 2
        for _ in range(4):
            middle = (low + y) / 2
            low, y = (middle, y) if beyond(middle)[0] > log_tolerance else (low, middle)
        return y, beyond(y)[1]


def _beyond(law: Law, c: float, y: float) -> tuple[float, float]:
    """Logarithm of the bound on the moment beyond a height, and the shift that makes it small."""
    if law.strip == 0:
        return _log(law.beyond(arb(c), arb(y), arb(0))), 0.0

    def bound(shift: float) -> float:
        return _log(law.beyond(arb(c), arb(y), arb(shift)))

    shift, least = _lowest(
        lambda s: bound(math.exp(s)), math.log(law.strip / 500), math.log(law.strip), 10
    )
    return least, math.exp(shift)


def _log(value: Any) -> float:
    log = float(abs(value).upper().log())
    return math.inf if math.isnan(log) else log


def _lowest(
    f: Callable[[float], float], low: float, high: float, steps: int
) -> tuple[float, float]:
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
