"""Rounds of pure differential privacy, between the doubles next to what was written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.pure.binomial_sum import pure_delta, pure_deltas, pure_epsilon
from dpcalc.guarantees.pure import PureDP
from dpcalc.numerals import at_least, at_most

if TYPE_CHECKING:
    from dpcalc.guarantees.base import Guarantee


@dataclass(frozen=True, slots=True)
class PureRounds:
    """Lower ends are those of the doubles below, upper ends those of the doubles above.

    Attributes:
        below: bound -> number of rounds.
        above: the same; equal to ``below`` where every bound is a double.
    """

    below: Mapping[float, int]
    above: Mapping[float, int]

    def epsilon(self, delta: float) -> Bracket:
        """Of the smallest ε at a δ, as it was written."""
        return _between(
            pure_epsilon(self.below, at_least(delta)), pure_epsilon(self.above, at_most(delta))
        )

    def deltas(self, epsilons: Sequence[float]) -> list[Bracket]:
        """Of δ at every ε, as it was written."""
        high = pure_deltas(self.above, [at_most(epsilon) for epsilon in epsilons])
        low = pure_deltas(self.below, [at_least(epsilon) for epsilon in epsilons])
        return [_between(*ends) for ends in zip(low, high, strict=True)]

    def delta(self, epsilon: float) -> Bracket:
        """Of δ at an ε, as it was written."""
        return _between(
            pure_delta(self.below, at_least(epsilon)), pure_delta(self.above, at_most(epsilon))
        )


def pure_rounds(parts: Iterable[tuple[Guarantee, int]]) -> PureRounds | None:
    """The rounds of a composition; None where others are among them."""
    below: Counter[float] = Counter()
    above: Counter[float] = Counter()
    for part, n in parts:
        if not isinstance(part, PureDP):
            return None
        below[at_most(part.bound)] += n
        above[at_least(part.bound)] += n
    return PureRounds(below, above)


def _between(below: Bracket, above: Bracket) -> Bracket:
    return Bracket(min(below.lower, above.lower), above.upper, above.method)
