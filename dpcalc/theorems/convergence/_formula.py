"""A convergence result whose bounds are formulas, each written once for digits and for symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpcalc.errors import AssumptionViolated
from dpcalc.numerics.precise import round_down, round_up
from dpcalc.theorems.convergence._base import ConvergenceResult, Rate
from dpcalc.theorems.formulas import shown
from dpcalc.theorems.numbers import Digits, NotAFormula, Numbers, Real, Symbols
from dpcalc.theorems.statements import Formula, Scope

Stated = tuple[Real, str] | tuple[Real, str, Mapping[str, Real]]
"""A number, how it was obtained in one phrase, and what else is worth knowing of it."""


class FormulaRate(ConvergenceResult):
    """What is claimed, certified and attained, from formulas of `Numbers`.

    A bound that is no formula (a sum over rounds, a matrix inequality) overrides `claimed`,
    `certified` or `attained` instead, and is not shown in symbols.
    """

    __slots__ = ()

    def claimed_value(self, x: Numbers) -> Stated:
        """The printed bound, how it was obtained in one phrase, and further numbers, if any."""
        raise TypeError(f"{self.key} needs claimed_value(x) or claimed()")

    def certified_value(self, x: Numbers) -> Stated:
        """What is proved, and how."""
        raise TypeError(f"{self.key} needs certified_value(x) or certified()")

    def attained_value(self, x: Numbers) -> Stated | None:
        """What a concrete problem reaches, and which; None if none is known."""
        return None

    def claimed(self) -> Rate:
        """The printed formula, rounded up."""
        self.require(Scope.CLAIMED)
        return _rate(self.claimed_value(Digits(self)), round_up)

    def certified(self) -> Rate:
        """The proved formula, rounded up."""
        self.require(Scope.CERTIFIED)
        return _rate(self.certified_value(Digits(self)), round_up)

    def attained(self) -> Rate | None:
        """The formula of the concrete problem, rounded down."""
        found = self.attained_value(Digits(self))
        return None if found is None else _rate(found, round_down)

    def symbolic(self) -> tuple[Formula, ...]:
        """The bounds that are formulas, in symbols, and their numbers that are formulas too."""
        found: list[Formula] = []
        for name, scope in (("claimed", Scope.CLAIMED), ("certified", Scope.CERTIFIED)):
            own = getattr(type(self), f"{name}_value") is not getattr(FormulaRate, f"{name}_value")
            if own and not self.violations(scope):
                found += self._shown(name)
        return tuple(found)

    def _shown(self, name: str) -> list[Formula]:
        x = _AllTerms(self)
        try:
            value, _, *more = getattr(self, f"{name}_value")(x)
        except (NotAFormula, AssumptionViolated):
            return []
        named = {"value": value} | {k: v for each in more for k, v in each.items()}
        return [
            shown(f"{name}.{key}", expression, x)
            for key, expression in named.items()
            if not isinstance(expression, int | float)
        ]


class _AllTerms(Symbols):
    """Symbols of which some are 0: a term that vanishes for an instance is shown all the same."""

    def named(self, symbol: str, value: Any) -> Real:
        """The symbol with its value."""
        if value != 0:
            return super().named(symbol, value)
        self.values[symbol] = 0.0
        return self._functions.Symbol(symbol, nonnegative=True)


def _rate(stated: Stated, rounded: Callable[[Real], float]) -> Rate:
    value, method, *more = stated
    numbers: dict[str, Any] = {k: v for each in more for k, v in each.items()}
    return Rate(
        rounded(value),
        {k: v if isinstance(v, int | float) else rounded(v) for k, v in numbers.items()},
        method,
    )
