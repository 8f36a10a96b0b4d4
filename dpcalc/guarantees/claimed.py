"""What a paper claims, in the form of a guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from dpcalc import checks
from dpcalc.guarantees.profile import ProfileGuarantee
from dpcalc.numerics.search import smallest_where


@dataclass(frozen=True, slots=True)
class ClaimedCurve(ProfileGuarantee):
    """What a paper's formula says ε is at each δ; not something proved here.

    It answers like a guarantee so that it can stand next to one, and composes with nothing.

    Args:
        formula: δ in (0, 1) -> ε as claimed, infinite where the paper claims nothing.
        stated: the paper's own numbers.
    """

    notion: ClassVar[str] = "claimed"
    formula: Callable[[float], float] = field(repr=False)
    stated: Mapping[str, float]

    def epsilon(self, delta: float) -> float:
        """The formula at δ; infinite at δ = 0."""
        delta = checks.delta(delta)
        return self.formula(delta) if delta > 0 else math.inf

    def delta(self, epsilon: float) -> float:
        """The smallest δ at which the formula gives at most ε."""
        checks.non_negative_or_infinite("epsilon", epsilon)
        if epsilon == math.inf:
            return 0.0
        top = math.nextafter(1.0, 0.0)
        if self.formula(top) > epsilon:
            return 1.0
        return smallest_where(lambda d: self.formula(d) <= epsilon, 5e-324, top)

    def parameters(self) -> Mapping[str, float]:
        """The paper's own numbers."""
        return self.stated
