"""δ at many ε at once: one contour, or one convolution, serves a whole stretch of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpcalc.accounting.composition.delta import DeltaQuestion
from dpcalc.accounting.composition.lattice.rounds import rounds_of
from dpcalc.accounting.composition.lattice.sums import Sums
from dpcalc.accounting.composition.lattice_sum import convolved
from dpcalc.accounting.composition.resolution import Parts, initial_resolution, upper_line
from dpcalc.accounting.contour.contour_sum import Line
from dpcalc.accounting.enclosure import aiming_at
from dpcalc.errors import NumericalFailure

_WIDTH = 1e-4
"""Relative width of δ aimed at."""

_POINTS = 4096

_FAR_OFF = 3.0
"""A contour serves as long as ln δ is within this of what it was chosen for."""


def upper_deltas(parts: Parts, epsilons: Sequence[float]) -> list[float]:
    """Upper bounds of δ at increasing ε in one direction."""
    found: list[float] = []
    line: Line | None = None
    sums: Sums | None = None
    log_delta = 0.0
    with aiming_at(_WIDTH):
        for epsilon in epsilons:
            value = math.inf if line is None else line.upper(epsilon)
            if sums is None and not _serves(value, log_delta):
                question = DeltaQuestion(parts, epsilon, _WIDTH)
                line, log_delta = _contour(question)
                if line is not None:
                    value = line.upper(epsilon)
                elif question.immediate is None:
                    sums = _lattice(parts, epsilons[-1])
                if line is None and sums is None:
                    value = question.bracket().upper
            if sums is not None:
                value = sums.upper(epsilon)
            # δ falls, so what was found before holds as well.
            found.append(min(value, 1.0, found[-1] if found else 1.0))
    return found


def _serves(value: float, log_delta: float) -> bool:
    return 0 < value < 1 and abs(math.log(value) - log_delta) <= _FAR_OFF


def _lattice(parts: Parts, reach: float) -> Sums | None:
    """The summed loss on lattices that serve all ε up to one; None if they cannot hold it."""
    rounds = rounds_of(parts)
    try:
        return None if rounds is None else convolved(rounds, reach, reach / 8, _POINTS, 4.0)
    except NumericalFailure:
        return None


def _contour(question: DeltaQuestion) -> tuple[Line | None, float]:
    """The integrand that serves a question and its neighbours; None where another way answers."""
    if question.immediate is not None or question.pilot is None or question.strained:
        return None, 0.0
    contour = question.pilot.contour
    width = question.relative_width / contour.c
    smoothing, cells = initial_resolution(question.parts, question.tail, contour.c, width)
    try:
        line = upper_line(question.parts, question.tail, contour, smoothing, cells)
    except NumericalFailure:
        return None, 0.0
    value = line.upper(question.at)
    return (line, math.log(value)) if 0 < value < 1 else (None, 0.0)
