"""The sum by how many rounds have a large loss: one contour for every number of them.

Where one record in many is sampled, a round's loss is next to nothing, and now and then large: the
tail of the sum is that of one or two rounds, heavier than any exponential, and a single contour
cancels what is small against what is large until no digit is left. Parted by how many losses are
large, every case has a contour of its own on which nothing cancels, and cases of more large losses
than matter are bounded by their probability.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.parted_laws import (
    Case,
    Key,
    Parted,
    cases,
    expected_number,
    more_than,
    parted,
)
from dpcalc.accounting.composition.query import EpsilonAt, Query
from dpcalc.accounting.contour.contour_sum import LARGEST_SMOOTHING, ContourSum, contour_sum
from dpcalc.accounting.contour.saddle_points import Contour, SaddlePoints
from dpcalc.accounting.contour.shared import TAILS, kept, on_grid
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import LossDistribution
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower

METHOD = "moment inversion, large losses apart, two-sided"

_SHARE, _RATIO, _CLASSES = 0.5, 8.0, 4
"""Losses above this share of ε are large; classes grow by the ratio, and are at most so many."""

_MOST, _MOST_EXPECTED = 5, 0.5
"""So many large losses are told apart at most, and so many are expected."""

_FEW = 2
"""More large losses than this are told apart in half as many classes."""

_PASSES = 6
_MOST_NODES, _MOST_CELLS = 2**17, 40_000
_FIRST_CELLS, _FIRST_OF_WIDE, _WIDE, _MOST_GROWTH = 1000, 400, 1e-4, 3.0
"""Cells at first, fewer for an enclosure of at least that relative width; and how many times more in
the next pass at most."""

_CELLS = (1.0, 0.5, 0.5, 0.25, 0.25, 0.25)
"""Cells for small losses, up to ε and for each class above, as shares."""

_GROWTH = 1.0
"""The logarithm of how much larger than the answer the integrand may be."""

_NEGLIGIBLE = 0.02
"""Of what the enclosure may leave open: what cases that are not computed may weigh."""

_CLOSE, _SLOW = 3.0, 0.7
"""How wide an enclosure may be, over what was asked for, and how much of its width a pass may leave."""

_SMALLEST = 1e-300
_NEAR = 0.05
"""Contours and classes for an ε serve another that is off by this share of it."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """For what and how finely to compute.

    Attributes:
        epsilon: about where the answer is.
        delta: about δ there.
        slope: about |d ln δ/dε|.
        open: relative width of δ that is aimed at.
        tilt: c for the plan of cells below ε; above, a loss counts once however large it is.
        cells: how many for small losses.
        smoothing: s for each case, over the first choice.
    """

    epsilon: float
    delta: float
    slope: float
    open: float
    tilt: float
    cells: float
    smoothing: Mapping[Key, float]

    @property
    def thresholds(self) -> list[float]:
        """Between the classes."""
        return [_SHARE * self.place * _RATIO**k for k in range(_CLASSES)]

    @property
    def place(self) -> float:
        """Near ε; where questions share what they can, that of its neighbours too."""
        return on_grid(self.epsilon, up=True)


@dataclass(frozen=True, slots=True)
class _Term:
    """One case, summed for a distribution above and one below."""

    case: Case
    contour: Contour
    upper: ContourSum
    below: Case | None
    lower: ContourSum | None

    def high(self, epsilon: float) -> float:
        """At least what the case adds to δ."""
        return self.case.weight[1] * self.upper.upper(epsilon)

    def low(self, epsilon: float) -> float:
        """At most that."""
        if self.below is None or self.lower is None:
            return 0.0
        return self.below.weight[0] * self.lower.lower(epsilon)

    def lost(self, epsilon: float) -> float:
        """About how much of the difference is due to rounding and nodes left out."""
        both = 4 * self.upper.error_share(epsilon)  # of both sums, and of the chord's
        return both * self.high(epsilon)

    def smoothed(self, epsilon: float) -> float:
        """About how much of the difference is due to smoothing."""
        gap = self.upper.upper(epsilon) - self.upper.lower(epsilon)
        return max(self.case.weight[1] * gap - self.lost(epsilon), 0.0)


@dataclass(frozen=True, slots=True)
class _Sum:
    terms: tuple[_Term, ...]
    left_out: float

    def upper(self, epsilon: float) -> float:
        """At least δ(ε)."""
        return (math.fsum(term.high(epsilon) for term in self.terms) + self.left_out) * (1 + 1e-14)

    def lower(self, epsilon: float) -> float:
        """At most δ(ε)."""
        return math.fsum(term.low(epsilon) for term in self.terms) * (1 - 1e-14)

    def slope(self, epsilon: float) -> float:
        """About |d ln δ/dε|."""
        step = 1e-4 * epsilon
        ratio = self.upper(epsilon + step) / max(self.upper(epsilon - step), _SMALLEST)
        return max(-math.log(max(ratio, _SMALLEST)) / (2 * step), 1e-3 / epsilon)


def suit(total: LossSum) -> bool:
    """Whether there are losses that may be parted."""
    return any(isinstance(loss, DensityPair) for loss, _ in total.parts)


def enclose(total: LossSum, query: Query, known: Bracket | None) -> Bracket | None:
    """The sum; None where large losses are not rare, or nothing is known of the answer.

    Args:
        total: the losses.
        query: what is asked.
        known: what other methods tell.
    """
    if known is None or not 0 < known.upper < math.inf:
        return None
    total.require_tractable()
    found = Bracket(known.lower, known.upper, METHOD)
    setting = _first(query, found)
    if setting.epsilon <= 0:
        return None
    for _ in range(_PASSES):
        sums = _summed(total, setting)
        if sums is None:
            return None
        before = found
        unit = 1 / sums.slope(setting.epsilon)
        tolerance = query.relative_width * min(setting.epsilon, unit) / 20
        low, high = query.read(sums.upper, sums.lower, setting.epsilon, unit, tolerance)
        found = found.narrowed(low, high)
        if found.upper <= 0 or found.relative_width <= _CLOSE * query.relative_width:
            break
        setting, moved = _next(query, setting, sums, found)
        if not moved and found.upper - found.lower > _SLOW * (before.upper - before.lower):
            break
    return found


def _first(query: Query, known: Bracket) -> _Setting:
    asked = isinstance(query, EpsilonAt)
    epsilon, delta = (known.upper, query.at) if asked else (query.at, known.upper)
    slope = 3 / on_grid(max(epsilon, _SMALLEST))
    width = 3 * query.relative_width
    cells = _FIRST_CELLS if query.relative_width < _WIDE else _FIRST_OF_WIDE
    return _Setting(epsilon, max(delta, _SMALLEST), slope, width, slope, cells, {})


def _next(query: Query, setting: _Setting, sums: _Sum, found: Bracket) -> tuple[_Setting, bool]:
    """Nearer to the answer, or finer; and whether the answer was far off."""
    asked = isinstance(query, EpsilonAt)
    epsilon = found.upper if asked else setting.epsilon
    delta = setting.delta if asked else max(found.upper, _SMALLEST)
    slope = sums.slope(epsilon)
    aim = query.relative_width * (max(slope * epsilon, 0.1) if asked else 1.0)
    moved = abs(epsilon - setting.epsilon) > _NEAR * epsilon
    moved = moved or abs(math.log(delta / setting.delta)) > 1
    heaviest = max(sums.terms, key=lambda term: term.high(epsilon))
    allowed = aim * delta / 4
    smoothing, rest = dict(setting.smoothing), 0.0
    for term in sums.terms:
        smoothed = term.smoothed(epsilon)
        rest += term.high(epsilon) - term.low(epsilon) - smoothed - term.lost(epsilon)
        factor = math.sqrt(allowed / len(sums.terms) / max(smoothed, _SMALLEST))
        smoothing[term.case.key] = _first_factor(setting, term.case) * min(max(factor, 0.02), 10.0)
    cells = setting.cells
    if not moved:
        growth = 1.2 * math.sqrt(max(rest, 0.0) / max(allowed, _SMALLEST))
        cells = min(cells * min(max(growth, 1.0), _MOST_GROWTH), _MOST_CELLS)
    finer = _Setting(epsilon, delta, slope, aim, heaviest.contour.c, cells, smoothing)
    return finer, moved


def _first_factor(setting: _Setting, case: Case) -> float:
    return setting.smoothing.get(case.key, 30.0 ** max(case.many - 1, 0))


def _summed(total: LossSum, setting: _Setting) -> _Sum | None:
    """All cases that matter, on their contours; None if too many would."""
    tail = on_grid(EpsilonAt(setting.delta, setting.open).tail(total), TAILS)
    around = [(_around(loss, tail, setting), count) for loss, count in total.parts]
    uppers = [(upper, count) for (upper, _), count in around]
    lowers = [(lower, count) for (_, lower), count in around]
    expected = expected_number(_parted(uppers, setting.thresholds[:1]))
    negligible = _NEGLIGIBLE * setting.open * setting.delta
    most = next((k for k in range(1, _MOST + 1) if more_than(k, expected) < negligible), None)
    if most is None or expected > _MOST_EXPECTED:
        return None
    # Where many large losses matter, few classes: cases are as many as ways to draw from them.
    thresholds = setting.thresholds if most <= _FEW else setting.thresholds[::2]
    above, left_out = cases(_parted(uppers, thresholds), most, negligible / 8)
    below = {case.key: case for case in cases(_parted(lowers, thresholds), most, 0.0)[0]}
    terms = [_term(case, below.get(case.key), setting) for case in above]
    return _Sum(tuple(terms), left_out)


def _parted(
    laws: Sequence[tuple[LossDistribution, int]], thresholds: Sequence[float]
) -> list[Parted]:
    each = []
    for law, count in laws:
        one = kept((parted, law, *thresholds), partial(parted, law, 1, thresholds))
        each.append(replace(one, count=count))
    return each


def _around(
    loss: LossDistribution | DensityPair, tail: float, setting: _Setting
) -> tuple[LossDistribution, LossDistribution]:
    """A law above and one below; cells planned for small losses and for large ones."""
    if isinstance(loss, LossDistribution):
        return loss, loss
    key = (_around, loss, tail, setting.place, setting.tilt, setting.cells)
    return kept(key, partial(_cut, loss, tail, setting))


def _cut(loss: DensityPair, tail: float, setting: _Setting) -> tuple[DiscreteLoss, DiscreteLoss]:
    window = loss.truncation_interval(tail)
    x = plan_cells(loss, window, 0.0).x
    smallest, *others = setting.thresholds
    levels = [smallest, setting.place, *others]
    cuts = np.unique(np.searchsorted(loss.loss(x), levels))
    inner = cuts[(cuts > 0) & (cuts < len(x) - 1)]
    bounds = [window[0], *x[inner], window[1]]
    tilts = [setting.tilt if level <= setting.place else 0.0 for level in levels] + [0.0]
    edges = [np.array([window[0]])]
    for between, tilt, share in zip(itertools.pairwise(bounds), tilts, _CELLS, strict=False):
        edges.append(plan_cells(loss, between, tilt).edges(share * setting.cells)[1:])
    return upper_and_lower(loss, np.concatenate(edges), tail)


def _term(case: Case, below: Case | None, setting: _Setting) -> _Term:
    """The case on the contour that serves it."""
    share = min(math.log(setting.delta) - math.log(case.weight[1]), -0.01)
    contour = SaddlePoints(case.rounds).contour_for_epsilon(setting.epsilon, share, _GROWTH)
    aim = setting.open / max(setting.slope, contour.c)
    smoothing = math.sqrt(aim / 6 / (contour.c + 1)) * _first_factor(setting, case)
    smoothing = on_grid(min(smoothing, LARGEST_SMOOTHING, 0.1 / contour.c))
    upper = contour_sum(case.rounds, contour, smoothing=smoothing, most_nodes=_MOST_NODES)
    if below is None:
        return _Term(case, contour, upper, None, None)
    lower = contour_sum(below.rounds, contour, smoothing=smoothing, most_nodes=_MOST_NODES)
    if case.key:  # infinite losses are counted once, where no loss is large
        lower = replace(lower, infinite=0.0)
    return _Term(case, contour, upper, below, lower)
