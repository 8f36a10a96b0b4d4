"""ε at a δ."""

from __future__ import annotations

import math
from functools import cached_property

from dpcalc.accounting.composition.chernoff import epsilon_by_chernoff, epsilon_from_largest_loss
from dpcalc.accounting.composition.lattice_sum import direct_epsilon
from dpcalc.accounting.composition.outcomes import outcomes
from dpcalc.accounting.composition.question import METHOD, NEXT_TO_ZERO, Pilot, Question
from dpcalc.accounting.composition.resolution import (
    MOST_ATTEMPTS,
    SMALLEST_TAIL,
    TAIL_SHARE,
    initial_resolution,
    less_smoothing,
    lines,
    more_cells,
    refuse_extremes,
    touched,
)
from dpcalc.accounting.composition.single import outcomes_epsilon, single_epsilon
from dpcalc.accounting.contour.contour_sum import Line, integrate
from dpcalc.accounting.contour.saddle_points import Contour, infinite_mass
from dpcalc.accounting.enclosure import Bracket, crossing
from dpcalc.accounting.losses import LossLaw

_PILOT_NODES = 1024

_FAR = 100.0
"""A preview above this is checked against Chernoff's bound before a lattice is made for it."""


class EpsilonQuestion(Question):
    """The smallest ε at δ = ``at``."""

    def narrow(self, found: Bracket, patience: float = 1.0) -> bool:
        """Relative to ε, or next to zero to |dε/d ln δ|."""
        if super().narrow(found, patience):
            return True
        unit = 0.0 if self.pilot is None else NEXT_TO_ZERO / self.pilot.contour.c
        return found.upper - found.lower <= patience * self.relative_width * unit

    def _immediate(self) -> Bracket | None:
        parts, delta = self.parts, self.at
        if touched(parts) <= delta:
            return Bracket(0.0, 0.0, "total variation")
        refuse_extremes(parts)
        if infinite_mass(self._rough) >= delta:
            # The masses are upper bounds; those of exact laws are off by rounding only.
            exact = [(loss, n) for loss, n in parts if isinstance(loss, LossLaw)]
            surely = infinite_mass(exact) * (1 - 1e-12) > delta
            return Bracket(math.inf if surely else 0.0, math.inf, "infinite losses use up δ")
        if sum(n for _, n in parts) == 1:
            alone = single_epsilon(parts[0][0], delta, self.tail)
            if alone is not None:
                return alone
        few = outcomes(parts)
        return None if few is None else outcomes_epsilon(few, delta)

    def _weaker(self) -> Bracket:
        return epsilon_by_chernoff(self.parts, self.at)

    @cached_property
    def tail(self) -> float:
        """A share of δ."""
        total = sum(n for _, n in self.parts)
        return max(self.at * TAIL_SHARE / max(total, 1), SMALLEST_TAIL)

    def _pilot(self) -> Pilot:
        """A contour for δ, and the upper bound of ε that the rough laws give on it."""
        refuse_extremes(self.parts)
        contour, answer = self._table.contour_for_delta(self.at), math.inf
        for _ in range(MOST_ATTEMPTS):
            unit = 1 / contour.c
            line = integrate(
                self._rough, contour, smoothing=min(0.1 * unit, 0.1), most_nodes=_PILOT_NODES
            )
            found = self._highest(line, contour, contour.epsilon, 0.1 * unit)
            answer = min(found, answer)
            if not math.isfinite(found) or abs(found - contour.epsilon) < unit:
                break
            contour = self._table.contour_for_epsilon(found, contour.log_delta)
        return Pilot(contour, answer, len(line.nodes))

    def _highest(self, line: Line, contour: Contour, guess: float, tolerance: float) -> float:
        """Where the line's upper bound of δ(ε) falls below δ."""
        high = crossing(line.upper, self.at, guess, 1 / contour.c, tolerance)[1]
        return min(high, line.largest)  # no finite loss exceeds it, and infinite ones are rarer

    def _by_convolution(self) -> Bracket | None:
        refuse_extremes(self.parts)
        guess = self.preview
        if guess > _FAR:
            guess = min(guess, self._weaker().upper)
        if not 0 < guess < math.inf:
            return None
        return direct_epsilon(self.parts, self.at, guess, self.relative_width)

    def _by_inversion(self, pilot: Pilot) -> Bracket:
        delta, width, contour = self.at, self.relative_width, pilot.contour
        aim = width * max(contour.epsilon, NEXT_TO_ZERO / contour.c)
        smoothing, cells = initial_resolution(self.parts, self.tail, contour.c, aim)
        best = Bracket(0.0, pilot.answer, METHOD)
        for _ in range(MOST_ATTEMPTS):
            upper, lower = lines(self.parts, self.tail, contour, smoothing, cells)
            unit = 1 / contour.c
            tolerance = width * max(contour.epsilon, NEXT_TO_ZERO * unit) / 20
            high = self._highest(upper, contour, contour.epsilon, tolerance)
            start = high if math.isfinite(high) else contour.epsilon
            low = crossing(lower.lower, delta, start, unit, tolerance)[0]
            low = max(low, epsilon_from_largest_loss(self.parts, delta))
            before, best = best, Bracket(max(low, best.lower), min(high, best.upper), METHOD)
            if self.narrow(best) or best.upper == 0:
                break
            if best.relative_width > 0.01 and abs(high - contour.epsilon) > unit:
                contour = self._table.contour_for_epsilon(high, math.log(delta))
                continue
            # The same law inverted both ways tells how much of the width is due to smoothing.
            smoothed = high - crossing(upper.lower, delta, start, unit, tolerance)[0]
            goal = width * best.upper / 2.5
            finer = more_cells(cells, (high - low - smoothed) / goal)
            exhausted = smoothed <= goal or upper.smoothing > smoothing
            stuck = best.upper - best.lower > (before.upper - before.lower) / 2
            if (finer == cells and exhausted) or (stuck and best.relative_width < 0.01):
                break
            cells = finer
            smoothing = less_smoothing(upper.smoothing, goal / max(smoothed, 1e-300))
        return best
