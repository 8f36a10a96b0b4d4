"""A plain convolution on nested lattices, which keeps every digit of the tails.

Where one record in many is sampled, the summed loss has tails heavier than any exponential, and a
contour cancels more digits than there are. Sums of products of positive numbers cancel nothing.

*Upper end.* Each round's losses are split between lattice points so that P- and Q-mass are kept, as
in `dpcalc.accounting.losses.discretisation`; sums are split again where they leave a finer lattice.
Sums beyond the lattices' top are kept as their P- and Q-mass, which is exact unless later rounds
bring them below ε.

*Lower end.* How much all splits together can have added to δ is bounded in
`dpcalc.accounting.composition.lattice.splitting`.

*Shifts.* From every loss its round's typical loss is taken, and all of them from ε: what happens in
nearly every round then sits near zero, where the lattices are finest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpcalc.accounting.composition import chernoff
from dpcalc.accounting.composition.last_pass import (
    COARSE,
    FIRST_POINTS,
    MIN_POINTS,
    LastPass,
    last_pass,
    remember,
)
from dpcalc.accounting.composition.lattice.frame import Frame
from dpcalc.accounting.composition.lattice.masses import Masses, Mode, summed
from dpcalc.accounting.composition.lattice.placing import placed
from dpcalc.accounting.composition.lattice.rounds import Round, cut, rounds_of
from dpcalc.accounting.composition.lattice.rows import UNDERFLOW_CUTOFF
from dpcalc.accounting.composition.lattice.splitting import Splitting
from dpcalc.accounting.composition.lattice.sums import (
    WIDEST,
    LatticeSum,
    ListedMasses,
    left_out,
    listed,
)
from dpcalc.accounting.composition.loss_sum import SMALLEST_TAIL, LossSum
from dpcalc.accounting.composition.query import EpsilonAt, Estimate, Query, settled_for
from dpcalc.accounting.enclosure import Bracket
from dpcalc.errors import NumericalFailure

METHOD = "convolution, two-sided"

_MAX_POINTS = 2**15
_WORK = 2.5e9
"""Products in all convolutions of one pass."""

_PASSES = 7
_FAR = 100.0
"""An estimate above this is checked against Chernoff's bound before a lattice is made for it."""

_NESTED = 8
"""The coarsest lattice has this many times the points of a finer one."""

_DEEPEST = 24
_SHARE, _LEAST_MASS = 1e-24, 1e-275
"""Of δ, what may be left out at a point, where that is below what is left out anyway; and the least."""

FAIR = 1.0
"""Relative width that a search settles for: any, as its last pass is for the upper end alone."""

_NOTHING = ListedMasses(np.zeros(0), np.zeros(0), (0.0, 0.0), 0.0)
_SPREADS = 15.0
"""How many standard deviations of what is common the floor lies below zero."""


def enclose(total: LossSum, query: Query, estimate: Estimate | None) -> Bracket | None:
    """The sum; None for losses that have no place on a lattice, or too many of them."""
    total.require_tractable()
    start, unit = _start(total, query, estimate)
    if not 0 < unit < math.inf:
        return None
    return refined(total, query, start, unit, _negligible(query, estimate), last_pass(total, query))


def _negligible(query: Query, estimate: Estimate | None) -> float:
    """What may be left out at every point: far less than the δ that is given or estimated."""
    if isinstance(query, EpsilonAt):
        delta = query.at
    else:
        delta = 1.0 if estimate is None else math.exp(max(estimate.contour.log_delta, -700.0))
    return min(UNDERFLOW_CUTOFF, max(delta * _SHARE, _LEAST_MASS))


def refined(
    total: LossSum,
    query: Query,
    start: Bracket,
    unit: float,
    negligible: float = UNDERFLOW_CUTOFF,
    near: LastPass | None = None,
) -> Bracket | None:
    """The sum on ever finer lattices.

    Args:
        total: the losses.
        query: what is asked.
        start: what is known at first.
        unit: a typical |dε/d ln δ|, positive.
        negligible: masses below are left out.
        near: the last pass of a search for an answer near by.
    """
    rounds = rounds_of(total.parts)
    most = None if rounds is None else _most_points(rounds)
    if rounds is None or most is None:
        return None
    found, first = start.named(METHOD), LastPass(math.inf, unit, 4.0, FIRST_POINTS, math.inf)
    limit, (unit, variance, size, upper_only) = math.inf, first.beginning(query)
    if near is not None:
        limit, (unit, variance, size, upper_only) = near.upper_limit, near.beginning(query)
    for _ in range(_PASSES):
        reach = min(query.place(found)[1], limit)
        sums = convolved(
            rounds, reach, unit, size, variance, upper_only=upper_only, negligible=negligible
        )
        tolerance = reach * min(query.relative_width / 20, 1e-3)
        found = found.narrowed(*query.read(sums.upper, sums.lower, reach, unit, tolerance))
        if query.place(found)[1] > limit:  # not so near by
            limit, (unit, variance, size, upper_only) = math.inf, first.beginning(query)
            continue
        if found.upper == 0 or upper_only:
            break
        at = query.place(found)[1]
        variance = sums.variance(at)
        farther, unit = unit, query.unit(sums.unit(at), at, unit)
        if at + unit < (reach + farther) / 2:
            size = max(size, MIN_POINTS)  # no finer: the lattice reached too far
            coarse = query.relative_width >= COARSE
            upper_only = coarse and settled_for(found, query, unit, FAIR)
            continue
        if found.relative_width <= query.relative_width or size == most:
            break
        finer = _finer(size, found.relative_width / query.relative_width, most)
        size = max(finer, MIN_POINTS)
        upper_only = settled_for(found, query, unit, FAIR)
    if upper_only:
        remember(total, LastPass(found.upper, unit, variance, size, query.relative_width))
    return found


def _start(total: LossSum, query: Query, estimate: Estimate | None) -> tuple[Bracket, float]:
    """What is known at first, and a typical |dε/d ln δ|."""
    if isinstance(query, EpsilonAt):
        guess = math.inf if estimate is None else estimate.upper
        if guess > _FAR:
            guess = min(guess, chernoff.enclose(total, query).upper)
        return query.start(guess), guess
    guess = query.at if estimate is None else 1 / estimate.contour.c
    return query.start(1.0), guess or 1.0


def _finer(size: int, excess: float, most: int) -> int:
    """The width goes with the square of the step."""
    return min(max(math.ceil(1.2 * size * math.sqrt(excess)), 2 * size), most)


def _most_points(rounds: Sequence[Round]) -> int | None:
    """How many points the coarsest lattice may have."""
    sums = sum(part.count.bit_length() + part.count.bit_count() for part in rounds) - 2
    size = int(math.sqrt(_WORK / max(sums, 1)))
    return min(size, _MAX_POINTS) if size >= MIN_POINTS else None


def _shifted(rounds: Sequence[Round], epsilon: float) -> tuple[list[Round], float]:
    """The rounds with what their common losses are about, and the deviation of those in all rounds."""
    shifted, variance = [], 0.0
    for part in rounds:
        law = part.rough
        common = np.abs(law.losses) <= max(epsilon / _NESTED, float(np.median(np.abs(law.losses))))
        losses, masses = law.losses[common], law.masses[common]
        total = float(masses.sum())
        if total < 0.5:
            common = np.ones(len(law.losses), dtype=bool)
            losses, masses = law.losses, law.masses
            total = max(float(masses.sum()), 1e-300)
        mean = float((masses * losses).sum()) / total
        with np.errstate(over="ignore", invalid="ignore"):
            variance += part.count * float((masses * (losses - mean) ** 2).sum())
        if not variance < math.inf:
            raise NumericalFailure("the squares of losses need to be doubles")
        shifted.append(replace(part, shift=mean))
    return shifted, math.sqrt(variance)


def _framed(rounds: Sequence[Round], reach: float, spread: float, points: int) -> Frame:
    """Lattices that reach up to ``reach``."""
    depth = max(reach / 4, _SPREADS * spread)
    if depth <= 0:  # nothing spreads, and what is common lies above ε
        depth = max(-5 * reach / 4, 1e-300)
    step = (max(reach, 0.0) + 2 * depth) / points
    floor = math.ceil(depth / step)
    # Above the top a sum stays above ε, unless the remaining rounds take it below the floor.
    top = max(math.ceil(reach / step), 0) + floor
    if step * (top + floor) > WIDEST:  # masses times e^loss must be doubles
        raise NumericalFailure(f"losses must add up to at most {WIDEST:g}")
    total = sum(part.count for part in rounds)
    finest = min(math.ceil(math.log2(total) / 2) + 2, _DEEPEST) if total > 1 else 0
    return Frame(step, top, floor, finest, points // _NESTED)


def convolved(
    rounds: Sequence[Round],
    epsilon: float,
    unit: float,
    points: int,
    variance: float,
    *,
    upper_only: bool = False,
    negligible: float = UNDERFLOW_CUTOFF,
) -> LatticeSum:
    """The summed loss on a lattice of about ``points`` points that serves ``epsilon`` and below.

    With ``upper_only`` nothing is known of the lower end, for a third of the work.
    """
    rounds, spread = _shifted(rounds, epsilon)
    shift = math.fsum(part.count * part.shift for part in rounds)
    reach = epsilon + max(0.2 * epsilon, unit)
    frame = replace(_framed(rounds, reach - shift, spread, points), negligible=negligible)
    splitting = Splitting.of(frame.step, variance)
    upper_masses, lower_masses = Mode(1, lifted=True), Mode(-1, lifted=False)
    moved = Mode(1, lifted=True, splitting=splitting)
    cuts = {
        up: [cut(part, frame, up) for part in rounds]
        for up in ((1.0,) if upper_only else (1.0, -1.0))
    }

    def total(mode: Mode, up: float) -> Masses:
        each = [
            (placed(piece, tails(part), frame, mode), part.count)
            for part, piece in zip(rounds, cuts[up], strict=True)
        ]
        return summed(each, frame, mode)

    below = moved_masses = lowest = _NOTHING
    higher = 0.0
    if not upper_only:
        below = ListedMasses.of(total(lower_masses, -1.0), frame)
        weighed = total(moved, -1.0)
        moved_masses = ListedMasses.of(weighed, frame, weighed=True)
        lowest = ListedMasses(*listed((weighed.raised[0],), frame), (0.0, 0.0), 0.0)
        higher = weighed.raised[1]
    count = sum(part.count for part in rounds)
    return LatticeSum(
        frame=frame,
        reach=reach,
        shift=shift,
        upper_masses=ListedMasses.of(total(upper_masses, 1.0), frame),
        lower_masses=below,
        moved=moved_masses,
        raised=(lowest, higher),
        splitting=splitting,
        drifts=tuple(
            (part.count, piece.certain(1).drift)
            for part, piece in zip(rounds, cuts[1.0], strict=True)
        ),
        discarded_mass=left_out(frame, count) + count * 8 * SMALLEST_TAIL,
    )


def tails(part: Round) -> tuple[float, float]:
    """P-mass outside a round's window, and the probability of an infinite loss."""
    tail = 0.0 if part.pair is None else 2 * max(SMALLEST_TAIL, part.pair.outside)
    return tail, 0.0 if part.atoms is None else part.atoms.infinite_mass
