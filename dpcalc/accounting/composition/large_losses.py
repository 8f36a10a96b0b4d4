"""The sum by how many rounds have a large loss: one contour for every number of them.

Where one record in many is sampled, a round's loss is next to nothing, and now and then large: the
tail of the sum is that of one or two rounds, heavier than any exponential, and a single contour
cancels what is small against what is large until no digit is left. Parted by how many losses are
large, every case has a contour of its own on which nothing cancels, and cases of more large losses
than matter are bounded by their probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from dpcalc.accounting.composition.case_sums import SHARES, SMALLEST, CaseSums, Setting, summed
from dpcalc.accounting.composition.finer_cases import (
    MOST_CELLS,
    bend_of_cases,
    cells_of_laws,
    law_around,
    peaks_of_cases,
    smoothing_of_cases,
)
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.parted_laws import (
    Parted,
    cases,
    expected_number,
    more_than,
    parted,
)
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt, Query
from dpcalc.accounting.contour.shared import TAILS, is_shared, kept, on_grid
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import LossDistribution
from dpcalc.accounting.losses.density_pair import DensityPair

METHOD = "moment inversion, large losses apart, two-sided"

_MOST, _MOST_EXPECTED = 5, 0.5
"""So many large losses are told apart at most, and so many are expected."""

_MOST_WAYS, _MOST_CASES = 5_000, 48
"""Ways to draw the classes of large losses that are looked at, and those that are summed: of many
different laws there are more, and a contour for all of them, or a lattice, costs less."""

_PASSES = 6
_SMOOTHED, _CUT, _LEAST_ROOM, _LEAST_CUT = 0.45, 0.6, 0.5, 0.25
"""Of what the enclosure may leave open: what smoothing may and what cells may, where rounding takes
nothing; at least what it leaves to them, and what smoothing leaves to cells."""

_FIRST_CELLS, _FIRST_OF_WIDE, _WIDE, _MOST_GROWTH = 1250, 400, 1e-4, 12.0
"""Cells at first, fewer for an enclosure of at least that relative width; and how many times more in
the next pass at most."""

_NEGLIGIBLE = 0.02
"""Of what the enclosure may leave open: what cases that are not computed may weigh."""

_ROUNDED = 0.1
"""Of what the enclosure may leave open: what rounding may, where contours that lose less are found."""

_CLOSE, _CLOSER, _MOST_ROUNDED = 2.0, 1.05, 0.3
"""How wide an enclosure may be, over what was asked for; and where less than a share is rounding."""

_SLOW, _MISLED, _AFTER = 0.7, 2.0, 1.6
"""How much of its width a pass may leave; how many times more cells than a bend told may be, and how
many there are after it by the size of losses, over what was planned before."""

_NEAR = 0.05
"""Contours and classes for an ε serve another that is off by this share of it."""

FAR_OFF = 0.3
"""Relative width above which what is known of an answer does not tell which losses are large."""

_TRIES, _COARSE = 3, 0.02
"""How many coarse passes may look for the answer, each from where the last one found it; and for what
relative width they are made."""


def suit(total: LossSum, query: Query) -> bool:
    """Whether there are losses that may be parted; at ε = 0 none is larger than the others."""
    if isinstance(query, DeltaAt) and query.at <= 0:
        return False
    return any(isinstance(loss, DensityPair) for loss, _ in total.parts)


@dataclass(frozen=True, slots=True)
class Located:
    """What coarse passes tell.

    Attributes:
        found: where the answer is.
        next: for what and how finely to compute after them.
        moved: whether the answer was far from where the last of them looked.
    """

    found: Bracket
    next: Setting
    moved: bool


def enclose(
    total: LossSum,
    query: Query,
    known: Bracket | None,
    located: Located | None = None,
    shares: Sequence[float] = (),
) -> Bracket | None:
    """The sum; None where large losses are not rare, or nothing is known of the answer.

    Args:
        total: the losses.
        query: what is asked.
        known: what other methods tell.
        located: what coarse passes for the same query tell, if they were made.
        shares: of ε, losses being large above the first at which they are rare; half of it if none.
    """
    located = located or locate(total, query, known, shares)
    if located is None or known is None:
        return None
    found, setting = located.found.narrowed(known.lower, known.upper), located.next
    close = _CLOSE if known.relative_width <= _CLOSE * query.relative_width else _CLOSER
    other = located.moved
    for _ in range(_PASSES):
        if found.upper <= 0 or found.relative_width <= close * query.relative_width:
            break
        sums = _summed(total, setting)
        if sums is None:
            larger = next((share for share in shares if share > setting.share), None)
            if larger is None:
                return None
            setting, other = replace(_coarse(query, found), share=larger), True
            continue
        before, found = found, _narrowed(found, query, setting, sums)
        looked, (setting, other) = other, _next(query, setting, sums, found)
        slow = found.upper - found.lower > _SLOW * (before.upper - before.lower)
        if slow and not (looked or other):
            break
        close = _CLOSE if _is_rounding(sums, setting.epsilon) else _CLOSER
    return found


def _is_rounding(sums: CaseSums, epsilon: float) -> bool:
    """Whether finer sums would not differ much less."""
    return sums.rounded(epsilon) > _MOST_ROUNDED * (sums.upper(epsilon) - sums.lower(epsilon))


def locate(
    total: LossSum, query: Query, known: Bracket | None, shares: Sequence[float] = ()
) -> Located | None:
    """The same, coarse and from far off; as wide as it may be where that does not find the answer."""
    if known is None or not 0 < known.upper < math.inf:
        return None
    total.require_tractable()
    found = Bracket(known.lower, known.upper, METHOD)
    for _ in range(_TRIES):
        setting, sums = _coarse(query, found), None
        if not setting.epsilon > 0:
            return None
        for share in shares or SHARES[:1]:
            setting = replace(setting, share=share)
            if (sums := _summed(total, setting)) is not None:
                break
        if sums is None:
            return None
        found = _narrowed(found, query, setting, sums)
        finer, moved = _next(query, setting, sums, found)
        if found.upper <= 0 or (found.relative_width <= FAR_OFF and not moved):
            break
    return Located(found, finer, moved)


def _narrowed(found: Bracket, query: Query, setting: Setting, sums: CaseSums) -> Bracket:
    """What is known, and what the sums tell."""
    unit = 1 / sums.slope(setting.epsilon)
    tolerance = query.relative_width * min(setting.epsilon, unit) / 20
    return found.narrowed(*query.read(sums.upper, sums.lower, setting.epsilon, unit, tolerance))


def _coarse(query: Query, known: Bracket) -> Setting:
    """What tells where the answer is."""
    return _first(replace(query, relative_width=max(query.relative_width, _COARSE)), known)


def _first(query: Query, known: Bracket) -> Setting:
    asked = isinstance(query, EpsilonAt)
    epsilon, delta = (known.upper, query.at) if asked else (query.at, known.upper)
    slope = 3 / on_grid(max(epsilon, SMALLEST))
    width = 3 * query.relative_width
    cells = _FIRST_CELLS if query.relative_width < _WIDE else _FIRST_OF_WIDE
    return Setting(epsilon, max(delta, SMALLEST), slope, width, slope, cells, {}, _CUT * width)


def _next(query: Query, setting: Setting, sums: CaseSums, found: Bracket) -> tuple[Setting, bool]:
    """Finer; or otherwise, and that it is so: nearer, or by size where a bend told too few cells."""
    asked = isinstance(query, EpsilonAt)
    epsilon = found.upper if asked and found.upper > 0 else setting.epsilon
    delta = setting.delta if asked else max(found.upper, SMALLEST)
    moved = abs(epsilon - setting.epsilon) > _NEAR * epsilon
    if moved or abs(math.log(delta / setting.delta)) > 1:
        return replace(_coarse(query, found), share=setting.share), True
    slope = sums.slope(epsilon)
    aim = query.relative_width * (max(slope * epsilon, 0.1) if asked else 1.0)
    heaviest = max(sums.terms, key=lambda term: term.high(epsilon))
    all_open = aim * delta
    room = max(all_open - sums.rounded(epsilon), _LEAST_ROOM * all_open)
    cut = sum(
        term.high(epsilon) - term.low(epsilon) - term.smoothed(epsilon) - term.lost(epsilon)
        for term in sums.terms
    )
    smoothing, more = smoothing_of_cases(sums, epsilon, _SMOOTHED * room)
    allowed = max(_CUT * room - more, _LEAST_CUT * all_open)
    growth = 1.2 * math.sqrt(max(cut, 0.0) / max(allowed, SMALLEST))
    misled = setting.bend is not None and growth > _MISLED
    growth = _AFTER if misled else min(max(growth, 1.0), _MOST_GROWTH)
    if not sums.tell(epsilon):
        growth = _MOST_GROWTH
    bend = None if misled or is_shared() else bend_of_cases(sums, epsilon)
    planned = setting.bend is not None and bend is not None
    next_one = Setting(
        epsilon,
        delta,
        slope,
        aim,
        heaviest.contour.c,
        setting.cells if planned else min(setting.cells * growth, MOST_CELLS),
        smoothing,
        allowed / delta,
        bend,
        setting.finer * growth if planned else 1.0,
        peaks_of_cases(sums, epsilon, setting.peaks, _ROUNDED * all_open),
        setting.share,
    )
    return next_one, misled


def _summed(total: LossSum, setting: Setting) -> CaseSums | None:
    """All cases that matter, on their contours; None if too many would."""
    tail = on_grid(EpsilonAt(setting.delta, setting.open).tail(total), TAILS)
    numbers = cells_of_laws(total, tail, setting)
    around = [(law_around(loss, tail, setting, numbers), count) for loss, count in total.parts]
    uppers = [(upper, count) for (upper, _), count in around]
    lowers = [(lower, count) for (_, lower), count in around]
    expected = expected_number(_parted(uppers, setting.thresholds[:1]))
    negligible = _NEGLIGIBLE * setting.open * setting.delta
    most = next((k for k in range(1, _MOST + 1) if more_than(k, expected) < negligible), None)
    if most is None or expected > _MOST_EXPECTED:
        return None
    apart = _in_classes(uppers, setting)
    if math.comb(sum(len(part.large) for part in apart[-1]) + most, most) > _MOST_WAYS:
        return None
    above, left_out = cases(apart[0], most, negligible / 8, apart[1:])
    if len(above) > _MOST_CASES:
        return None
    apart = _in_classes(lowers, setting)
    below = {case.key: case for case in cases(apart[0], most, 0.0, apart[1:])[0]}
    return summed(above, below, left_out, setting)


def _in_classes(
    laws: Sequence[tuple[LossDistribution, int]], setting: Setting
) -> list[list[Parted]]:
    """The laws parted for one large loss, for two, and for more.

    Of more large losses, and of different rounds, fewer classes: cases are as many as ways to draw.
    """
    fine, coarse = _parted(laws, setting.thresholds), _parted(laws, setting.thresholds[::2])
    return [fine, fine if len(laws) == 1 else coarse, coarse]


def _parted(
    laws: Sequence[tuple[LossDistribution, int]], thresholds: Sequence[float]
) -> list[Parted]:
    each = []
    for law, count in laws:
        one = kept((parted, law, *thresholds), partial(parted, law, 1, thresholds))
        each.append(replace(one, count=count))
    return each
