"""Closed form, else exact sum, else two lists, else contours, large losses apart, lattice, Chernoff.

Each step encloses ε(δ) or δ(ε) of a sum of privacy losses, or declines. The contour integral and the
lattice are the two general methods: the better suited runs first, and the other narrows what it
leaves wide; between them contours for every number of large losses are tried, which rare events need,
and at last sums over the losses of a few rounds, next to which those of the others are tiny.
The Chernoff bound always applies; an answer that rests on it says so. Losses that are as good as
certain are taken from the sum before.

A step is ``enclose(total, query, estimate)``. It returns None where it does not apply, and raises
`NumericalFailure` where it applies and fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from dpcalc.accounting.composition import (
    chernoff,
    closed_form,
    contour_integral,
    exact_sum,
    laplace_sum,
    large_losses,
    lattice_sum,
    overlap,
    two_rounds,
    two_scales,
)
from dpcalc.accounting.composition.case_sums import SHARES
from dpcalc.accounting.composition.certain_losses import take_certain
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt, Estimate, Query, settled_for
from dpcalc.accounting.composition.rare_events import rare_events
from dpcalc.accounting.contour.shared import is_shared
from dpcalc.accounting.enclosure import Bracket, Search, current_search, intersection
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.errors import NumericalFailure
from dpcalc.numerics.kept import kept_within

Step = Callable[[LossSum, Query, Estimate | None], Bracket | None]
Result = TypeVar("Result")

_WIDE, _WIDEST = 0.05, 0.5
"""An enclosure is wide above the first; above the second too where a wide one was asked for."""

_NEAR_ZERO, _PATIENCE = 1e-2, 10
"""How much wider than aimed at an enclosure may be before both general methods are tried."""

_FAIR = 5e-4
"""During a search a contour's enclosure of this relative width will do."""

_LIKELY = 0.3
"""Where nothing else is narrow, losses are certain but for at most this probability."""

_BULK, _SLIGHT = 0.2, 0.15
"""Expected events from which on a contour suits δ(0); and δ(0) over them up to which it does always."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What little work tells: the answer, or an estimate, or neither.

    Attributes:
        found: the enclosure, where a closed form or a short sum gives it.
        estimate: else a coarse one, unless that fails.
    """

    found: Bracket | None
    estimate: Estimate | None

    @property
    def upper(self) -> float:
        """An upper bound of the answer."""
        if self.found is not None:
            return self.found.upper
        return math.inf if self.estimate is None else self.estimate.upper


def worst_direction(
    totals: Sequence[LossSum], query: Query, known: Bracket | None = None
) -> Bracket:
    """The largest answer; a direction that cannot be the largest is not refined.

    Args:
        totals: the directions.
        query: what is asked.
        known: an enclosure of the answer, if there is one direction.
    """
    if any(take_certain(total) is not None for total in totals):
        each = [enclosed(total, query) for total in totals]
        largest = max(each, key=lambda bracket: bracket.upper)
        return Bracket(max(one.lower for one in each), largest.upper, largest.method)
    begun = [(total, begin(total, query)) for total in totals]
    found: list[Bracket] = []
    floor = -1.0
    for total, beginning in sorted(begun, key=lambda each: -each[1].upper):
        if beginning.upper < floor:
            break
        found.append(finish(total, query, beginning, floor, known))
        floor = max(floor, found[-1].lower)
    largest = max(found, key=lambda bracket: bracket.upper)
    return Bracket(floor, largest.upper, largest.method)


def enclosed(total: LossSum, query: Query) -> Bracket:
    """The enclosure for one direction; losses that are as good as certain shift that of the others."""
    beginning = begin(total, query)
    if beginning.found is None and (certain := take_certain(total)) is not None:
        found = certain.enclose(query, enclosed)
        if found.relative_width <= _WIDE:
            return found
        return intersection(found, finish(total, query, beginning)) or found
    return finish(total, query, beginning)


def begin(total: LossSum, query: Query) -> Beginning:
    """Closed form, else exact sum, else both of two rounds listed, else an estimate."""
    for step in (closed_form.enclose, exact_sum.enclose, laplace_sum.enclose, two_rounds.enclose):
        found = attempt(step, total, query, None)
        if found is not None:
            return Beginning(found, None)
    return Beginning(None, attempt(contour_integral.estimate, total, query))


def finish(
    total: LossSum,
    query: Query,
    beginning: Beginning,
    floor: float = -1.0,
    known: Bracket | None = None,
) -> Bracket:
    """The enclosure for one direction; one that is surely below the floor may be wide."""
    found, estimate = beginning.found, beginning.estimate
    if found is None:
        unit = 0.0 if estimate is None else 1 / estimate.contour.c
        steps = better_first(total, estimate, query)
        for step in steps:
            if step is lattice_sum.enclose:
                near = intersection(found, known)
                found = intersection(found, large_apart(total, query, estimate, near))
                if estimate is not None and found is not None and found.upper * 2 < estimate.upper:
                    unit = 0.0  # what is known at another place says nothing of the answer's
                if found is not None and query.narrow(found, unit, _PATIENCE):
                    return query.clipped(found, total)
            other = remembered(step, total, query, estimate)
            if step is steps[1]:
                compare(total, steps, found, other)
            found = intersection(found, other)
            if found is None:
                continue
            if found.upper < floor:
                break
            if query.narrow(found, unit, _PATIENCE):
                if settled_for(found, query, unit, _PATIENCE * query.relative_width):
                    return query.clipped(found, total)  # narrow next to zero, if not by itself
                break
            fair = lattice_sum.FAIR if step is lattice_sum.enclose else _FAIR
            if found.upper < beginning.upper and settled_for(found, query, unit, fair):
                return query.clipped(found, total)  # a search asks for no lower end
    asked = min(_PATIENCE * query.relative_width, _WIDEST)
    if found is not None and asked < found.relative_width < _NEAR_ZERO and found.upper >= floor:
        # Narrow next to zero alone, of |dε/d ln δ|, not of ε; or large losses are not rare.
        found = intersection(found, large_apart(total, query, estimate, found, *SHARES))
    found = weakened(found, total, query, max(_WIDE, asked))
    two = attempt(two_scales.narrower, total, query, found, enclosed, floor)
    return query.clipped(intersection(found, two) or found, total)


def large_apart(
    total: LossSum, query: Query, estimate: Estimate | None, found: Bracket | None, *shares: float
) -> Bracket | None:
    """The sum by the number of large losses, about where a coarse one or a lattice finds the answer.

    During a search a lattice, which then is coarse too, costs less.
    """
    if current_search() is not None or not large_losses.suit(total, query):
        return None
    far_off, located = large_losses.FAR_OFF, None
    if estimate is not None and (found is None or found.relative_width > far_off):
        start = intersection(found, query.start(estimate.upper))
        located = attempt(large_losses.locate, total, query, start, shares)
        found = intersection(found, None if located is None else located.found)
    if found is None or found.relative_width > far_off:
        coarse = replace(query, relative_width=far_off)
        found = intersection(found, attempt(lattice_sum.enclose, total, coarse, estimate))
        if found is not None and found.relative_width <= query.relative_width:
            return found
    return attempt(large_losses.enclose, total, query, found, located, shares)


def remembered(
    step: Step, total: LossSum, query: Query, estimate: Estimate | None
) -> Bracket | None:
    """`attempt`, kept for when what a search found is asked for again, with all methods.

    The estimate is that of the sum and the query. A search asks lattices alone for less.
    """
    search = current_search() if step is lattice_sum.enclose else None
    kept = _kept(step, total, query, search, is_shared())
    if not kept:
        kept.append(attempt(step, total, query, estimate))
    return kept[0]


@kept_within(2**26)
def _kept(
    step: Step, total: LossSum, query: Query, search: Search | None, shared: bool
) -> list[Bracket | None]:
    """A place for one result."""
    del step, total, query, search, shared
    return []


def better_first(
    total: LossSum, estimate: Estimate | None, query: Query | None = None
) -> tuple[Step, Step]:
    """The general methods; in a search one that was outdone at the last place comes second.

    At ε = 0 no digits cancel: a contour comes first unless events are rare, or two, and tell much.
    """
    if isinstance(query, DeltaAt) and query.at <= 0 and estimate is not None:
        likely = total.rounds > 2 and total.expected_events >= _BULK
        slight = estimate.upper <= _SLIGHT * total.expected_events
        if likely or (slight and all(isinstance(loss, DensityPair) for loss, _ in total.parts)):
            return contour_integral.enclose, lattice_sum.enclose
    first, second = general_methods(total, estimate)
    search = current_search()
    outdone = search is not None and search.outdone.get(total.kind) is first
    return (second, first) if outdone else (first, second)


def compare(
    total: LossSum, steps: tuple[Step, Step], one: Bracket | None, other: Bracket | None
) -> None:
    """Tell the search, if one goes on, which of two methods gave the higher upper end."""
    search = current_search()
    if search is not None:
        ends = [math.inf if found is None else found.upper for found in (one, other)]
        search.outdone[total.kind] = steps[0] if ends[1] < ends[0] else steps[1]


def general_methods(total: LossSum, estimate: Estimate | None) -> tuple[Step, Step]:
    """The lattice first where a contour needs many nodes because events are rare."""
    if rare_events(total, estimate):
        return lattice_sum.enclose, contour_integral.enclose
    return contour_integral.enclose, lattice_sum.enclose


def weakened(found: Bracket | None, total: LossSum, query: Query, wide: float = _WIDE) -> Bracket:
    """A wide one meets what likely losses and Chernoff's bounds say; "weaker" if it stays wide."""
    if found is None or found.relative_width > wide:
        likely = take_certain(total, _LIKELY)
        if likely is not None:
            found = intersection(found, likely.enclose(query, enclosed))
    if found is not None and found.relative_width <= wide:
        return found
    least = overlap.least_epsilon if isinstance(query, EpsilonAt) else overlap.least_delta
    bound = chernoff.enclose(total, query).narrowed(least(total, query.at), math.inf)
    if (plain := total.with_disclosure) is not None:
        bound = bound.narrowed(0.0, enclosed(plain, query).upper)
    both = bound if found is None else found.narrowed(bound.lower, bound.upper)
    if query.clipped(both, total).relative_width <= wide:
        return both.named(overlap.METHOD)
    if found is None or bound.upper < found.upper:
        return both.named(bound.method)
    return both.named(f"weaker: {found.method}")


def attempt(step: Callable[..., Result | None], *arguments: object) -> Result | None:
    """What a step returns; None where it fails."""
    try:
        return step(*arguments)
    except NumericalFailure:
        return None
