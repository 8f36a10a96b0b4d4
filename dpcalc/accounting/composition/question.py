"""Questions about one direction of a composition: a cheap upper bound first, an enclosure on demand."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

from dpcalc.accounting.bracket import Bracket
from dpcalc.accounting.composition.resolution import Parts
from dpcalc.errors import NumericalFailure

METHOD = "moment inversion, two-sided"
_WIDER = "weaker: moment inversion with a wide bracket"
_WIDE = 0.05


class Question(ABC):
    """What is ε at a δ, or δ at an ε, for the summed losses of one direction?

    Args:
        parts: privacy losses and the number of rounds each is used.
        at: the δ or the ε.
        relative_width: width of the enclosure aimed at, relative to the answer.
    """

    def __init__(self, parts: Parts, at: float, relative_width: float) -> None:
        self.parts, self.at, self.relative_width = parts, at, relative_width

    @cached_property
    def preview(self) -> float:
        """An upper bound of the answer that costs little; infinite if there is none."""
        if self.immediate is not None:
            return self.immediate.upper
        try:
            return self._preview()
        except NumericalFailure:
            return math.inf

    def bracket(self) -> Bracket:
        """The enclosure; a weaker one that says so where inversion fails."""
        try:
            found = self.immediate or self._enclosed()
        except NumericalFailure:
            return self._weaker()
        if found.relative_width <= _WIDE:
            return found
        return _intersection(found, self._weaker())

    @cached_property
    def immediate(self) -> Bracket | None:
        """The enclosure, where a closed form or a short sum gives it."""
        try:
            return self._immediate()
        except NumericalFailure:
            return None

    @abstractmethod
    def _immediate(self) -> Bracket | None: ...

    @abstractmethod
    def _preview(self) -> float: ...

    @abstractmethod
    def _enclosed(self) -> Bracket: ...

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


def _intersection(found: Bracket, other: Bracket) -> Bracket:
    method = other.method if other.upper < found.upper else _WIDER
    return Bracket(max(found.lower, other.lower), min(found.upper, other.upper), method)
