"""Search for the edge of a monotone condition, always returning the side on which it holds."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable


def smallest_where(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest double in ``[low, high]`` for which a condition holds.

    The condition must be monotone: once true it stays true as its argument grows. The search halves
    the set of representable numbers, not the interval, so it needs at most 64 evaluations whatever
    the scale, and the returned double itself satisfies the condition.

    Args:
        holds: the monotone condition.
        low: left end; ``low >= 0``.
        high: right end, at which the condition must hold.

    Raises:
        ValueError: if the condition fails at ``high``.
    """
    if not holds(high):
        raise ValueError(f"the condition does not hold at the right end {high!r}")
    return low if holds(low) else _double(_first_rank(holds, low, high))


def largest_where(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest double in ``[low, high]`` for which a condition holds, which is true at ``low``.

    The mirror of `smallest_where`: once false, the condition stays false as its argument grows.
    """
    if not holds(low):
        raise ValueError(f"the condition does not hold at the left end {low!r}")
    return high if holds(high) else _double(_first_rank(lambda x: not holds(x), low, high) - 1)


def _first_rank(holds: Callable[[float], bool], low: float, high: float) -> int:
    """The least rank at which a condition holds that is false at ``low`` and true at ``high``."""
    below, above = _rank(low), _rank(high)
    while above - below > 1:
        middle = (below + above) // 2
        if holds(_double(middle)):
            above = middle
        else:
            below = middle
    return above


def minimise(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """A good, not necessarily best, minimiser of a function on an interval, and its value.

    Used only where every argument gives a valid bound, so that an imperfect minimum costs tightness
    and never soundness: a coarse scan, then golden-section steps around its best point.
    """
    count = 48
    points = [low + (high - low) * i / count for i in range(count + 1)]
    values = [function(x) for x in points]
    best = min(range(count + 1), key=lambda i: (math.isnan(values[i]), values[i]))
    left, right = points[max(best - 1, 0)], points[min(best + 1, count)]
    champion, record = points[best], values[best]
    ratio = (math.sqrt(5) - 1) / 2
    inner = [right - ratio * (right - left), left + ratio * (right - left)]
    height = [function(inner[0]), function(inner[1])]
    for _ in range(60):
        if height[0] <= height[1]:
            right, inner[1], height[1] = inner[1], inner[0], height[0]
            inner[0] = right - ratio * (right - left)
            height[0] = function(inner[0])
        else:
            left, inner[0], height[0] = inner[0], inner[1], height[1]
            inner[1] = left + ratio * (right - left)
            height[1] = function(inner[1])
        if right - left <= 1e-12 * max(1.0, abs(left)):
            break
    for x, y in zip(inner, height, strict=True):
        if y < record:
            champion, record = x, y
    return champion, record


def _rank(x: float) -> int:
    """The position of a non-negative double among all of them, in increasing order."""
    if not x >= 0:
        raise ValueError(f"expected a non-negative end of the search interval; got {x!r}")
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def _double(rank: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", rank))[0])
