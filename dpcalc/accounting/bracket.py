"""Enclosures, and where a computed bound crosses a level."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from dpcalc.errors import NumericalFailure

_relative_width = ContextVar("relative width", default=1e-6)


def relative_width() -> float:
    """The width, relative to the answer, that enclosures aim at unless told otherwise."""
    return _relative_width.get()


@contextmanager
def aiming_at(width: float) -> Iterator[None]:
    """Within this block enclosures aim at another relative width; a wide one costs little.

    Every enclosure is valid whatever its width, so a search may run wide first.
    """
    token = _relative_width.set(width)
    try:
        yield
    finally:
        _relative_width.reset(token)


@dataclass(frozen=True, slots=True)
class Bracket:
    """An enclosure: the exact value lies in [lower, upper]; the upper end is the one to report."""

    lower: float
    upper: float
    method: str

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper:
            raise NumericalFailure(
                f"an enclosure with 0 <= lower <= upper was needed; got lower={self.lower!r}, "
                f"upper={self.upper!r} by {self.method}; please report the request that led here"
            )

    @property
    def relative_width(self) -> float:
        """(upper - lower)/upper, zero if they are equal, infinite if only the upper one is."""
        if self.upper == self.lower:
            return 0.0
        return (self.upper - self.lower) / self.upper if self.upper < math.inf else math.inf


def crossing(
    bound: Callable[[float], float], delta: float, guess: float, unit: float, tolerance: float
) -> tuple[float, float]:
    """(low, high) at most ``tolerance`` apart with ``bound`` above δ at low and at most δ at high.

    (0, 0) if it never is above, and an infinite end if it always is. ``unit`` is a typical
    |dε/d ln δ|.
    """
    target = math.log(delta)

    def height(epsilon: float) -> float:
        return _log(bound(epsilon)) - target

    low = high = max(guess, 0.0)
    at_low = at_high = height(low)
    step = max(2 * tolerance, 1.1 * unit * min(abs(at_low), 30.0))
    while at_high > 0:
        low, at_low, high = high, at_high, high + step
        at_high, step = height(high), 2 * step
        if step > 1e15 * unit:
            return low, math.inf
    while at_low <= 0:
        if low == 0:
            return 0.0, 0.0
        high, at_high, low = low, at_low, max(low - step, 0.0)
        at_low, step = height(low), 2 * step
    kept = 0
    while high - low > max(tolerance, 1e-15 * high):
        width = high - low
        middle = low + width / 2
        if math.isfinite(at_high):
            # Regula falsi, aimed a little past the root on the side that has not moved of late.
            root = low + width * at_low / (at_low - at_high)
            aimed = root + (tolerance / 3 if kept <= 0 else -tolerance / 3)
            middle = min(max(aimed, low + width / 64), high - width / 64)
        value = height(middle)
        if value > 0:
            low, at_low = middle, value
            at_high = at_high / 2 if kept > 0 else at_high
            kept = 1
        else:
            high, at_high = middle, value
            at_low = at_low / 2 if kept < 0 else at_low
            kept = -1
    return low, high


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
