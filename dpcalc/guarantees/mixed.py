"""Releases of which some are known through their losses and others through Rényi divergences.

Statement
    Two bounds hold, and every answer is the better of both. The divergences of all releases add up.
    And those that are known through divergences alone have a profile, hence a pair that dominates
    them all, whose losses are summed with those of the others. The second is never worse than a δ
    that is split: where the profile says (ε₁, δ₁) and the others are (ε₂, δ₂)-DP, their sum is
    (ε₁ + ε₂, δ₁ + δ₂)-DP.
Source
    docs/soundness.md, with the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, TypeVar

from dpcalc import checks
from dpcalc.accounting.enclosure import Bracket
from dpcalc.errors import NumericalFailure
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.best_orders import delta_at_best, epsilon_at_best
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.groups import group
from dpcalc.guarantees.renyi import ZCDP
from dpcalc.guarantees.renyi_profile import renyi_pair
from dpcalc.guarantees.through_renyi import concentrated, through_renyi
from dpcalc.guarantees.tradeoff_ends import below_chance, largest
from dpcalc.numerals import at_most

Parts = tuple[tuple[Guarantee, int], ...]
Answer = TypeVar("Answer")

CONVERTED = "sum of Rényi divergences, converted at the best order; an upper bound alone"
COMPOSED = "profile of the Rényi divergences, composed with known losses; an upper bound alone"

_CLEARLY_LESS, _MUCH_LESS = 0.98, 0.1
"""Of a conversion whose order may not be the best, as divergences at many orders at once are up to
1.5 % too large: what is less than that share of its ε or δ is less than any."""


@dataclass(frozen=True, slots=True)
class MixedReleases(Guarantee):
    """The better of both bounds.

    Args:
        parts: guarantees with the number of releases each describes.
        composed: the composition of parts with known losses.
    """

    notion: ClassVar[str] = "mixed composition"
    parts: Parts
    composed: Callable[[Parts], Guarantee] = field(repr=False, compare=False)

    @property
    def divergences(self) -> Guarantee:
        """All of them through Rényi divergences."""
        return _through_divergences(self.parts)

    @property
    def summed(self) -> Guarantee:
        """All of them through losses."""
        return _through_losses(self.parts, self.composed)

    def epsilon(self, delta: float) -> float:
        """The smaller of both."""
        return self.answer(delta)[0]

    def method(self, delta: float) -> str:
        """Which of both is the smaller ε, in words."""
        return self.answer(delta)[1]

    def answer(self, delta: float) -> tuple[float, str]:
        """The smaller ε of both, and how it was found; by divergences if they are equal."""
        meant = checks.delta(delta)
        known = at_most(meant)
        if known == 0:
            return self.divergences.epsilon(meant), CONVERTED
        through, sure = epsilon_at_best(self.parts, self.divergences, known)
        if through == 0:
            return through, CONVERTED
        summed = _unless_failed(lambda: self.summed.epsilon(meant), math.inf)
        if not sure and summed > _CLEARLY_LESS * through:
            through = min(through, self.divergences.epsilon(meant))
        return (summed, COMPOSED) if summed < through else (through, CONVERTED)

    def delta(self, epsilon: float) -> float:
        """The smaller of both."""
        summed = _unless_failed(lambda: self.summed.delta(epsilon), 1.0)
        return min(self._delta_by_divergences(epsilon, summed), summed)

    def deltas(self, epsilons: Sequence[float]) -> tuple[float, ...]:
        """The smaller of both at each ε."""
        nothing = (1.0,) * len(epsilons)
        summed = _unless_failed(lambda: self.summed.deltas(epsilons), nothing)
        both = zip(epsilons, summed, strict=True)
        return tuple(min(self._delta_by_divergences(e, other), other) for e, other in both)

    def _delta_by_divergences(self, epsilon: float, other: float) -> float:
        """That of the divergences, not at the best order where another bound is much smaller."""
        checks.non_negative_or_infinite("epsilon", epsilon)
        if epsilon == math.inf:
            return self.divergences.delta(epsilon)
        found, sure = delta_at_best(self.parts, self.divergences, at_most(epsilon))
        if sure or other < _MUCH_LESS * found:
            return found
        return min(found, self.divergences.delta(epsilon))

    def tradeoff(self, false_positive_rate: float) -> float:
        """The larger of both."""
        return self.tradeoffs([false_positive_rate])[0]

    def tradeoffs(self, false_positive_rates: Sequence[float]) -> tuple[float, ...]:
        """The larger of both at each rate."""
        through = self.divergences.tradeoffs(false_positive_rates)
        nothing = (0.0,) * len(through)
        summed = _unless_failed(lambda: self.summed.tradeoffs(false_positive_rates), nothing)
        return tuple(max(both) for both in zip(through, summed, strict=True))

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """The larger ends of both."""
        through = self.divergences.tradeoff_brackets(false_positive_rates)
        summed = _unless_failed(
            lambda: self.summed.tradeoff_brackets(false_positive_rates),
            below_chance((0.0,) * len(through), false_positive_rates),
        )
        return tuple(largest(both) for both in zip(through, summed, strict=True))

    def closed_group(self, size: int) -> Guarantee:
        """By the divergences alone: many profiles would be summed for one answer otherwise."""
        return group(self.divergences, size)

    def renyi(self, order: float) -> float:
        """The sum of the releases' divergences; infinite where one of them may fail."""
        return self.divergences.renyi(order)

    def parameters(self) -> Mapping[str, float]:
        """How many releases were composed."""
        return {"releases": float(sum(n for _, n in self.parts))}


def mixed(parts: Parts, composed: Callable[[Parts], Guarantee]) -> Guarantee:
    """The better of both bounds, where a finite one follows.

    Args:
        parts: guarantees with the number of releases each describes; some have known losses.
        composed: the composition of parts with known losses.

    Raises:
        InvalidInput: if one of them is known neither through losses nor through divergences.
    """
    through = _through_divergences(parts)
    nothing = isinstance(through, GDP) or through == ZCDP(math.inf)
    return through if nothing else MixedReleases(parts, composed)


def _unless_failed(answer: Callable[[], Answer], otherwise: Answer) -> Answer:
    """An answer next to another one, which is enough where losses are beyond what can be summed."""
    try:
        return answer()
    except NumericalFailure:
        return otherwise


@lru_cache(maxsize=256)
def _through_divergences(parts: Parts) -> Guarantee:
    known = [(part, n) for part, n in parts if isinstance(part, ZCDP | GDP)]
    return concentrated(known) if len(known) == len(parts) else through_renyi(parts)


@lru_cache(maxsize=256)
def _through_losses(parts: Parts, composed: Callable[[Parts], Guarantee]) -> Guarantee:
    bare = tuple((part, n) for part, n in parts if part.losses() is None)
    known = tuple((part, n) for part, n in parts if part.losses() is not None)
    return composed((*known, (renyi_pair(bare), 1)))
