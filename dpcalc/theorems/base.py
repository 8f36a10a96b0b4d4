"""What a published result looks like in dpcalc."""

from __future__ import annotations

from typing import ClassVar, Self

from dpcalc.theorems.formulas import Formulated
from dpcalc.theorems.result import Result
from dpcalc.theorems.statements import Assumption, Bound, Finding, Formula, Scope
from dpcalc.vocabulary import Release, Status

__all__ = ["Assumption", "Bound", "Finding", "Formula", "Result", "Scope", "Theorem"]


class Theorem(Formulated):
    """A published privacy result; also has the class attributes of `Formulated`.

    Class attributes:
        releases: what the adversary may be assumed to see; the first unless an instance says other.
        status: the status of the printed statement in general.
        noise_is_a_rate: whether a smaller value of that parameter is more private, as for the rate
            of an exponential-norm law.
        rounds_share: whether what is computed for some numbers of rounds serves others, and more
            rounds never spend less.
    """

    __slots__ = ()

    releases: ClassVar[tuple[Release, ...]]
    status: ClassVar[Status]
    noise_is_a_rate: ClassVar[bool] = False
    rounds_share: ClassVar[bool] = False

    @property
    def release(self) -> Release:
        """What the adversary sees of this instance."""
        return self.releases[0]

    def calibration_tolerance(self) -> float:
        """Relative distance from the smallest noise at which calibration may stop.

        0 means the last double, as closed forms allow; a bound that is computed numerically is not
        worth more digits than its enclosure has.
        """
        return 0.0 if self.certified_by_formula() else 1e-12

    def with_noise_level(self, level: float) -> Self:
        """The same instance with another noise level, the shape of a schedule kept."""
        from dpcalc.theorems.schedule import Schedule

        value = getattr(self, self.noise)
        changed = value.scaled(level) if isinstance(value, Schedule) else level
        return self.replace(**{self.noise: changed})

    def suggestion(self, epsilon: float, delta: float) -> str:
        """What to change when no noise meets a budget."""
        return "a larger epsilon or delta, or fewer rounds"
