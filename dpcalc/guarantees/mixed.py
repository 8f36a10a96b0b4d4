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
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.groups import group
from dpcalc.guarantees.renyi import ZCDP
from dpcalc.guarantees.renyi_profile import renyi_pair
from dpcalc.guarantees.through_renyi import concentrated, through_renyi
from dpcalc.guarantees.tradeoff_ends import below_chance, largest

Parts = tuple[tuple[Guarantee, int], ...]
Answer = TypeVar("Answer")


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
        through = self.divergences.epsilon(delta)
        if through == 0 or checks.delta(delta) == 0:
            return through
        return min(through, _unless_failed(lambda: self.summed.epsilon(delta), math.inf))

    def delta(self, epsilon: float) -> float:
        """The smaller of both."""
        through = self.divergences.delta(epsilon)
        return min(through, _unless_failed(lambda: self.summed.delta(epsilon), 1.0))

    def deltas(self, epsilons: Sequence[float]) -> tuple[float, ...]:
        """The smaller of both at each ε."""
        through = self.divergences.deltas(epsilons)
        nothing = (1.0,) * len(through)
        summed = _unless_failed(lambda: self.summed.deltas(epsilons), nothing)
        return tuple(min(both) for both in zip(through, summed, strict=True))

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
