"""One formula, two number systems: the parameters of a result with sixty digits, or as symbols.

A formula is written once, as a function of `Numbers`: ``x.gradient_bound / x.sigma`` is a sixty-digit
number or a sympy expression, as x is. Bounds round the number outward; the expression is what is shown,
and what tests and certificates evaluate with other code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from dpcalc.numerals import Written
from dpcalc.numerics.precise import Real, context, mpf, round_up
from dpcalc.theorems.parameters import parameters

__all__ = ["Digits", "NotAFormula", "Numbers", "Real", "Symbols"]


class NotAFormula(Exception):
    """A number that a search or a sum gives has no expression in symbols."""


class Numbers(ABC):
    """The parameters of a result, by their names, and the functions that formulas use.

    Arithmetic is Python's, ``abs`` included; an optional parameter that is not given is None.
    """

    def __init__(self, result: object) -> None:
        self._result = result

    def __getattr__(self, name: str) -> Real:
        """A parameter as a number of this system."""
        known = parameters(type(self._result))
        if name not in known:
            raise AttributeError(f"{type(self._result).__name__} has no parameter {name}")
        value = getattr(self._result, name)
        return None if value is None else self.named(known[name].symbol or name, value)

    @abstractmethod
    def named(self, symbol: str, value: Any) -> Real:
        """A number that is no parameter, by the name that formulas show for it."""

    @abstractmethod
    def given(self, value: float) -> Real:
        """A number shown as it is: the formula's own, where it stands alone, or a schedule's."""

    @abstractmethod
    def computed(self, value: Real, shown: Callable[[], Real] | None = None) -> Real:
        """A number that a search or a sum gave.

        Args:
            value: with sixty digits.
            shown: the formula that it has all the same; a bound without one is shown without.
        """

    @abstractmethod
    def up(self, value: Real) -> Real:
        """The double that is reported for an upper bound, for numbers that are computed from it."""

    @property
    @abstractmethod
    def _functions(self) -> Any:
        """The library of this number system."""

    @property
    @abstractmethod
    def inf(self) -> Real:
        """Infinity."""

    def sqrt(self, value: Real) -> Real:
        """√."""
        return self._functions.sqrt(value)

    def log(self, value: Real) -> Real:
        """The natural logarithm."""
        return self._functions.log(value)

    def exp(self, value: Real) -> Real:
        """The exponential."""
        return self._functions.exp(value)

    def floor(self, value: Real) -> Real:
        """The largest whole number that is not above."""
        return self._functions.floor(value)

    def harmonic(self, count: Real) -> Real:
        """1 + 1/2 + ... + 1/count."""
        return self._functions.harmonic(count)

    @abstractmethod
    def geometric_product(self, first: Real, ratio: Real) -> Real:
        """Π 1/(1 + first·ratioᵗ) over t >= 0, from below; ratio in (0, 1)."""

    @abstractmethod
    def ceil(self, value: Real) -> Real:
        """The least whole number that is not below."""

    @abstractmethod
    def max(self, *values: Real) -> Real:
        """The largest."""

    @abstractmethod
    def min(self, *values: Real) -> Real:
        """The smallest."""


class Digits(Numbers):
    """Sixty-digit numbers."""

    def named(self, symbol: str, value: Any) -> Real:
        """The number."""
        return mpf(value)

    def given(self, value: float) -> Real:
        """The number."""
        return mpf(value)

    def computed(self, value: Real, shown: Callable[[], Real] | None = None) -> Real:
        """The number."""
        return value

    def up(self, value: Real) -> Real:
        """Rounded up to a double."""
        return mpf(round_up(value))

    @property
    def _functions(self) -> Any:
        return context()

    @property
    def inf(self) -> Real:
        """Infinity."""
        return context().inf

    def geometric_product(self, first: Real, ratio: Real) -> Real:
        """A lower bound, in doubles."""
        from dpcalc.numerics.geometric_product import geometric_product

        return mpf(geometric_product(first, ratio))

    def ceil(self, value: Real) -> Real:
        """The least whole number that is not below."""
        return context().ceil(value)

    def max(self, *values: Real) -> Real:
        """The largest."""
        return max(values)

    def min(self, *values: Real) -> Real:
        """The smallest."""
        return min(values)


class Symbols(Numbers):
    """Positive sympy symbols; `values` says what they stand for."""

    def __init__(self, result: object) -> None:
        super().__init__(result)
        self.values: dict[str, float] = {}

    def symbol(self, name: str) -> Real:
        """A symbol without a value, such as a budget's ε."""
        return self._functions.Symbol(name, positive=True)

    def named(self, symbol: str, value: Any) -> Real:
        """The symbol, its value rounded up; 0, which no positive symbol stands for, is itself."""
        if value == 0:
            return self._functions.Integer(0)
        self.values[symbol] = value if isinstance(value, float | Written) else round_up(mpf(value))
        return self.symbol(symbol)

    def given(self, value: float) -> Real:
        """The number, as a fraction."""
        return self._functions.Rational(*value.as_integer_ratio())

    def computed(self, value: Real, shown: Callable[[], Real] | None = None) -> Real:
        """The formula.

        Raises:
            NotAFormula: if there is none.
        """
        if shown is None:
            raise NotAFormula
        return shown()

    def up(self, value: Real) -> Real:
        """The expression; rounding is not shown."""
        return value

    @property
    def _functions(self) -> Any:
        import sympy

        return sympy

    @property
    def inf(self) -> Real:
        """Infinity."""
        return self._functions.oo

    def geometric_product(self, first: Real, ratio: Real) -> Real:
        """The product."""
        t = self._functions.Symbol("t", integer=True, nonnegative=True)
        factor = self._functions.together(1 / (1 + first * ratio**t))
        return self._functions.Product(factor, (t, 0, self.inf))

    def ceil(self, value: Real) -> Real:
        """The least whole number that is not below."""
        return self._functions.ceiling(value)

    def max(self, *values: Real) -> Real:
        """The largest."""
        return self._functions.Max(*values)

    def min(self, *values: Real) -> Real:
        """The smallest."""
        return self._functions.Min(*values)
