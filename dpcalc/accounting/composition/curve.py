"""δ at many ε at once: one contour, or one convolution, serves a whole stretch of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpcalc.accounting.composition import contour_integral
from dpcalc.accounting.composition.driver import Beginning, attempt, begin, finish, general_methods
from dpcalc.accounting.composition.lattice.rounds import rounds_of
from dpcalc.accounting.composition.lattice.sums import LatticeSum
from dpcalc.accounting.composition.lattice_sum import convolved
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt
from dpcalc.accounting.composition.resolution import initial_resolution, upper_sum
from dpcalc.accounting.contour.contour_sum import ContourSum
from dpcalc.accounting.enclosure import with_relative_width

_WIDTH = 1e-4
"""Relative width of δ aimed at."""

_POINTS = 4096

_MARGIN = 25
"""With few rounds a first resolution is so much coarser than it promises."""

_FAR_OFF = 3.0
"""A contour serves as long as ln δ is within this of what it was chosen for."""


def upper_deltas(total: LossSum, epsilons: Sequence[float]) -> list[float]:
    """Upper bounds of δ at increasing ε in one direction."""
    found: list[float] = []
    sums: ContourSum | LatticeSum | None = None
    log_delta = math.nan
    with with_relative_width(_WIDTH):
        for epsilon in epsilons:
            value = math.inf if sums is None else sums.upper(epsilon)
            if not isinstance(sums, LatticeSum) and not _serves(value, log_delta):
                query = DeltaAt(epsilon, _WIDTH)
                beginning = begin(total, query)
                sums = _sums(total, query, beginning, epsilons[-1])
                value = sums.upper(epsilon) if sums else finish(total, query, beginning).upper
                log_delta = math.log(value) if 0 < value < 1 else math.nan
            # δ falls, so what was found before holds as well.
            found.append(min(value, 1.0, found[-1] if found else 1.0))
    return found


def _serves(value: float, log_delta: float) -> bool:
    return 0 < value < 1 and abs(math.log(value) - log_delta) <= _FAR_OFF


def _sums(
    total: LossSum, query: DeltaAt, beginning: Beginning, reach: float
) -> ContourSum | LatticeSum | None:
    """The sum that serves a query and its neighbours; None where another way answers."""
    if beginning.found is not None:
        return None
    first, _ = general_methods(total, beginning.estimate)
    if first is contour_integral.enclose:
        line = attempt(_contour, total, query, beginning)
        if line is not None and 0 < line.upper(query.at) < 1:
            return line
    return attempt(_lattice, total, reach)


def _contour(total: LossSum, query: DeltaAt, beginning: Beginning) -> ContourSum | None:
    estimate = beginning.estimate
    if estimate is None:
        return None
    width = query.first_width(estimate.contour) / _MARGIN
    smoothing, cells = initial_resolution(total, estimate.tail, estimate.contour.c, width)
    return upper_sum(total, estimate.tail, estimate.contour, smoothing, cells)


def _lattice(total: LossSum, reach: float, points: int = _POINTS) -> LatticeSum | None:
    """On lattices that serve all ε up to ``reach``."""
    total.require_tractable()
    rounds = rounds_of(total.parts)
    if rounds is None:
        return None
    return convolved(rounds, reach, reach / 8, points, 4.0, upper_only=True)


def one_lattice(total: LossSum, epsilons: Sequence[float], points: int) -> list[float] | None:
    """Upper bounds of δ at increasing ε from a single convolution; None where there is none.

    Args:
        total: the losses.
        epsilons: the last of them decides how far the lattices reach.
        points: of the coarsest lattice; what splitting adds falls with their square.
    """
    sums = attempt(_lattice, total, epsilons[-1], points)
    if sums is None:
        return None
    found: list[float] = []
    for epsilon in epsilons:
        found.append(min(sums.upper(epsilon), 1.0, found[-1] if found else 1.0))
    return found
