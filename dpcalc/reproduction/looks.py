"""How curves of a panel look: no two alike in colour, dashes and marks."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dpcalc.reproduction.experiment import Curve

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D00")
"""Of Okabe and Ito, told apart by all kinds of colour vision; their yellow is too pale for a line."""

MARKS = "osv^Dxp*"

_DASHES: dict[str, tuple[Any, ...]] = {
    "printed": ("solid", (0, (9, 1.5)), (0, (9, 1.5, 1.5, 1.5))),
    "certified": ((0, (3.5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1))),
    "theory": ((0, (1, 2.5)), (0, (1, 1.5, 1, 4)), (0, (3, 4))),
}
"""Whole lines have the paper's noise, dashed ones certified noise; of a method's first, second and
third such curve."""
_DASHES["none"] = _DASHES["printed"]

_FILLS = ("full", "none", "left")
"""Marks of the same: filled, open, and half of each."""

_LEVELS = (("0.55", (0, (6, 2, 1, 2))), ("0.1", (0, (1, 1.5))), ("0.35", (0, (4, 3))))
"""Greys and dashes of lines that are the same everywhere, and there to compare with."""

_THICK = 0.004
"""Half the thickness of a line, as a share of a panel's height."""


@dataclass(frozen=True, slots=True)
class Look:
    """Of a curve.

    Attributes:
        colour: of line, marks and band.
        dashes: of the line, as matplotlib has them.
        mark: "" for a level.
        fill: of the mark.
    """

    colour: str
    dashes: Any
    mark: str = ""
    fill: str = "full"


def method_of(name: str) -> str:
    """The part of a curve's name that its colour stands for."""
    return re.sub(r" \d+ noisy rounds$", "", name.split(",")[0])


def colours_of(methods: Iterable[str], known: Mapping[str, int]) -> dict[str, int]:
    """A colour's number for every method of a panel: that of earlier panels, else a free one."""
    found: dict[str, int] = {}
    for name in sorted(dict.fromkeys(methods), key=lambda method: method not in known):
        taken = set(found.values())
        number = known.get(name)
        if number is None or number in taken:
            number = next(k for k in count() if k not in taken)
        found[name] = number
    return found


def is_level(curve: Curve) -> bool:
    """Whether it is one number without noise, the same everywhere."""
    _, mean, _, _ = curve.statistics()
    return curve.noise == "none" and bool(mean.size) and float(np.ptp(mean)) == 0


def looks_of(curves: Sequence[Curve], colours: Mapping[str, int]) -> list[Look]:
    """One look for every curve, by its method's number, its noise and how many there were before."""
    before: Counter[tuple[str, str]] = Counter()
    found = []
    for curve in curves:
        if is_level(curve):
            found.append(Look(*_LEVELS[before["", ""] % len(_LEVELS)]))
            before["", ""] += 1
            continue
        method = method_of(curve.name)
        number, again = colours[method], before[method, curve.noise]
        before[method, curve.noise] += 1
        dashes = _DASHES[curve.noise]
        found.append(
            Look(
                COLOURS[number % len(COLOURS)],
                dashes[again % len(dashes)],
                MARKS[(number + number // len(COLOURS)) % len(MARKS)],
                _FILLS[again % len(_FILLS)],
            )
        )
    return found


def shows_decades(curves: Sequence[Curve]) -> bool:
    """Whether what is drawn is above 0 and spans more than two decades."""
    drawn = [curve.statistics() for curve in curves]
    lows = [float(low.min()) for _, _, low, _ in drawn if low.size]
    highs = [float(mean.max()) for _, mean, _, _ in drawn if mean.size]
    return bool(lows) and min(lows) > 0 and max(highs) > 100 * min(lows)


def coinciding(curves: Sequence[Curve], *, log: bool = False) -> dict[int, int]:
    """For curves that cannot be seen for an earlier one, by their number, that one's number.

    Closer everywhere than half the thickness of a line, where all curves of the panel span its height.

    Args:
        curves: of a panel.
        log: whether heights are logarithms.
    """
    drawn = []
    for curve in curves:
        x, mean, _, _ = curve.statistics()
        keep = mean > 0 if log else np.ones(mean.shape, dtype=bool)
        drawn.append((x[keep], np.log(mean[keep]) if log else mean))
    heights = np.concatenate([y for _, y in drawn]) if drawn else np.zeros(1)
    width = _THICK * float(np.ptp(heights)) if heights.size else 0.0
    found: dict[int, int] = {}
    for i, (x, y) in enumerate(drawn):
        for j in range(i):
            same = x.size and j not in found and np.array_equal(x, drawn[j][0])
            if same and np.abs(y - drawn[j][1]).max() <= width:
                found[i] = j
                break
    return found


def said(curves: Sequence[Curve], hidden: Mapping[int, int]) -> str:
    """Which curves lie on one another, in a line; "" if none do."""
    groups: dict[int, list[str]] = {}
    for later, first in sorted(hidden.items()):
        groups.setdefault(first, [curves[first].name]).append(curves[later].name)
    return "; ".join(f"{_listed(names)} coincide" for names in groups.values())


def _listed(names: Sequence[str]) -> str:
    """Names without commas of their own, so that those between them are seen."""
    bare = [name.replace(",", "") for name in names]
    return f"{', '.join(bare[:-1])} and {bare[-1]}"
