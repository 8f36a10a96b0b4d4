"""What walks on an interval share: its width, when the record is used, and that they bound from below.

In one dimension a use of the record moves the two runs apart, every step adds N(0, 1), and the domain
is an interval. What such a walk reveals is a lower bound of the profile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

_LARGEST_EPSILON = 700
"""Beyond it e^ε is no double, and nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalWalk(ABC):
    """A lower bound of the profile, called with ε.

    Attributes:
        width: of the domain, over a step's noise, rounded down.
        steps: T.
        gap: steps from one use to the next.
        tail: steps from the last use to the end, both included.
    """

    width: float
    steps: int
    gap: int = 1
    tail: int = 1

    def __call__(self, epsilon: float) -> float:
        """δ(ε) is at least this; in [0, 1]."""
        if epsilon > _LARGEST_EPSILON:
            return 0.0
        return min(max(self._revealed(epsilon), 0.0), 1.0)

    @abstractmethod
    def _revealed(self, epsilon: float) -> float:
        """A lower bound of δ(ε), which may be below 0."""

    def is_use(self, left: int) -> bool:
        """Whether the step with this many left, itself included, uses the record."""
        return left >= self.tail and (left - self.tail) % self.gap == 0
