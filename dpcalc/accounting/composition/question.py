"""Questions about one direction of a composition: a cheap upper bound first, an enclosure on demand."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from dpcalc.accounting.composition.resolution import Parts, rough_laws
from dpcalc.accounting.contour.saddle_points import Contour, Rounds, SaddleTable
from dpcalc.accounting.enclosure import Bracket
from dpcalc.errors import NumericalFailure

METHOD = "moment inversion, two-sided"
_WIDE = 0.05

_STRAINED = 300
"""So many nodes of a pilot mean that events are rare or rounds few."""

_FEW_ROUNDS, _STRAINED_FEW = 16, 50
"""With so few rounds convolution is sharp, and tried from so many nodes on."""

_RARE = 0.03
"""So many events expected in all rounds are rare."""

NEXT_TO_ZERO = 0.1
"""An ε below this share of |dε/d ln δ| is enclosed to the width aimed at for that share.

There ε falls to zero within a few percent of δ, and its relative width says nothing.
"""

_PATIENCE = 10
"""How much wider than aimed at an enclosure may be before both ways are tried."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Pilot:
    """What inverting laws that dominate coarsely tells.

    Attributes:
        contour: where to integrate.
        answer: an upper bound of the answer.
        nodes: how many nodes mattered.
    """

    contour: Contour
    answer: float
    nodes: int


class Question(ABC):
    """What is ε at a δ, or δ at an ε, for the summed losses of one direction?

    Args:
        parts: privacy losses and the number of rounds each is used.
        at: the δ or the ε.
        relative_width: width of the enclosure aimed at, relative to the answer.
    """

    def __init__(self, parts: Parts, at: float, relative_width: float) -> None:
        self.parts, self.at, self.relative_width = parts, at, relative_width

    @property
    def preview(self) -> float:
        """An upper bound of the answer that costs little; infinite if there is none."""
        if self.immediate is not None:
            return self.immediate.upper
        return math.inf if self.pilot is None else self.pilot.answer

    @property
    def strained(self) -> bool:
        """Whether inversion takes so many nodes, or fails, that convolution is tried first."""
        few = sum(n for _, n in self.parts) <= _FEW_ROUNDS
        return self.pilot is None or self.pilot.nodes > (_STRAINED_FEW if few else _STRAINED)

    @property
    def rare(self) -> bool:
        """Whether events are so rare that lattice points serve better than nodes."""
        return sum(n * p.touched for p, n in self.parts) <= _RARE

    @cached_property
    def pilot(self) -> Pilot | None:
        """Inversion of coarse laws, unless it fails."""
        return self._attempt(self._pilot)

    def bracket(self) -> Bracket:
        """The enclosure; a weaker one that says so where nothing else can be had."""
        found = self.immediate or self._enclosed()
        if found is None:
            return self._weaker()
        if found.relative_width <= _WIDE:
            return found
        weaker = self._weaker()
        method = weaker.method if weaker.upper < found.upper else f"weaker: {found.method}"
        return Bracket(max(found.lower, weaker.lower), min(found.upper, weaker.upper), method)

    def _enclosed(self) -> Bracket | None:
        """By the way that suits, and if that is wide by the other; what both have in common."""
        ways = [self._inverted, self._by_convolution]
        if self.strained and self.rare:
            ways.reverse()
        found: Bracket | None = None
        for way in ways:
            if found is None or not self.narrow(found, _PATIENCE):
                found = _narrower(found, self._attempt(way))
        return found

    def narrow(self, found: Bracket, patience: float = 1.0) -> bool:
        """Whether an enclosure is as narrow as aimed at, or ``patience`` times as wide."""
        return found.relative_width <= patience * self.relative_width

    def _inverted(self) -> Bracket | None:
        return None if self.pilot is None else self._by_inversion(self.pilot)

    def _attempt(self, way: Callable[[], Result | None]) -> Result | None:
        try:
            return way()
        except NumericalFailure:
            return None

    @cached_property
    def immediate(self) -> Bracket | None:
        """The enclosure, where a closed form or a short sum gives it."""
        return self._attempt(self._immediate)

    @cached_property
    def _rough(self) -> Rounds:
        return rough_laws(self.parts, self.tail)

    @cached_property
    def _table(self) -> SaddleTable:
        return SaddleTable(self._rough)

    @property
    @abstractmethod
    def tail(self) -> float:
        """P-mass that may be left outside the window of a round."""

    @abstractmethod
    def _immediate(self) -> Bracket | None: ...

    @abstractmethod
    def _pilot(self) -> Pilot: ...

    @abstractmethod
    def _by_inversion(self, pilot: Pilot) -> Bracket: ...

    @abstractmethod
    def _by_convolution(self) -> Bracket | None: ...

    @abstractmethod
    def _weaker(self) -> Bracket: ...


def worst(questions: Sequence[Question]) -> Bracket:
    """The largest of the answers; one that cannot be the largest is left at its preview."""
    if len(questions) == 1:
        return questions[0].bracket()
    found: list[Bracket] = []
    floor = -1.0
    for question in sorted(questions, key=lambda q: -q.preview):
        if question.preview < floor:
            break
        found.append(question.bracket())
        floor = max(floor, found[-1].lower)
    largest = max(found, key=lambda b: b.upper)
    return Bracket(floor, largest.upper, largest.method)


def _narrower(found: Bracket | None, other: Bracket | None) -> Bracket | None:
    """What two enclosures have in common, named after the one with the lower upper end."""
    if found is None or other is None:
        return found or other
    method = (found if found.upper <= other.upper else other).method
    return Bracket(max(found.lower, other.lower), min(found.upper, other.upper), method)
