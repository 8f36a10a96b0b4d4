"""δ as one of two summands, of which no more digits are sought than the sum has."""

from __future__ import annotations

from collections.abc import Callable

from dpcalc.accounting.enclosure import Bracket, relative_width, with_relative_width

_COARSE = 0.05
"""Relative width of the first enclosure, which tells how large δ is."""


def delta_as_share(enclose: Callable[[], Bracket], rest: float) -> float:
    """An upper bound of δ; with ``rest`` added it is as narrow as enclosures are.

    Args:
        enclose: an enclosure of δ, of the width that is current.
        rest: what δ is added to, in its unit.
    """
    usual = relative_width()
    with with_relative_width(max(_COARSE, usual)):
        found = enclose()
    if found.upper <= 0:
        return found.upper
    enough = usual * (1 + rest / found.upper)
    if found.relative_width <= enough:
        return found.upper
    with with_relative_width(min(enough, max(_COARSE, usual))):
        return min(found.upper, enclose().upper)
