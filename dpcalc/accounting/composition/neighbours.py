"""What answers for other numbers of the same rounds tell: more rounds never need a smaller ε.

A product of pairs is post-processed by leaving rounds out. So an ε that is enough for more rounds
is enough, and one that is not enough for fewer is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.contour.shared import sharing
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses.density_pair import PrivacyLoss

RoundAt = tuple[PrivacyLoss, float]
"""The loss of a round, and δ."""


@dataclass(slots=True, eq=False)
class Neighbours:
    """Enclosures of ε that were found for rounds of one kind.

    Attributes:
        found: for every round and δ those of numbers of rounds.
    """

    found: dict[RoundAt, dict[int, Bracket]] = field(default_factory=dict)

    def known(self, totals: Sequence[LossSum], delta: float) -> Bracket | None:
        """An enclosure of ε that follows; None where nothing does.

        Args:
            totals: the directions; sums of one kind of rounds in one direction are followed.
            delta: where ε is asked for.
        """
        kind = _kind(totals)
        if kind is None:
            return None
        loss, count = kind
        others = self.found.get((loss, delta), {})
        if not others:
            return None
        fewer = (bracket.lower for rounds, bracket in others.items() if rounds <= count)
        more = [bracket for rounds, bracket in others.items() if rounds >= count]
        lower = max(fewer, default=0.0)
        if not more:
            return Bracket(lower, math.inf, "fewer rounds")
        least = min(more, key=lambda bracket: bracket.upper)
        return Bracket(lower, least.upper, least.method)

    def add(self, totals: Sequence[LossSum], delta: float, found: Bracket) -> None:
        """Keep an enclosure of ε."""
        kind = _kind(totals)
        if kind is not None:
            loss, count = kind
            brackets = self.found.setdefault((loss, delta), {})
            before = brackets.get(count)
            brackets[count] = (
                found if before is None else found.narrowed(before.lower, before.upper)
            )


_neighbours: ContextVar[Neighbours | None] = ContextVar("neighbours", default=None)


def current_neighbours() -> Neighbours | None:
    """What is kept in the line of questions that is being answered, if one is."""
    return _neighbours.get()


@contextmanager
def neighbouring() -> Iterator[Neighbours]:
    """Within this block, whose questions come in an order of their own, answers help one another."""
    neighbours = Neighbours()
    token = _neighbours.set(neighbours)
    try:
        with sharing():
            yield neighbours
    finally:
        _neighbours.reset(token)


def _kind(totals: Sequence[LossSum]) -> tuple[PrivacyLoss, int] | None:
    """The round and how often it is used, where there is one of them and one direction."""
    if len(totals) != 1 or len(totals[0].parts) != 1:
        return None
    return totals[0].parts[0]
