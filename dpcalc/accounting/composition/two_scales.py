"""A sum in two: a few rounds listed, the others by their own δ(ε).

Next to the loss of Laplace noise, or of randomised response, those of many rounds that sample next to
nobody are tiny; but they decide how far ε is above what the former alone would take. No contour or
lattice sees both scales at once. With S = B + R, B a list of values b of probability m_b,

    δ(ε) = P(B = ∞) + Σ_b m_b δ_R(ε - b).

B's values may be rounded up or down, as `listed_losses` says, and δ_R is asked at the places that
matter; in between it is a convex function of e^ε (`convex_curve`). Cells are halved, and places added,
where most is left open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce

import numpy as np

from dpcalc.accounting.composition.any_argument import Answer
from dpcalc.accounting.composition.asked_rest import NEGLIGIBLE, beginning
from dpcalc.accounting.composition.convex_curve import ConvexCurve
from dpcalc.accounting.composition.listed_losses import Listed, Outline
from dpcalc.accounting.composition.listed_rounds import parted
from dpcalc.accounting.composition.loss_sum import SMALLEST_TAIL, LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt, Query
from dpcalc.accounting.enclosure import Bracket, current_search
from dpcalc.accounting.losses import UNIT_ROUNDOFF, Reals

METHOD = "sum over the losses of a few rounds"

_PATIENCE, _COARSEST = 10, 1e-5
"""Enclosures so many times wider than aimed at are wide; where the aim is coarser they may be."""

_PASSES, _MOST_PLACES, _AT_ONCE, _MOST_TERMS = 24, 48, 6, 400_000
"""Passes; places where the rest is asked, and that a pass adds; sums of one value of each list."""

_SHARE, _LEADING, _NEAR = 0.1, 8, 1e-7
"""Of what is left open, what counts; how many times less than most another interval may leave; and the
relative distance of places at which nothing else is learnt."""

_ASIDE = 1 - 2 * _NEAR, 1 + 2 * _NEAR

_DIGITS, _SMALLEST = 1e-13, 1e-300
"""More than what a sum of that many terms is off by, as a share of it, and where terms underflow."""

Bound = Callable[[Reals], Reals]

_nested: ContextVar[bool] = ContextVar("part of a sum in two", default=False)


@dataclass(frozen=True, slots=True)
class Totals:
    """All sums of one value of each list, with their probabilities.

    Attributes:
        losses: the sums, shape (n,).
        masses: bounds of their probabilities.
        errors: bounds on their rounding.
        infinite: bound of the probability of an infinite one.
    """

    losses: Reals
    masses: Reals
    errors: Reals
    infinite: float

    @classmethod
    def of(cls, lists: Sequence[Listed]) -> Totals:
        """Those of lists, at least one."""
        losses = reduce(np.add.outer, [one.losses for one in lists]).ravel()
        masses = reduce(np.multiply.outer, [one.masses for one in lists]).ravel()
        errors = reduce(np.add.outer, [one.errors for one in lists]).ravel()
        size = sum(float(np.abs(one.losses).max(initial=0.0)) for one in lists)
        return cls(
            losses,
            masses,
            errors + 4 * UNIT_ROUNDOFF * len(lists) * size,
            math.fsum(one.infinite for one in lists),
        )

    def places(self, epsilon: float, up: int) -> Reals:
        """What the rest has to exceed, rounded one way."""
        slip = self.errors + 2 * UNIT_ROUNDOFF * (epsilon + np.abs(self.losses))
        return epsilon - self.losses + up * slip


@dataclass(frozen=True, slots=True)
class Mixture:
    """The sum over a list of each of few rounds.

    Attributes:
        outlines: the rounds.
        curve: δ of the rest.
        reverse: that of its reversed pairs.
        above: the sums of all upper lists.
        below: those of the lower ones.
    """

    outlines: tuple[Outline, ...]
    curve: ConvexCurve
    reverse: ConvexCurve
    above: Totals
    below: Totals

    @classmethod
    def of(cls, outlines: Sequence[Outline], curve: ConvexCurve, reverse: ConvexCurve) -> Mixture:
        """That of rounds."""
        above, below = ([getattr(one, side) for one in outlines] for side in ("above", "below"))
        return cls(tuple(outlines), curve, reverse, Totals.of(above), Totals.of(below))

    def upper(self, epsilon: float) -> float:
        """At least δ(ε)."""
        high = self.high(self.above.places(epsilon, -1))
        value = float((self.above.masses * high).sum()) + self.above.infinite + _SMALLEST
        return min(value * (1 + _DIGITS), 1.0)

    def lower(self, epsilon: float) -> float:
        """At most δ(ε); of the lists' infinite losses the likeliest alone count."""
        low = self.low(self.below.places(epsilon, 1))
        infinite = max(outline.below.infinite for outline in self.outlines)
        return (float((self.below.masses * low).sum()) + infinite) * (1 - _DIGITS)

    def high(self, at: Reals) -> Reals:
        """At least δ of the rest, at places of either sign."""
        return _at(at, self.curve.high, self.reverse.high)

    def low(self, at: Reals) -> Reals:
        """At most that."""
        return _at(at, self.curve.low, self.reverse.low)

    def open(self, epsilon: float) -> tuple[Reals, Reals]:
        """Where δ of the rest matters, and about how much of the sum it leaves open there."""
        before, at = self.below.places(epsilon, -1), self.below.places(epsilon, 1)
        return at, self.below.masses * (self.high(before) - self.low(at))

    def cells(self, epsilon: float, k: int) -> Reals:
        """About what each cell of a list leaves open."""
        own, others = self.outlines[k], [*self.outlines[:k], *self.outlines[k + 1 :]]
        rest = Totals.of([one.below for one in others]) if others else _NONE

        def mean(losses: Reals) -> Reals:
            at = epsilon - np.add.outer(losses, rest.losses)
            return np.asarray((self.high(at) * rest.masses).sum(axis=1))

        return (
            own.open(mean(own.above.losses), mean(own.below.losses)) if own.cells else np.zeros(1)
        )


def _at(at: Reals, curve: Bound, reverse: Bound) -> Reals:
    """A bound of δ at places of either sign, by those at 0 and above."""
    size = np.abs(at)
    found = curve(size)
    if (negative := at < 0).any():
        below = size[negative]
        found[negative] = -np.expm1(-below) + np.exp(-below) * reverse(below)
    return found


_NONE = Totals(np.zeros(1), np.ones(1), np.zeros(1), 0.0)


def narrower(
    total: LossSum, query: Query, found: Bracket, answer: Answer, floor: float
) -> Bracket | None:
    """`enclose` where what is known is wide.

    Not during a search, for the many questions of a curve, for rounds that are part of such a sum, or
    where δ is less than what lists leave out.

    Args:
        total: the losses.
        query: what is asked.
        found: what is known.
        answer: encloses what is asked of the other rounds.
        floor: what another direction answers at least.
    """
    if found.upper < floor or found.relative_width <= _PATIENCE * query.relative_width:
        return None
    if isinstance(query, DeltaAt) and found.upper < SMALLEST_TAIL:
        return None
    if query.relative_width > _COARSEST or current_search() is not None or _nested.get():
        return None
    token = _nested.set(True)
    try:
        return enclose(total, query, found, answer)
    finally:
        _nested.reset(token)


def enclose(total: LossSum, query: Query, found: Bracket, answer: Answer) -> Bracket | None:
    """The sum; None where no rounds can be listed, or nothing is known of the answer.

    Args:
        total: the losses.
        query: what is asked.
        found: what is known.
        answer: encloses what is asked of the other rounds.
    """
    if not 0 < found.upper < math.inf:
        return None
    delta = query.at if isinstance(query, EpsilonAt) else found.upper
    parting = parted(total, max(delta * NEGLIGIBLE, SMALLEST_TAIL))
    if parting is None:
        return None
    first = beginning(parting.rest, query, found, answer)
    curve = first.asking.curve(parting.rest)
    curve.add(first.places)
    mixture = Mixture.of(parting.outlines, curve, first.asking.reverse(parting.rest, curve))
    found = found.named(METHOD)
    for _ in range(_PASSES):
        at = query.place(found)[1]
        tolerance = query.relative_width * min(at, first.unit / 10)
        found = found.narrowed(*query.read(mixture.upper, mixture.lower, at, first.unit, tolerance))
        if found.upper == 0 or query.narrow(found, first.unit):
            break
        low, high = query.place(found)
        finer = _refined(mixture, [high] if low == high else [low + (high - low) / 2, high])
        if finer is None:
            break
        mixture = finer
    return found


def _refined(mixture: Mixture, epsilons: Sequence[float]) -> Mixture | None:
    """The sum with places added and cells halved where most is left open; None where none are."""
    share = [1 / mixture.upper(epsilon) for epsilon in epsilons]
    each = [mixture.open(epsilon) for epsilon in epsilons]
    at = np.concatenate([place for place, _ in each])
    gaps = np.concatenate([gap * one for (_, gap), one in zip(each, share, strict=True)])
    cells = []
    for k in range(len(mixture.outlines)):
        left = [mixture.cells(e, k) * one for e, one in zip(epsilons, share, strict=True)]
        cells.append(np.sum(left, axis=0))
    enough = _SHARE * (float(gaps.sum()) + sum(float(one.sum()) for one in cells))
    changed, outlines = False, []
    for curve, held in ((mixture.curve, at >= 0), (mixture.reverse, at < 0)):
        if float(gaps[held].sum()) > enough:
            changed = curve.add(_wanted(curve, np.abs(at[held]), gaps[held])) or changed
    for outline, left in zip(mixture.outlines, cells, strict=True):
        which = left > left.sum() / (2 * len(left))
        finer = outline.halved(which) if float(left.sum()) > enough else outline
        outlines.append(finer)
        changed = changed or finer is not outline
    terms = math.prod(len(outline.above.losses) for outline in outlines)
    if not changed or terms > _MOST_TERMS:
        return None
    return Mixture.of(outlines, mixture.curve, mixture.reverse)


def _wanted(curve: ConvexCurve, at: Reals, gaps: Reals) -> list[float]:
    """In the middle of what an interval leaves open, for those that leave most."""
    if len(curve) >= _MOST_PLACES:
        return []
    interval = curve.interval(at)
    left = np.bincount(interval, gaps)
    wanted = []
    for k in np.argsort(-left)[:_AT_ONCE]:
        if left[k] < left.max() / _LEADING or left[k] <= 0:
            break
        inside = np.flatnonzero(interval == k)
        inside = inside[np.argsort(at[inside])]
        middle = np.searchsorted(np.cumsum(gaps[inside]), left[k] / 2)
        place = float(at[inside[min(middle, len(inside) - 1)]])
        # Next to a known place δ may fall by orders of magnitude within a rounding of ε.
        around = [place] if curve.distance(place) > _NEAR * place else [place * x for x in _ASIDE]
        wanted += [one for one in around if curve.distance(one) > _NEAR * place]
    return wanted
