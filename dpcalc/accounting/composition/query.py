"""What is asked of a summed loss, ε at a δ or δ at an ε, and how it is read off bounds of δ(ε)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from dpcalc.accounting.composition.loss_sum import SMALLEST_TAIL, LossSum
from dpcalc.accounting.contour.bend import Bend
from dpcalc.accounting.contour.saddle_points import Contour, SaddlePoints
from dpcalc.accounting.enclosure import Bracket, current_search, invert_bound

Bound = Callable[[float], float]
"""A bound of δ(ε)."""

SMALLEST_DOUBLE = 5e-324
"""A positive bound that underflows must not become zero."""

_TAIL_SHARE = 1e-10
"""The mass outside all windows together, as a share of δ."""

_NEXT_TO_ZERO = 0.1
"""An ε below this share of |dε/d ln δ| is enclosed to the width aimed at for that share.

There ε falls to zero within a few percent of δ, and its relative width says nothing.
"""

_FAR_OFF = 3.0
"""A contour serves as long as ln δ is within this of what it was chosen for."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What summing coarse distributions on a contour tells.

    Attributes:
        tail: P-mass that may be left outside the window of a round.
        saddle_points: of the coarse distributions.
        contour: where to integrate.
        upper: an upper bound of the answer.
        nodes: how many nodes mattered.
        bend: how far ε moves where losses are blurred, if the sum tells.
    """

    tail: float
    saddle_points: SaddlePoints
    contour: Contour
    upper: float
    nodes: int
    bend: Bend | None = None


@dataclass(frozen=True, slots=True)
class Query(ABC):
    """A question about one direction; see `DeltaAt` and `EpsilonAt`.

    Attributes:
        at: what is given, the δ or the ε.
        relative_width: width of the enclosure aimed at, relative to the answer.
    """

    at: float
    relative_width: float

    @abstractmethod
    def upper(
        self, upper: Bound, near: float, unit: float, tolerance: float, largest: float = math.inf
    ) -> float:
        """The upper end alone; see `read`."""

    @abstractmethod
    def read(
        self,
        upper: Bound,
        lower: Bound,
        near: float,
        unit: float,
        tolerance: float,
        largest: float = math.inf,
    ) -> tuple[float, float]:
        """(low, high) around the answer.

        Args:
            upper: an upper bound of δ(ε).
            lower: a lower bound.
            near: about where ε is.
            unit: a typical |dε/d ln δ|.
            tolerance: of ε.
            largest: an ε that is surely enough.
        """

    @abstractmethod
    def place(self, found: Bracket) -> tuple[float, float]:
        """Between which ε the answer is decided."""

    @abstractmethod
    def start(self, upper: float) -> Bracket:
        """What is known at first, ``upper`` being a coarse bound."""

    @abstractmethod
    def unit(self, slope: float, at: float, before: float) -> float:
        """|dε/d ln δ| as a sum says at ``at``, within what is plausible."""

    @abstractmethod
    def least(self, total: LossSum) -> float:
        """A lower bound of the answer that costs nothing."""

    @abstractmethod
    def tail(self, total: LossSum) -> float:
        """P-mass that may be left outside the window of a round."""

    @abstractmethod
    def contour(self, points: SaddlePoints) -> Contour:
        """Where to integrate, as the saddle points say."""

    @abstractmethod
    def recentred(self, points: SaddlePoints, contour: Contour, found: Bracket) -> Contour | None:
        """A better contour, if one upper end was found far from where this one serves."""

    @abstractmethod
    def first_width(self, contour: Contour) -> float:
        """The width aimed at, in ε."""

    @abstractmethod
    def narrow(self, found: Bracket, unit: float, patience: float = 1.0) -> bool:
        """Whether an enclosure is as narrow as aimed at, or ``patience`` times as wide."""

    @abstractmethod
    def clipped(self, found: Bracket, total: LossSum) -> Bracket:
        """The enclosure with what is known of every answer."""


class EpsilonAt(Query):
    """The smallest ε for a δ."""

    __slots__ = ()

    def upper(
        self, upper: Bound, near: float, unit: float, tolerance: float, largest: float = math.inf
    ) -> float:
        """Where the bound crosses δ."""
        return min(invert_bound(upper, self.at, near, unit, tolerance)[1], largest)

    def read(
        self,
        upper: Bound,
        lower: Bound,
        near: float,
        unit: float,
        tolerance: float,
        largest: float = math.inf,
    ) -> tuple[float, float]:
        """Where the bounds cross δ."""
        high = self.upper(upper, near, unit, tolerance, largest)
        start = high if math.isfinite(high) else near
        return invert_bound(lower, self.at, start, unit, tolerance)[0], high

    def place(self, found: Bracket) -> tuple[float, float]:
        """The ends."""
        return found.lower, found.upper

    def start(self, upper: float) -> Bracket:
        """Between 0 and the coarse bound."""
        return Bracket(0.0, upper, "coarse bound")

    def unit(self, slope: float, at: float, before: float) -> float:
        """At most ε."""
        del before
        return min(max(slope, 1e-9 * at), at)

    def least(self, total: LossSum) -> float:
        """What the largest loss alone takes."""
        return total.epsilon_of_largest(self.at)

    def tail(self, total: LossSum) -> float:
        """A share of δ."""
        return max(self.at * _TAIL_SHARE / max(total.rounds, 1), SMALLEST_TAIL)

    def contour(self, points: SaddlePoints) -> Contour:
        """At δ."""
        return points.contour_for_delta(self.at)

    def recentred(self, points: SaddlePoints, contour: Contour, found: Bracket) -> Contour | None:
        """At the upper end, if it is off by more than |dε/d ln δ|."""
        high = found.upper
        if not math.isfinite(high) or abs(high - contour.epsilon) <= 1 / contour.c:
            return None
        return points.contour_for_epsilon(high, contour.log_delta)

    def first_width(self, contour: Contour) -> float:
        """Relative to ε, or next to zero to |dε/d ln δ|."""
        return self.relative_width * max(contour.epsilon, _NEXT_TO_ZERO / contour.c)

    def narrow(self, found: Bracket, unit: float, patience: float = 1.0) -> bool:
        """Likewise."""
        allowed = patience * self.relative_width
        if found.relative_width <= allowed:
            return True
        return found.upper - found.lower <= allowed * _NEXT_TO_ZERO * unit

    def clipped(self, found: Bracket, total: LossSum) -> Bracket:
        """As it is."""
        del total
        return found


class DeltaAt(Query):
    """The smallest δ for an ε."""

    __slots__ = ()

    def upper(
        self, upper: Bound, near: float, unit: float, tolerance: float, largest: float = math.inf
    ) -> float:
        """The bound at ε."""
        del near, unit, tolerance, largest
        return upper(self.at)

    def read(
        self,
        upper: Bound,
        lower: Bound,
        near: float,
        unit: float,
        tolerance: float,
        largest: float = math.inf,
    ) -> tuple[float, float]:
        """The bounds at ε."""
        del near, unit, tolerance, largest
        return lower(self.at), min(upper(self.at), 1.0)

    def place(self, found: Bracket) -> tuple[float, float]:
        """At ε."""
        del found
        return self.at, self.at

    def start(self, upper: float) -> Bracket:
        """Between 0 and 1 or the coarse bound."""
        return Bracket(0.0, min(upper, 1.0), "coarse bound")

    def unit(self, slope: float, at: float, before: float) -> float:
        """At most what was taken for it before."""
        del at
        return min(max(slope, 1e-9 * before), before)

    def least(self, total: LossSum) -> float:
        """Nothing is known."""
        del total
        return 0.0

    def tail(self, total: LossSum) -> float:
        """A share of δ as estimated with windows that leave next to nothing out."""
        points = SaddlePoints(total.coarse_upper(1e-60 / total.rounds))
        delta = math.exp(max(points.contour_for_epsilon(self.at).log_delta, -600.0))
        return max(delta * _TAIL_SHARE / total.rounds, SMALLEST_TAIL)

    def contour(self, points: SaddlePoints) -> Contour:
        """At ε."""
        return points.contour_for_epsilon(self.at)

    def recentred(self, points: SaddlePoints, contour: Contour, found: Bracket) -> Contour | None:
        """At ε with the δ that was found."""
        high = found.upper
        if not 0 < high < 1 or abs(math.log(high) - contour.log_delta) <= _FAR_OFF:
            return None
        return points.contour_for_epsilon(self.at, math.log(high))

    def first_width(self, contour: Contour) -> float:
        """A relative change of δ is worth |dε/d ln δ| times as much of ε."""
        return self.relative_width / contour.slope

    def narrow(self, found: Bracket, unit: float, patience: float = 1.0) -> bool:
        """Relative to δ."""
        del unit
        return found.relative_width <= patience * self.relative_width

    def clipped(self, found: Bracket, total: LossSum) -> Bracket:
        """δ never exceeds the total variation, and rounds up where it underflows."""
        upper = min(found.upper, total.total_variation_bound)
        if upper == 0 and total.parts and self.at < total.largest:
            upper = SMALLEST_DOUBLE
        return Bracket(found.lower, upper, found.method)


def settled_for(found: Bracket, query: Query, unit: float, width: float) -> bool:
    """Whether a search goes on with an enclosure of this relative width, which it is told.

    Its answer is tested outside it, with the narrowest enclosure there is.
    """
    if current_search() is None:
        return False
    return query.narrow(found, unit, width / query.relative_width)
