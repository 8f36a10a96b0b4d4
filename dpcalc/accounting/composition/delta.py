"""δ at an ε."""

from __future__ import annotations

import math
from functools import cached_property

from dpcalc.accounting.composition.chernoff import SMALLEST_DOUBLE, delta_by_chernoff, largest_loss
from dpcalc.accounting.composition.lattice_sum import direct_delta
from dpcalc.accounting.composition.outcomes import outcomes
from dpcalc.accounting.composition.question import METHOD, Pilot, Question
from dpcalc.accounting.composition.resolution import (
    MOST_ATTEMPTS,
    SMALLEST_TAIL,
    TAIL_SHARE,
    initial_resolution,
    less_smoothing,
    lines,
    more_cells,
    refuse_extremes,
    rough_laws,
    touched,
)
from dpcalc.accounting.composition.single import outcomes_delta, single_delta
from dpcalc.accounting.contour.contour_sum import integrate
from dpcalc.accounting.contour.saddle_points import SaddleTable, infinite_mass
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import LossLaw

_FAR_OFF = 3.0
"""A contour serves as long as ln δ is within this of what it was chosen for."""

_PILOT_NODES = 1024


class DeltaQuestion(Question):
    """The smallest δ at ε = ``at``."""

    def bracket(self) -> Bracket:
        """The enclosure; δ never exceeds the total variation, and rounds up where it underflows."""
        found = super().bracket()
        upper = min(found.upper, touched(self.parts))
        if upper == 0 and self.parts and self.at < largest_loss(self.parts):
            upper = SMALLEST_DOUBLE
        return Bracket(found.lower, upper, found.method)

    def _immediate(self) -> Bracket | None:
        parts, epsilon = self.parts, self.at
        if not parts:
            return Bracket(0.0, 0.0, "nothing is released")
        exact = [(loss, n) for loss, n in parts if isinstance(loss, LossLaw)]
        if infinite_mass(exact) >= 1:
            return Bracket(1.0, 1.0, "everything is revealed")
        if epsilon >= largest_loss(parts):
            return delta_by_chernoff(parts, epsilon)
        if (few := outcomes(parts)) is not None:
            return outcomes_delta(few, epsilon)
        refuse_extremes(parts)
        alone = sum(n for _, n in parts) == 1
        return single_delta(parts[0][0], epsilon) if alone else None

    def _pilot(self) -> Pilot:
        refuse_extremes(self.parts)
        contour = self._table.contour_for_epsilon(self.at)
        smoothing = min(0.1 / contour.c, 0.1)
        line = integrate(self._rough, contour, smoothing=smoothing, most_nodes=_PILOT_NODES)
        return Pilot(contour, line.upper(self.at), len(line.nodes))

    def _weaker(self) -> Bracket:
        return delta_by_chernoff(self.parts, self.at)

    @cached_property
    def tail(self) -> float:
        """A share of δ as estimated with windows that leave next to nothing out."""
        total = sum(n for _, n in self.parts)
        contour = SaddleTable(rough_laws(self.parts, 1e-60 / total)).contour_for_epsilon(self.at)
        delta = math.exp(max(contour.log_delta, -600.0))
        return max(delta * TAIL_SHARE / total, SMALLEST_TAIL)

    def _by_convolution(self) -> Bracket | None:
        refuse_extremes(self.parts)
        guess = self.at if self.pilot is None else 1 / self.pilot.contour.c
        return direct_delta(self.parts, self.at, guess or 1.0, self.relative_width)

    def _by_inversion(self, pilot: Pilot) -> Bracket:
        epsilon, width, contour = self.at, self.relative_width, pilot.contour
        smoothing, cells = initial_resolution(self.parts, self.tail, contour.c, width / contour.c)
        best = Bracket(0.0, min(pilot.answer, 1.0), METHOD)
        for _ in range(MOST_ATTEMPTS):
            upper, lower = lines(self.parts, self.tail, contour, smoothing, cells)
            high, low = upper.upper(epsilon), lower.lower(epsilon)
            best = Bracket(max(low, best.lower), min(high, best.upper), METHOD)
            if best.relative_width <= width:
                break
            if 0 < high < 1 and abs(math.log(high) - contour.log_delta) > _FAR_OFF:
                contour = self._table.contour_for_epsilon(epsilon, math.log(high))
                continue
            smoothed = high - upper.lower(epsilon)
            goal = max(width * best.upper / 2.5, 1e-300)
            finer = more_cells(cells, (high - low - smoothed) / goal)
            exhausted = smoothed <= goal or upper.smoothing > smoothing
            if finer == cells and exhausted:
                break
            cells = finer
            smoothing = less_smoothing(upper.smoothing, goal / max(smoothed, 1e-300))
        return best
