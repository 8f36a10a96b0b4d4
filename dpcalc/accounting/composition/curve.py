"""δ at many ε at once: one contour, or one convolution, serves a whole stretch of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from dpcalc.accounting.composition import exact_sum, laplace_sum, two_rounds
from dpcalc.accounting.composition.driver import (
    Beginning,
    attempt,
    begin,
    enclosed,
)
from dpcalc.accounting.composition.lattice.rounds import rounds_of
from dpcalc.accounting.composition.lattice.sums import LatticeSum
from dpcalc.accounting.composition.lattice_sum import convolved
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.outcomes import outcomes
from dpcalc.accounting.composition.query import DeltaAt
from dpcalc.accounting.composition.rare_events import rare_events
from dpcalc.accounting.composition.resolution import (
    initial_resolution,
    upper_and_lower_sums,
    upper_sum,
)
from dpcalc.accounting.contour.bend import Bend
from dpcalc.accounting.contour.contour_sum import ContourSum
from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.numerics.arithmetic import own_arithmetic

Ends = tuple[float, float]
"""A lower and an upper bound of δ."""

_WIDTH = 1e-4
"""Relative width of δ aimed at."""

_HOPELESS, _MOST_ALONE = 0.1, 8
"""Wider enclosures are no narrower between two of the same upper ends, nor asked for more often."""

_POINTS = 4096

_MARGIN = 25
"""With few rounds a first resolution is so much coarser than it promises."""

_FAR_OFF = 3.0
"""A contour serves as long as ln δ is within this of what it was chosen for."""

_AHEAD = 2.0
"""By how much ln δ should fall up to the place that a further contour is chosen for."""

FARTHEST = 1e200
"""δ at a larger ε is at most that here; times an order it would be no double."""


class Listed(Protocol):
    """A sum over outcomes that are listed once for all ε."""

    def delta(self, epsilon: float) -> Ends:
        """Bounds of δ(ε)."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A sum that serves an ε and its neighbours.

    Attributes:
        at: the ε that it was made for.
        log_delta: ln δ there.
        upper: of losses rounded up.
        lower: of losses rounded down; None where no lower bound is wanted.
    """

    at: float
    log_delta: float
    upper: ContourSum | LatticeSum
    lower: ContourSum | LatticeSum | None

    def ends(self, epsilon: float) -> Ends | None:
        """Bounds of δ; None where it does not serve."""
        high = self.upper.upper(epsilon)
        if isinstance(self.upper, ContourSum) and not _serves(high, self.log_delta):
            return None
        return (0.0 if self.lower is None else self.lower.lower(epsilon)), high

    def ahead(self, epsilon: float) -> float:
        """Where a contour may stand that just about serves an ε beyond those that this one serves.

        ln δ falls the faster the farther.
        """
        high = self.upper.upper(epsilon)
        if not isinstance(self.upper, ContourSum) or not self.at < epsilon or not 0 < high < 1:
            return epsilon
        slope = (self.log_delta - math.log(high)) / (epsilon - self.at)
        return epsilon + _AHEAD / max(2 * slope - self.upper.c, slope, self.upper.c)


@dataclass(slots=True)
class DirectionCurve:
    """δ in one direction at many ε, in one go or in several that share their sums.

    Args:
        total: the losses.
        both: whether lower bounds are wanted, too; else they may be 0.
    """

    total: LossSum
    both: bool = False
    _listed: Listed | None = field(init=False)
    _made: list[Stretch] = field(default_factory=list, init=False)
    _known: dict[float, Ends] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._listed = _listed(self.total)

    def ends(self, epsilons: Sequence[float]) -> list[Ends]:
        """Bounds of δ at increasing ε."""
        found: list[Ends] = []
        with with_relative_width(_WIDTH):
            for k, epsilon in enumerate(epsilons):
                low, high = (0.0, 1.0) if self._listed is None else self._listed.delta(epsilon)
                if high - low > _WIDTH * high:
                    low, high = self._between(epsilon) or self._summed(epsilons, k)
                # δ falls, so what was found before holds as well.
                found.append((low, min(high, 1.0, found[-1][1] if found else 1.0)))
        return found

    def _summed(self, epsilons: Sequence[float], k: int) -> Ends:
        epsilon = epsilons[k]
        near = sorted(self._made, key=lambda stretch: abs(stretch.at - epsilon))[:2]
        for stretch in near:
            ends = stretch.ends(epsilon)
            if ends is not None:
                return ends
        for at in _places(near, epsilons, k):
            query = DeltaAt(at, _WIDTH)
            beginning = begin(self.total, query)
            made = _stretch(self.total, query, beginning, epsilons[-1], self.both)
            if made is not None:
                self._made.append(made)
                ends = made.ends(epsilon)
                if ends is not None:
                    return ends
        return self._alone(epsilons, k)

    def _alone(self, epsilons: Sequence[float], k: int) -> Ends:
        """One question by itself; after another one, also ahead, to know what is in between."""
        found = self._asked(epsilons[k])
        ahead, step = epsilons[k + 1 :], len(epsilons) - 1 - k
        while (
            k
            and epsilons[k - 1] in self._known
            and step > 1
            and not _settles(found, self._asked(ahead[step - 1]))
        ):
            step //= 2
        return found

    def _asked(self, epsilon: float) -> Ends:
        if epsilon not in self._known:
            found = enclosed(self.total, DeltaAt(epsilon, _WIDTH))
            self._known[epsilon] = found.lower, found.upper
        return self._known[epsilon]

    def _between(self, epsilon: float) -> Ends | None:
        """What questions on either side say, if another one would say no more."""
        if epsilon in self._known:
            return self._known[epsilon]
        before = max((e for e in self._known if e < epsilon), default=None)
        after = min((e for e in self._known if e > epsilon), default=None)
        if before is None or after is None:
            return None
        one, other = self._known[before], self._known[after]
        patient = len(self._known) < _MOST_ALONE or not (_wide(one) and _wide(other))
        return None if patient and not _settles(one, other) else (other[0], one[1])


def _settles(one: Ends, other: Ends) -> bool:
    """Whether δ, which falls from one to the other, is known in between as well as it will be."""
    fallen = (1 - _WIDTH) * one[1]
    return other[0] >= fallen or (_wide(one) and _wide(other) and other[1] >= fallen)


def _wide(ends: Ends) -> bool:
    return ends[1] - ends[0] > _HOPELESS * ends[1]


def _places(near: Sequence[Stretch], epsilons: Sequence[float], k: int) -> Iterator[float]:
    """Where another sum may serve the k-th ε: ahead, for many to be served, and at last there."""
    if near:
        ahead = near[0].ahead(epsilons[k])
        yield from [later for later in epsilons[k + 1 :] if later <= ahead][-1:]
    yield epsilons[k]


def _listed(total: LossSum) -> Listed | None:
    """All outcomes of all rounds, or a sum of few terms, if there is one."""
    if not total.parts:
        return None
    few = outcomes(total.parts) or attempt(laplace_sum.mixture, total)
    return few or attempt(exact_sum.cells, total) or attempt(two_rounds.curve, total)


@dataclass(frozen=True, slots=True)
class DeltaCurve:
    """δ at many ε in the worst of several directions at each.

    Far cheaper than one enclosure after the other: a contour serves its neighbours too.

    Args:
        directions: at least one.
    """

    directions: tuple[DirectionCurve, ...]

    @classmethod
    def of(
        cls, directions: Iterable[Iterable[tuple[PrivacyLoss, int]]], *, both: bool = False
    ) -> DeltaCurve:
        """That of losses, with lower bounds or without; see `DirectionCurve`."""
        return cls(tuple(DirectionCurve(LossSum.of(losses), both) for losses in directions))

    @own_arithmetic
    def ends(self, epsilons: Sequence[float]) -> list[Ends]:
        """Bounds of δ at ε in any order, each finite and 0 or above."""
        near = sorted({min(epsilon, FARTHEST) for epsilon in epsilons})
        each = [direction.ends(near) for direction in self.directions]
        found = {
            epsilon: (max(low for low, _ in ends), max(high for _, high in ends))
            for epsilon, ends in zip(near, zip(*each, strict=True), strict=True)
        }
        certain = max((one.total.certain_mass for one in self.directions), default=0.0)
        beyond = (
            (min(found[FARTHEST][0], certain), found[FARTHEST][1]) if FARTHEST in found else None
        )
        return [found[e] if e <= FARTHEST or beyond is None else beyond for e in epsilons]


def _serves(value: float, log_delta: float) -> bool:
    return 0 < value < 1 and abs(math.log(value) - log_delta) <= _FAR_OFF


def _stretch(
    total: LossSum, query: DeltaAt, beginning: Beginning, reach: float, both: bool
) -> Stretch | None:
    """The sum that serves a query and its neighbours; None where another way answers."""
    if beginning.found is not None:
        return None
    if not rare_events(total, beginning.estimate, many=True):
        lines = attempt(_contours, total, query, beginning, both)
        high = 0.0 if lines is None else lines[0].upper(query.at)
        if lines is not None and 0 < high < 1:
            return Stretch(query.at, math.log(high), *lines)
    lattice = attempt(_lattice, total, reach, _POINTS, both)
    if lattice is None:
        return None
    return Stretch(query.at, math.nan, lattice, lattice if both else None)


def _contours(
    total: LossSum, query: DeltaAt, beginning: Beginning, both: bool
) -> tuple[ContourSum, ContourSum | None] | None:
    estimate = beginning.estimate
    if estimate is None:
        return None
    contour = estimate.contour
    bend = Bend.along(contour.slope)  # as good for the neighbours
    width = query.first_width(contour) / _MARGIN
    asked = total, estimate.tail, contour, *initial_resolution(total, estimate.tail, bend, width)
    return upper_and_lower_sums(*asked) if both else (upper_sum(*asked), None)


def _lattice(
    total: LossSum, reach: float, points: int = _POINTS, both: bool = False
) -> LatticeSum | None:
    """On lattices that serve all ε up to ``reach``."""
    total.require_tractable()
    rounds = rounds_of(total.parts)
    if rounds is None:
        return None
    return convolved(rounds, reach, reach / 8, points, 4.0, upper_only=not both)


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
    return list(accumulate((min(sums.upper(epsilon), 1.0) for epsilon in epsilons), min))
