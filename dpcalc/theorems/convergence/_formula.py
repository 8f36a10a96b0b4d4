"""A convergence result whose bounds are formulas, each written once for digits and for symbols."""

from __future__ import annotations

from abc import abstractmethod

from dpcalc.numerics.precise import round_down, round_up
from dpcalc.theorems.convergence._base import ConvergenceResult, Rate
from dpcalc.theorems.numbers import Digits, Numbers, Real, Symbols
from dpcalc.theorems.statements import Formula, Scope


class FormulaRate(ConvergenceResult):
    """What is claimed, certified and attained, from formulas of `Numbers`."""

    __slots__ = ()

    @abstractmethod
    def claimed_value(self, x: Numbers) -> tuple[Real, str]:
        """The printed bound, and how it was obtained in one phrase."""

    @abstractmethod
    def certified_value(self, x: Numbers) -> tuple[Real, str]:
        """What is proved, and how."""

    def attained_value(self, x: Numbers) -> tuple[Real, str] | None:
        """What a concrete problem reaches, and which; None if none is known."""
        return None

    def claimed(self) -> Rate:
        """The printed formula, rounded up."""
        self.require(Scope.CLAIMED)
        value, method = self.claimed_value(Digits(self))
        return Rate(round_up(value), {}, method)

    def certified(self) -> Rate:
        """The proved formula, rounded up."""
        self.require(Scope.CERTIFIED)
        value, method = self.certified_value(Digits(self))
        return Rate(round_up(value), {}, method)

    def attained(self) -> Rate | None:
        """The formula of the concrete problem, rounded down."""
        found = self.attained_value(Digits(self))
        return None if found is None else Rate(round_down(found[0]), {}, found[1])

    def symbolic(self) -> tuple[Formula, ...]:
        """Both bounds in symbols."""
        return tuple(
            Formula(f"{name}.value", formula(x)[0], x.values)
            for name, formula in (
                ("claimed", self.claimed_value),
                ("certified", self.certified_value),
            )
            for x in (Symbols(self),)
        )
