"""One line of settings in which a single number grows, and what its ends say about its middle.

Statement
    `answered` gives every setting an upper bound of its own ε. More noise never spends more, and a
    larger δ never needs a larger ε; so the bound of a setting with less noise holds for one with more.
    Where the bounds at both ends of a stretch are within the tolerance of one another, the larger
    one is given to all between; so it is where it is within twice the tolerance of the lower end of
    an enclosure of the last, since what is enclosed never grows either. Else the stretch is divided,
    into parts of as many steps of the tolerance as there are if bounds fall evenly. The answers of a
    line do not depend on who computes it, nor on any other line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

Setting = TypeVar("Setting")


_MORE = 1.02
"""Steps are counted as if there were this many times as many, since bounds do not fall evenly."""


def answered(
    bound: Callable[[Setting], float | None],
    settings: Sequence[Setting],
    tolerance: float,
    floor: Callable[[Setting], float] = lambda _: 0.0,
) -> list[float | None]:
    """Upper bounds of all settings.

    Args:
        bound: an upper bound of one setting; None where there is none.
        settings: in an order in which what is bounded never grows.
        tolerance: by how much the first bound of a stretch may exceed the last, relative, for all
            between to get the first.
        floor: what is not above the exact value of a setting that ``bound`` was asked for.
    """
    found: list[float | None] = [None] * len(settings)
    if not settings:
        return found
    ends = sorted({0, len(settings) - 1})
    for place in ends:
        found[place] = bound(settings[place])
    stretches = [(ends[0], ends[-1])]
    while stretches:
        first, last = stretches.pop()
        if last - first < 2:
            continue
        large, small = found[first], found[last]
        share = 0.5
        if large is not None and small is not None:
            allowed = max(small * (1 + tolerance), floor(settings[last]) * (1 + 2 * tolerance))
            if large <= allowed:
                found[first + 1 : last] = [large] * (last - first - 1)
                continue
            share = _share(large, small, allowed)
        middle = min(max(first + round((last - first) * share), first + 1), last - 1)
        found[middle] = bound(settings[middle])
        stretches += [(first, middle), (middle, last)]
    return found


def _share(large: float, small: float, allowed: float) -> float:
    """Which part of a stretch comes first, such that both have a whole number of steps."""
    if not 0 < small < allowed < large < math.inf:
        return 0.5
    fallen = math.log(large) - math.log(small)  # their quotient may be no double
    steps = math.ceil(fallen / math.log(allowed / small) * _MORE)
    return (steps // 2) / steps
