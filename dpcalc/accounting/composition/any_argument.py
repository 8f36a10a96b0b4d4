"""δ of a sum at any real argument, and its ε where that is negative: where δ is above δ(0).

With the pairs the other way round, whose δ is δ',

    δ(-η) = 1 - e^{-η} + e^{-η} δ'(η),

so that δ decreases from 1 at -∞. Where the reversed pairs are not known, δ' is between 0 and δ(0). It
is not negative, so that δ(t) >= 1 - e^t, and ε(δ) >= ln(1 - δ).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt, Query
from dpcalc.accounting.enclosure import Bracket, invert_bound

Answer = Callable[[LossSum, Query], Bracket]
"""Encloses what is asked of a sum."""

_DIGITS = 1e-15
"""More than what the few operations on a number are off by."""

_WIDEST, _NARROWER = 1e-2, 4
"""Relative width of δ that is asked for at most; and how much less of it than of ε is left open."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Bounds of a number of any sign, and by which method."""

    low: float
    high: float
    method: str


@dataclass(frozen=True, slots=True)
class AnyArgument:
    """δ of a sum wherever it is asked for.

    Attributes:
        total: the sum.
        answer: encloses what is asked of a sum at 0 and above.
        width: relative, of δ and of a positive ε.
    """

    total: LossSum
    answer: Answer
    width: float
    _known: dict[float, Ends] = field(default_factory=dict)

    def delta(self, at: float) -> Ends:
        """Bounds of δ there."""
        if at not in self._known:
            self._known[at] = self._asked(at) if at >= 0 else self._turned(-at)
        return self._known[at]

    def _asked(self, at: float) -> Ends:
        found = self.answer(self.total, DeltaAt(at, self.width))
        return Ends(found.lower, found.upper, found.method)

    def _turned(self, size: float) -> Ends:
        turned = self.total.turned
        if turned is None:
            zero = self.delta(0.0)
            least, most, method = 0.0, zero.high, zero.method
        else:
            found = self.answer(turned, DeltaAt(size, self.width))
            least, most, method = found.lower, found.upper, found.method
        certain, left = -math.expm1(-size), math.exp(-size)
        low = (certain + left * least) * (1 - _DIGITS)
        return Ends(low, min((certain + left * most) * (1 + _DIGITS), 1.0), method)

    def epsilon(self, delta: float, tolerance: float) -> Ends:
        """Bounds of the smallest real number at which δ is at most ``delta``.

        Args:
            delta: in (0, 1).
            tolerance: how far apart bounds that are not positive may be.
        """
        found = self.answer(self.total, EpsilonAt(delta, self.width))
        least = math.log1p(-delta) * (1 + _DIGITS)
        if found.lower > 0 or found.upper - least <= tolerance:
            return Ends(found.lower or least, found.upper, found.method)
        unit, width = delta / (1 - delta), min(max(tolerance / _NARROWER, self.width), _WIDEST)
        finer = AnyArgument(self.total, self.answer, width)

        def upper(beyond: float) -> float:
            return finer.delta(least + beyond).high

        def lower(beyond: float) -> float:
            return finer.delta(least + beyond).low

        high = invert_bound(upper, delta, -least, unit, tolerance / 4)[1]
        guess = high if high < math.inf else -least
        low = invert_bound(lower, delta, guess, unit, tolerance / 4)[0]
        return Ends(max(least, least + low), min(found.upper, least + high), found.method)
