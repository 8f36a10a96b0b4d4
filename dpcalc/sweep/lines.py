"""One line of settings in which a single number grows, and what its ends say about its middle.

Statement
    `answered` gives every setting an upper bound of its own ε. More noise never spends more, and a
    larger δ never needs a larger ε; so the bound of a setting with less noise holds for one with more.
    Where the bounds at both ends of a stretch are within the tolerance of one another, the larger
    one is given to all between; else the stretch is halved. The answers of a line do not depend on
    who computes it, nor on any other line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Setting = TypeVar("Setting")


def answered(
    bound: Callable[[Setting], float | None], settings: Sequence[Setting], tolerance: float
) -> list[float | None]:
    """Upper bounds of all settings.

    Args:
        bound: an upper bound of one setting; None where there is none.
        settings: in an order in which what is bounded never grows.
        tolerance: by how much the first bound of a stretch may exceed the last, relative, for all
            between to get the first.
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
        if large is not None and small is not None and large <= small * (1 + tolerance):
            found[first + 1 : last] = [large] * (last - first - 1)
            continue
        middle = (first + last) // 2
        found[middle] = bound(settings[middle])
        stretches += [(first, middle), (middle, last)]
    return found
