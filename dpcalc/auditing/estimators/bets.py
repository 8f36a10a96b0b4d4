"""What is bet on the next runs of an audit, and how they were answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.estimators.rules import Rule

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bet:
    """What is bet on the next runs.

    Attributes:
        rule: which scores are answered IN and OUT.
        says_in: whether the answer IN is given at all.
        says_out: whether the answer OUT is.
        turned: whether the rule is about scores with their sign changed.
        centre: from which scores are counted without their sign, for spreads; None if they are not.
        slope: e.
        allowed: t·d(e)/2 under the claim, which sets the scale of the stakes.
    """

    rule: Rule
    says_in: bool
    says_out: bool
    turned: bool
    centre: float | None
    slope: float
    allowed: float

    @property
    def sets(self) -> int:
        """t, the number of answers in use."""
        return self.says_in + self.says_out

    def view(self, score: Array) -> Array:
        """What the rule looks at."""
        seen = score if self.centre is None else np.abs(score - self.centre)
        return -seen if self.turned else seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A bet and how its runs were answered."""

    bet: Bet
    right: int
    wrong: int
    runs: int

    def joined(self, more: Settled) -> Settled:
        """With the answers to more runs of the same bet."""
        return Settled(
            bet=self.bet,
            right=self.right + more.right,
            wrong=self.wrong + more.wrong,
            runs=self.runs + more.runs,
        )

    def record(self) -> dict[str, Any]:
        """For JSON; enough to recompute the wealth under every profile."""
        return {
            "slope": self.bet.slope,
            "sets": self.bet.sets,
            "allowed": self.bet.allowed,
            "right": self.right,
            "wrong": self.wrong,
            "runs": self.runs,
        }
