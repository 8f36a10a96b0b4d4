"""The summed loss's moment function, integrated along a vertical line.

Distributions around every loss and a little smoothing make two bounds of δ(ε); both are refined
until the answer is as narrow as asked, or nothing is gained.
"""

from __future__ import annotations

import math

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import Estimate, Query
from dpcalc.accounting.composition.resolution import (
    initial_resolution,
    less_smoothing,
    more_cells,
    upper_and_lower_sums,
)
from dpcalc.accounting.contour.bend import Bend, bend_of
from dpcalc.accounting.contour.contour_sum import contour_sum
from dpcalc.accounting.contour.saddle_points import SaddlePoints
from dpcalc.accounting.contour.shared import TAILS, on_grid
from dpcalc.accounting.enclosure import Bracket

METHOD = "moment inversion, two-sided"

_ATTEMPTS = 4
"""How often smoothing and cells are refined."""

_LOST = 0.5
"""Of δ(ε): where errors are more, other distributions do not help, nor does a third contour."""

_ESTIMATE_NODES = 1024
_NARROW = 0.01
"""Below this relative width neither another contour nor slow progress is worth another attempt."""


def estimate(total: LossSum, query: Query) -> Estimate:
    """A contour for the query, and the upper bound that coarse distributions give on it."""
    total.require_tractable()
    tail = on_grid(query.tail(total), TAILS)
    coarse = total.coarse_upper(tail)
    points = SaddlePoints(coarse)
    contour, upper = query.contour(points), math.inf
    served = contour
    for _ in range(_ATTEMPTS):
        unit, served = 1 / contour.c, contour
        found = contour_sum(
            coarse, contour, smoothing=on_grid(min(0.1 * unit, 0.1)), most_nodes=_ESTIMATE_NODES
        )
        high = query.upper(found.upper, contour.epsilon, unit, 0.1 * unit, found.largest)
        upper = min(high, upper)
        better = query.recentred(points, contour, query.start(high))
        if better is None:
            break
        contour = better
    bend = bend_of(found, contour.epsilon, contour.slope) if served is contour else None
    return Estimate(tail, points, contour, upper, len(found.nodes), bend)


def enclose(total: LossSum, query: Query, estimate: Estimate | None) -> Bracket | None:
    """The integral; None if not even coarse distributions have one."""
    if estimate is None:
        return None
    contour, width = estimate.contour, query.relative_width
    bend = estimate.bend or Bend.along(contour.slope)
    smoothing, cells = initial_resolution(total, estimate.tail, bend, query.first_width(contour))
    best, lost, moved = query.start(estimate.upper).named(METHOD), False, False
    for _ in range(_ATTEMPTS):
        sums = upper_and_lower_sums(total, estimate.tail, contour, smoothing, cells, bend)
        unit, tolerance = 1 / contour.c, query.first_width(contour) / 20
        where = (contour.epsilon, unit, tolerance, sums[0].largest)
        low, high = query.read(sums[0].upper, sums[1].lower, *where)
        before, best = best, best.narrowed(max(low, query.least(total)), high)
        if query.narrow(best, 1 / estimate.contour.c) or best.upper == 0:
            break
        better = query.recentred(estimate.saddle_points, contour, Bracket(0.0, high, METHOD))
        lost_before, lost = lost, sums[0].error_share(query.place(best)[1]) > _LOST
        hopeless = sums[0].truncated > 1 or (lost and lost_before)
        wide = best.upper - best.lower > _NARROW * min(best.upper, 1 / contour.c)
        if better is not None and wide and not hopeless:
            contour, moved = better, True
            continue
        if lost:
            break
        # The same distribution from both sides tells how much of the width is due to smoothing.
        smoothed = high - query.read(sums[0].upper, sums[0].lower, *where)[0]
        goal = max(width * best.upper / 2.5, 1e-300)
        finer = more_cells(cells, (high - low - smoothed) / goal)
        exhausted = smoothed <= goal or sums[0].smoothing > smoothing
        stuck = best.upper - best.lower > (before.upper - before.lower) / 2 and not moved
        if (finer == cells and exhausted) or (stuck and best.relative_width < _NARROW):
            break
        cells, moved = finer, False
        smoothing = less_smoothing(sums[0].smoothing, goal / max(smoothed, 1e-300))
    return best
