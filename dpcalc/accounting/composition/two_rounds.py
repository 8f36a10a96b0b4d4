"""Two rounds: the losses of both as lists.

With the losses A and B, of which A has the values a with probabilities m_a,

    δ(ε) = P(A = ∞) + Σ_a m_a δ_B(ε - a),

and δ_B of a list is known at every real argument (`listed_curve`). Lists that dominate both rounds
give an upper bound, lists that both dominate a lower one; cells of densities are cut where the two
differ most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpcalc.accounting.composition.asked_rest import NEGLIGIBLE
from dpcalc.accounting.composition.lattice.rounds import Round, rounds_of
from dpcalc.accounting.composition.listed_curve import ListedCurve
from dpcalc.accounting.composition.listed_losses import Outline, of_density, of_outcomes
from dpcalc.accounting.composition.loss_sum import SMALLEST_TAIL, LossSum
from dpcalc.accounting.composition.outcomes import Outcomes, outcomes
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt, Estimate, Query
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import UNIT_ROUNDOFF, DiscreteLoss, RandomisedResponseLoss, Reals
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.errors import NumericalFailure

METHOD = "sum over the losses of two rounds"

_PASSES, _MOST_CELLS, _MOST_PARTS = 8, 60_000, 64
"""Passes; cells of both rounds; and into how many parts one pass may cut a cell."""

_AROUND = 61
"""Cells that share what they leave open."""

_SHARE = 0.45
"""Of the width aimed at, what cells are to leave open."""

_TAIL, _ENOUGH = 1e-24, 1e-9
"""P-mass left out while δ is not known; and what may be left out, as a share of δ."""

_NEXT_TO_ZERO, _STEP = 0.1, 20
"""An ε below this share of |dε/d ln δ| is enclosed to the width aimed at for that share at first; and
how many times nearer than that places are tried."""

_CURVE_WIDTH = 5e-5
"""Of δ at many ε, relative to it."""

_SMALLEST = 1e-300
"""More than all terms that underflow add up to."""

Unit = Outcomes | Round
"""Rounds with few outcomes, or one with a density."""


@dataclass(frozen=True, slots=True)
class TwoLists:
    """The sum.

    Attributes:
        outlines: both rounds; equal ones are the same.
        above: δ of lists that dominate.
        below: that of lists that are dominated.
    """

    outlines: tuple[Outline, Outline]
    above: tuple[ListedCurve, ListedCurve]
    below: tuple[ListedCurve, ListedCurve]

    @classmethod
    def of(cls, one: Outline, other: Outline) -> TwoLists:
        """That of both."""
        different = (one,) if one is other else (one, other)
        above = [ListedCurve.of(each.above, 1) for each in different]
        below = [ListedCurve.of(each.below, -1) for each in different]
        return cls((one, other), (above[0], above[-1]), (below[0], below[-1]))

    @property
    def _different(self) -> tuple[Outline, ...]:
        one, other = self.outlines
        return (one,) if one is other else (one, other)

    def upper(self, epsilon: float) -> float:
        """At least δ(ε)."""
        first, second = self.above
        value = _mean(first, second, epsilon, -1)
        return min(value * (1 + first.slack + second.slack) + _SMALLEST, 1.0)

    def lower(self, epsilon: float) -> float:
        """At most δ(ε)."""
        first, second = self.below
        value = _mean(first, second, epsilon, 1)
        return max(value * (1 - first.slack - second.slack) - _SMALLEST, 0.0)

    def unit(self, epsilon: float) -> float:
        """|dε/d ln δ|; 0 where δ does not fall."""
        first, second = self.above
        fall = float((first.masses * second.falls(epsilon - first.losses)).sum())
        return self.upper(epsilon) / fall if fall > 0 else 0.0

    def likely_largest(self, delta: float) -> float:
        """About the largest sum that has to be reckoned with at δ."""
        found = math.fsum(max(curve.exceeded(delta), 0.0) for curve in self.above)
        return found or 1e-3 * max(float(np.abs(curve.losses).max()) for curve in self.above)

    def finer(self, epsilon: float, share: float) -> TwoLists | None:
        """Cut so that the cells leave open a share of what they do; None where that is too fine.

        A cell cut into n parts leaves open a part in n². Given the sum, the fewest parts go as the
        cube root of what each leaves open.
        """
        each = [self._open(epsilon, k) for k in range(len(self._different))]
        roots = [np.cbrt(_smoothed(one)) for one in each]
        goal = share * sum(float(one.sum()) for one in each)
        if not goal > 0:
            return None
        per_root = math.sqrt(sum(float(one.sum()) for one in roots) / goal)
        wanted = [np.minimum(per_root * one, _MOST_PARTS) for one in roots]
        if not sum(float(one.sum()) for one in wanted) <= _MOST_CELLS:
            return None
        cut = [own.recut(n) for own, n in zip(self._different, wanted, strict=True)]
        return TwoLists.of(cut[0], cut[-1])

    def _open(self, epsilon: float, k: int) -> Reals:
        """What each cell of a round leaves open, on average over both lists of the other round."""
        own = self.outlines[k]
        if not own.cells:
            return np.zeros(0)
        above, below = epsilon - own.above.losses, epsilon - own.below.losses
        others = self.above[1 - k], self.below[1 - k]
        return np.asarray(sum(own.open(one.at(above), one.at(below)) for one in others)) / 2


def _smoothed(each: Reals) -> Reals:
    """Means over neighbours: next to lists that are as fine cells leave more or less open by chance."""
    count = min(_AROUND, 1 + len(each) // 4)
    return np.convolve(each, np.full(count, 1 / count), "same") if len(each) else each


def _mean(one: ListedCurve, other: ListedCurve, epsilon: float, up: int) -> float:
    """Σ_a m_a δ_B(ε - a), with arguments rounded one way; A is the shorter list."""
    first, second = (one, other) if len(one.losses) <= len(other.losses) else (other, one)
    slip = 3 * UNIT_ROUNDOFF * (epsilon + np.abs(first.losses))
    rest = second.at(epsilon - first.losses + up * slip)
    return float((first.masses * rest).sum()) + first.infinite


def enclose(total: LossSum, query: Query, estimate: Estimate | None = None) -> Bracket | None:
    """The sum; None unless there are two rounds that can be listed and the enclosure is narrow."""
    del estimate
    if (units := _two(total)) is None:
        return None
    found, sums = _refined(units, query)
    at = query.place(found)[1]
    return found if at < math.inf and query.narrow(found, sums.unit(at)) else None


@dataclass(slots=True)
class TwoRounds:
    """δ at many ε; lists that were cut for one serve its neighbours.

    Args:
        units: both.
    """

    units: tuple[Unit, Unit]
    _sums: TwoLists | None = field(default=None, init=False)
    _beyond: Bracket | None = field(default=None, init=False)
    _from: float = field(default=math.inf, init=False)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds of δ(ε); where it is less than what lists leave out, so it is farther on."""
        if self._beyond is not None and epsilon >= self._from:
            return self._beyond.lower, self._beyond.upper
        if self._sums is not None:
            low, high = self._sums.lower(epsilon), self._sums.upper(epsilon)
            if high - low <= _CURVE_WIDTH * high:
                return low, high
        try:
            found, self._sums = _refined(self.units, DeltaAt(epsilon, _CURVE_WIDTH / 4))
        except NumericalFailure:
            return 0.0, 1.0
        if found.lower == 0:
            self._beyond, self._from = found, epsilon
        return found.lower, found.upper


def curve(total: LossSum) -> TwoRounds | None:
    """δ of two rounds that can be listed; None of other sums."""
    units = _two(total)
    return None if units is None else TwoRounds(units)


def _two(total: LossSum) -> tuple[Unit, Unit] | None:
    """What is listed; None unless it is two lists."""
    few: list[tuple[PrivacyLoss, int]] = []
    dense: list[tuple[PrivacyLoss, int]] = []
    for part in total.parts:
        discrete = isinstance(part[0], DiscreteLoss | RandomisedResponseLoss)
        (few if discrete else dense).append(part)
    if sum(count for _, count in dense) + bool(few) != 2:
        return None
    total.require_tractable()
    rounds = rounds_of(dense)
    listed = outcomes(few) if few else None
    if rounds is None or any(one.pair is None for one in rounds) or (few and listed is None):
        return None
    units: list[Unit] = [*rounds, *([] if listed is None else [listed])]
    return units[0], units[-1]


def _refined(units: tuple[Unit, Unit], query: Query) -> tuple[Bracket, TwoLists]:
    """Cut ever finer until the enclosure is narrow, or nothing is gained."""
    sums = _begun(units, query)
    epsilon = isinstance(query, EpsilonAt)
    near = sums.likely_largest(query.at) if epsilon else query.at
    found, unit, tolerance = query.start(math.inf).named(METHOD), near / 10, near / 1000
    for _ in range(_PASSES):
        ends = query.read(sums.upper, sums.lower, near, unit, tolerance)
        found = found.narrowed(*ends)
        near = query.place(found)[1]
        if not 0 < found.upper < math.inf or found.relative_width <= query.relative_width:
            break
        unit = sums.unit(near) or unit
        allowed = query.relative_width * found.upper
        if epsilon and not query.narrow(found, unit):
            allowed = max(allowed, query.relative_width * _NEXT_TO_ZERO * unit)
        tolerance = allowed / _STEP
        finer = sums.finer(near, _SHARE * allowed / (found.upper - found.lower))
        if finer is None:
            break
        sums = finer
    return found, sums


def _begun(units: tuple[Unit, Unit], query: Query) -> TwoLists:
    """Few cells, in windows that leave out little of δ."""
    if isinstance(query, EpsilonAt):
        return _listed(units, max(query.at * NEGLIGIBLE, SMALLEST_TAIL))
    tail = _TAIL
    while True:
        sums = _listed(units, tail)
        low = sums.lower(query.at)
        if tail <= max(low * _ENOUGH, SMALLEST_TAIL):
            return sums
        tail = max(low * NEGLIGIBLE if low > 0 else tail**2, SMALLEST_TAIL)


def _listed(units: tuple[Unit, Unit], tail: float) -> TwoLists:
    """Both, P-mass ``tail`` of each left out on either side."""
    one, other = units
    first = _outline(one, tail)
    return TwoLists.of(first, first if one is other else _outline(other, tail))


def _outline(unit: Unit, tail: float) -> Outline:
    return of_outcomes(unit) if isinstance(unit, Outcomes) else of_density(unit, tail)
