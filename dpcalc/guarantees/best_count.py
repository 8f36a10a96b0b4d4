"""One bound for every number of counted steps, all of the same release; answers of the best one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from dpcalc.accounting.enclosure import Bracket, relative_width, with_relative_width
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.groups import group

if TYPE_CHECKING:
    from dpcalc.guarantees.base import Directions

_ROUGH = 1e-5
"""Width of the enclosures that a number is chosen by; the answer is computed with the usual one."""

_SEARCHES = ((4.0, 1e-2), (1.4, 1e-2), (1.1, _ROUGH), (1.02, _ROUGH), (1.004, _ROUGH))
"""One after the other: the factor between numbers that are compared, and the enclosures' width."""

_FLAT = 1e-6
"""Where the numbers around differ by less than this share of the answer, none is better."""

_FEW = 12
"""So few numbers are all tried."""

_WIDTHS = (0.1, 1e-3)
"""Of the enclosures that tell which of few numbers may be the best; the usual one tells the rest."""

Answer = Literal["bracket", "delta_bracket"]


@dataclass(frozen=True, slots=True)
class BestCount(Guarantee):
    """What follows from bounds that were proved for every number of counted steps.

    Every answer is that of the number which makes it best, found on the assumption that answers fall
    and then rise with the number. The least is flat: what the search leaves is of the size of the
    enclosures' widths.

    Args:
        of: the bound for a number.
        start: a good number to begin with.
        least: the smallest number.
        most: the largest number.
    """

    notion: ClassVar[str] = "best number of counted steps"
    of: Callable[[int], Guarantee]
    start: int
    least: int
    most: int

    def epsilon(self, delta: float) -> float:
        """The smallest over the numbers."""
        return self.enclosed("bracket", delta).upper

    def delta(self, epsilon: float) -> float:
        """The smallest over the numbers."""
        return self.enclosed("delta_bracket", epsilon).upper

    def enclosed(self, answer: Answer, at: float) -> Bracket:
        """An enclosure of the smallest ε or δ over the numbers; from 0 where not all are tried."""
        numbers = range(self.least, self.most + 1)
        if len(numbers) <= _FEW:
            return _least([question(self.of(count), answer, at) for count in numbers])
        upper = self._smallest(lambda bound: question(bound, answer, at)().upper)
        return Bracket(0.0, upper, "upper bound")

    def renyi(self, order: float) -> float:
        """That of the first number."""
        return self.of(self.start).renyi(order)

    def parameters(self) -> Mapping[str, float]:
        """The range of the number."""
        return {"least": float(self.least), "most": float(self.most)}

    def losses(self) -> Directions | None:
        """Those for the first number."""
        return self.of(self.start).losses()

    def closed_group(self, size: int) -> Guarantee:
        """The bound of the first number for the group."""
        return group(self.of(self.start), size)

    def best(self, answer: Callable[[Guarantee], float]) -> int:
        """The number with about the smallest answer."""
        known: dict[tuple[int, float], float] = {}

        def height(count: int) -> float:
            place = count, relative_width()
            if place not in known:
                value = answer(self.of(count))
                known[place] = math.log(value) if 0 < value < math.inf else value or -math.inf
            return known[place]

        if self.most - self.least < _FEW:
            with with_relative_width(_ROUGH):
                return min(range(self.least, self.most + 1), key=height)
        with with_relative_width(_SEARCHES[0][1]):
            found = min(self.start, self.most, key=height)
        for factor, width in _SEARCHES:
            with with_relative_width(width):
                middle = found
                around = {self._below(middle, factor), self._above(middle, factor)}
                if all(abs(height(count) - height(middle)) <= _FLAT for count in around):
                    return middle
                found = self._vertex(height, middle, factor)
                moved = width == _ROUGH and found != middle
                if moved and abs(height(found) - height(middle)) <= _ROUGH:
                    return found
        return found

    def _smallest(self, answer: Callable[[Guarantee], float]) -> float:
        return min(answer(self.of(count)) for count in {self.best(answer), self.start})

    def _vertex(self, height: Callable[[int], float], middle: int, factor: float) -> int:
        """Where a parabola through a least of three numbers and its neighbours has its vertex."""
        low, high = self._below(middle, factor), self._above(middle, factor)
        while low < middle and height(low) < height(middle):
            middle, high, low = low, middle, self._below(low, factor)
        while high > middle and height(high) < height(middle):
            middle, low, high = high, middle, self._above(high, factor)
        if not low < middle < high or not all(map(math.isfinite, map(height, (low, middle, high)))):
            return middle
        x, y = math.log(low / middle), math.log(high / middle)
        fall, rise = height(low) - height(middle), height(high) - height(middle)
        bend = fall * y - rise * x
        if not bend > 0:
            return middle
        vertex = middle * math.exp((fall * y**2 - rise * x**2) / (2 * bend))
        return min(max(round(vertex), low), high)

    def _below(self, count: int, factor: float) -> int:
        return max(min(math.floor(count / factor), count - 1), self.least)

    def _above(self, count: int, factor: float) -> int:
        return min(max(math.ceil(count * factor), count + 1), self.most)


def question(bound: Guarantee, answer: Answer, at: float) -> Callable[[], Bracket]:
    """A bound's own enclosure when called; from 0 for one that has none."""
    if isinstance(bound, BestCount):
        return partial(bound.enclosed, answer, at)
    enclose = getattr(bound, answer, None)
    if enclose is not None:
        return partial(enclose, at)
    upper = bound.epsilon if answer == "bracket" else bound.delta
    return lambda: Bracket(0.0, upper(at), "upper bound")


def _least(questions: list[Callable[[], Bracket]]) -> Bracket:
    """The enclosure of the least, of which only those that may be it are enclosed narrowly."""
    floor, usual = math.inf, relative_width()
    for width in (*(width for width in _WIDTHS if width > usual), usual):
        if len(questions) == 1 and width > usual:
            continue
        with with_relative_width(width):
            found = [(each(), each) for each in questions]
        least = min(bracket.upper for bracket, _ in found)
        larger = [bracket.lower for bracket, _ in found if bracket.lower > least]
        floor = min([floor, *larger])
        found = [one for one in found if one[0].lower <= least]
        questions = [each for _, each in found]
    best = min((bracket for bracket, _ in found), key=lambda bracket: bracket.upper)
    return Bracket(min(floor, *(bracket.lower for bracket, _ in found)), best.upper, best.method)
