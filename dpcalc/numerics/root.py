"""Where a decreasing function crosses zero, enclosed between two points at which it was evaluated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

Objective = Callable[[float], float]
Point = tuple[float, float]

_STUBBORN = 4
"""After this many steps on one side the interval is halved."""

_NEAREST = 1 / 4096
"""How near the ends of the interval a step may go, relative to its width."""

_LONGEST = 32.0
"""The first step expects the function to fall by at most this."""

_TRIED = 4
"""So many steps of a refinement may stay on one side of the root."""


@dataclass(frozen=True, slots=True)
class Root:
    """``height`` is above zero at ``low`` and at most zero at ``high``, unless the range ended.

    Attributes:
        low: the left end; equal to ``high`` if the function is nowhere above zero.
        high: the right end; infinite if the function is above zero everywhere.
        slope: about how fast the function falls between them, down to zero if it is infinite there.
        likely: where a line through both ends crosses zero; an end if one is infinite.
    """

    low: float
    high: float
    slope: float
    likely: float


def enclose_root(
    height: Objective,
    start: float,
    *,
    tolerance: float,
    slope: float = 1.0,
    slope_known: bool = False,
    least: float = -math.inf,
    most: float = math.inf,
) -> Root:
    """Enclose the root of a decreasing function within ``tolerance``.

    Args:
        height: the function; infinite values are allowed.
        start: where to begin.
        tolerance: width aimed at; no less than the spacing of doubles is reached.
        slope: how fast the function may be expected to fall.
        slope_known: whether that holds to a percent or two, so that a step hardly beyond the root
            that it promises crosses it.
        least: left end of the range.
        most: right end of the range.
    """
    low = high = min(max(start, least), most)
    at_low = at_high = height(low)
    expected = min(abs(at_low), _LONGEST) if math.isfinite(at_low) else 1.0
    step = max(1.05 * expected / slope, 2 * tolerance)
    if slope_known:
        step = 1.003 * expected / slope + tolerance / 4
    while at_high > 0:
        if high >= most:
            return Root(high, math.inf, slope, high)
        low, at_low, high = high, at_high, min(high + step, most)
        at_high = height(high)
        step = _next_step(step, at_low - at_high, at_high)
    while at_low <= 0:
        if low <= least:
            return Root(low, low, slope, low)
        high, at_high, low = low, at_low, max(low - step, least)
        at_low = height(low)
        step = _next_step(step, at_low - at_high, at_low)
    (low, at_low), (high, at_high) = _narrowed(height, (low, at_low), (high, at_high), tolerance)
    fall = (at_low - (at_high if math.isfinite(at_high) else 0.0)) / (high - low)
    if not 0 < fall < math.inf:
        return Root(low, high, slope, high)
    return Root(low, high, fall, min(low + at_low / fall, high))


def _next_step(step: float, fall: float, left: float) -> float:
    """A little more than what a straight line needs for the rest, at most double."""
    if not (0 < fall < math.inf and math.isfinite(left)):
        return 2 * step
    return min(max(1.05 * step * abs(left) / fall, step / 100), 2 * step)


def _narrowed(
    height: Objective, left: Point, right: Point, tolerance: float
) -> tuple[Point, Point]:
    """Guarded false position, aimed a little past the root on the side that has not moved of late."""
    (low, at_low), (high, at_high) = left, right  # heights halved where an end does not move
    run = 0  # steps on the same side: positive if the left end moved
    while high - low > max(tolerance, 1e-15 * abs(high)):
        width = high - low
        middle = low + width / 2
        if 0 < at_low - at_high < math.inf and abs(run) < _STUBBORN:
            root = low + width * at_low / (at_low - at_high)
            aimed = root + (tolerance / 3 if run >= 0 else -tolerance / 3)
            middle = min(max(aimed, low + width * _NEAREST), high - width * _NEAREST)
        value = height(middle)
        if abs(run) >= _STUBBORN:
            run = 0
        if value > 0:
            left = (middle, value)
            low, at_low, run = middle, value, max(run, 0) + 1
            at_high = at_high / 2 if run > 1 else at_high
        else:
            right = (middle, value)
            high, at_high, run = middle, value, min(run, 0) - 1
            at_low = at_low / 2 if run < -1 else at_low
    return left, right


def refine_root(
    height: Objective,
    start: float,
    *,
    tolerance: float,
    slope: float,
    enough: float = 0.0,
    least: float = -math.inf,
    most: float = math.inf,
) -> Root:
    """Enclose the root of a decreasing function next to ``start``, of which the slope is known.

    Steps aim along secants a third of the tolerance past the root, to its right and then to its left:
    a smooth function takes three or four evaluations.

    Args:
        height: the function.
        start: near the root.
        tolerance: width aimed at; no less than the spacing of doubles is reached.
        slope: about how fast the function falls.
        enough: the width aimed at where a step shows that the function is not smooth.
        least: left end of the range.
        most: right end of the range.
    """
    x, last = min(max(start, least), most), None
    left, right = (-math.inf, math.inf), (math.inf, -math.inf)
    for _ in range(_TRIED):
        at = x, height(x)
        left, right = (at, right) if at[1] > 0 else (left, at)
        if right[0] - left[0] < math.inf:
            left, right = _closed_in(height, (left, right), at[1], tolerance, enough)
            return Root(left[0], right[0], _fall(left, right) or slope, right[0])
        slope = (_fall(*sorted((last, at))) if last else 0.0) or slope
        last, x = at, min(max(x + at[1] / slope + math.copysign(tolerance / 3, at[1]), least), most)
        if x == at[0] or not math.isfinite(at[1]):
            break
    return enclose_root(height, x, tolerance=tolerance, slope=slope, least=least, most=most)


def _closed_in(
    height: Objective, ends: tuple[Point, Point], latest: float, tolerance: float, enough: float
) -> tuple[Point, Point]:
    """False position, and where a step of it leaves more than half of the height, a halving."""
    left, right = ends
    rough = False
    while right[0] - left[0] > max(tolerance, 1e-15 * abs(right[0])):
        x = middle = left[0] + (right[0] - left[0]) / 2
        if not rough and _fall(left, right):
            root = left[0] + left[1] / _fall(left, right)
            aimed = root + (tolerance if right[0] - root > 2 * tolerance / 3 else -tolerance) / 3
            x = aimed if left[0] < aimed < right[0] else middle
        at = x, height(x)
        rough = x != middle and not abs(at[1]) <= abs(latest) / 2
        tolerance = max(tolerance, enough) if rough else tolerance
        left, right, latest = (at, right, at[1]) if at[1] > 0 else (left, at, at[1])
    return left, right


def _fall(left: Point, right: Point) -> float:
    """How fast the function falls from one place to another; 0 where that is no number."""
    fall = (left[1] - right[1]) / (right[0] - left[0])
    return fall if 0 < fall < math.inf else 0.0
