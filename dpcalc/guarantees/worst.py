"""The worst of several guarantees, one for each place where the differing record may sit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from dpcalc import checks
from dpcalc.accounting.enclosure import Bracket
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.groups import group
from dpcalc.guarantees.tradeoff_ends import smallest


@dataclass(frozen=True, slots=True)
class WorstOf(Guarantee):
    """A guarantee that holds whichever of several cases is the true one.

    Args:
        cases: (label, guarantee), at least one.
    """

    notion: ClassVar[str] = "worst of several"
    cases: tuple[tuple[int, Guarantee], ...]

    def epsilon(self, delta: float) -> float:
        """The largest of the cases'."""
        return max(case.epsilon(delta) for _, case in self.cases)

    def delta(self, epsilon: float) -> float:
        """The largest of the cases'."""
        return max(case.delta(epsilon) for _, case in self.cases)

    def worst(self, delta: float) -> int:
        """Label of the case with the largest ε at δ."""
        checks.delta(delta)
        return max(self.cases, key=lambda case: case[1].epsilon(delta))[0]

    def renyi(self, order: float) -> float:
        """The largest of the cases'."""
        return max(case.renyi(order) for _, case in self.cases)

    def tradeoff(self, false_positive_rate: float) -> float:
        """The smallest of the cases'."""
        return self.tradeoffs([false_positive_rate])[0]

    def tradeoffs(self, false_positive_rates: Sequence[float]) -> tuple[float, ...]:
        """The smallest of the cases' at each rate."""
        each = [case.tradeoffs(false_positive_rates) for _, case in self.cases]
        return tuple(min(at) for at in zip(*each, strict=True))

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """The least ends of the cases'."""
        each = [case.tradeoff_brackets(false_positive_rates) for _, case in self.cases]
        return tuple(smallest(at) for at in zip(*each, strict=True))

    def parameters(self) -> Mapping[str, float]:
        """How many cases there are."""
        return {"cases": float(len(self.cases))}

    def closed_group(self, size: int) -> WorstOf:
        """Every case for the group."""
        cases = tuple((label, group(case, size)) for label, case in self.cases)
        return WorstOf(cases)
