"""δ of the rounds that are not listed, asked where it is wanted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dpcalc.accounting.composition.any_argument import Answer
from dpcalc.accounting.composition.convex_curve import ConvexCurve, Ends
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt, Query
from dpcalc.accounting.enclosure import Bracket
from dpcalc.errors import NumericalFailure

NEGLIGIBLE = 1e-12
"""Of δ: what need not be known any better."""

_SMALLEST = 1e-280
_NARROWEST, _WIDEST = 1e-6, 1e-2
"""Relative widths that δ of the rest is asked for."""

_LOOSE, _PATIENCE = 0.2, 4
"""An answer of more than this relative width is loose; with more than so many it is given up."""

_FIRST_POWERS = 0.25, 0.5, 0.75, 1.0
"""Powers of δ, at whose ε the rest is asked first."""

_FALLEN = 30.0
"""About how far ln δ of the rest falls to where it is the δ that is asked for."""


@dataclass(slots=True)
class Asking:
    """How δ of a sum is asked.

    Attributes:
        answer: encloses it.
        width: how narrow it should be, relative to it.
        negligible: a δ so small that it need not be known any better.
    """

    answer: Answer
    width: float
    negligible: float
    _loose: int = 0

    def curve(self, rest: LossSum, known: Mapping[float, Ends] | None = None) -> ConvexCurve:
        """δ of the sum, of which something may be known."""
        far = self.answer(rest, EpsilonAt(self.negligible, _WIDEST)).upper
        beyond = {far: (0.0, self.negligible)} if 0 < far < math.inf else {}
        return ConvexCurve(lambda place: self._ask(rest, place), {**beyond, **(known or {})})

    def reverse(self, rest: LossSum, curve: ConvexCurve) -> ConvexCurve:
        """That of the reversed pairs, at 0 the same; where they are not known, no more than that."""
        zero = curve.ends(0.0)
        if (turned := rest.turned) is None:
            return ConvexCurve(lambda _: (0.0, zero[1]), {0.0: zero})
        return curve if turned.parts == rest.parts else self.curve(turned, {0.0: zero})

    def _ask(self, rest: LossSum, place: float) -> Ends:
        found = self.answer(rest, DeltaAt(place, self.width))
        if found.relative_width > _LOOSE and found.upper > self.negligible:
            self._loose += 1
            if self._loose > _PATIENCE:
                raise NumericalFailure("δ of the rounds that are not listed is not told apart")
        return found.lower, found.upper


@dataclass(frozen=True, slots=True)
class Beginning:
    """With what a sum in two begins.

    Attributes:
        unit: a typical |dε/d ln δ|.
        asking: how δ of the rest is asked.
        places: where first.
    """

    unit: float
    asking: Asking
    places: list[float]


def beginning(rest: LossSum, query: Query, found: Bracket, answer: Answer) -> Beginning:
    """Where δ of the rest falls to what is asked for, and on the way there.

    Args:
        rest: the losses that are not listed.
        query: what is asked of the whole sum.
        found: what is known of that.
        answer: encloses what is asked of the rest.
    """
    if not isinstance(query, EpsilonAt):
        width = max(query.relative_width / 4, _NARROWEST)
        asking = Asking(answer, width, max(found.upper * NEGLIGIBLE, _SMALLEST))
        return Beginning(query.at / 100 or 1.0, asking, [])
    places = [
        place
        for power in _FIRST_POWERS
        if 0 < (place := answer(rest, EpsilonAt(query.at**power, _WIDEST)).upper) < math.inf
    ]
    unit = min([*places[-1:], found.upper]) / _FALLEN
    width = min(max(query.relative_width * found.upper / unit / 4, _NARROWEST), _WIDEST)
    asking = Asking(answer, width, max(query.at * NEGLIGIBLE, _SMALLEST))
    return Beginning(unit, asking, places)
