"""Every case of large losses on the contour that serves it, smoothed by what the case weighs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dpcalc.accounting.composition.parted_laws import Case, Key, thinned
from dpcalc.accounting.contour.bend import Bend
from dpcalc.accounting.contour.contour_sum import CUTOFF, LARGEST_SMOOTHING, ContourSum, contour_sum
from dpcalc.accounting.contour.omitted_nodes import NEGLIGIBLE_SUM
from dpcalc.accounting.contour.saddle_points import Contour, SaddlePoints
from dpcalc.accounting.contour.shared import on_grid, on_one_line
from dpcalc.errors import NumericalFailure

SHARES, _RATIO, _CLASSES = (0.5, 2.0, 8.0, 32.0), 8.0, 4
"""Losses above the first share of ε are large, or above a later one if they are many; classes grow by
the ratio, and are at most so many."""

_MOST_NODES = 2**17

_GROWTH = 1.0
"""The logarithm of how much larger than the answer the integrand may be."""

_LESS = 50.0
"""Over the smoothing at first: how much less it may be because a coarse sum said so."""

MOST_OVER_ORDER = 0.1
"""Smoothing at most, over the inverse of the order of the contour."""

_ALIKE = 1.3
"""Contours that are as near as this, in place and period, may be one."""

_LIGHTEST = -200.0
"""The logarithm of the least share of δ that a case is taken to have."""

_LEFT_OUT, _MOST_LEFT_OUT = 3e-3, 1e-4
"""Of what may be left open: what nodes left out may add up to; and over the first node at most."""

LARGEST_EXPONENT = 689.0
"""Of a loss times an order, where moments are still doubles."""

SMALLEST = 1e-300


@dataclass(frozen=True, slots=True)
class Setting:
    """For what and how finely to compute.

    Attributes:
        epsilon: about where the answer is.
        delta: about δ there.
        slope: about |d ln δ/dε|.
        open: relative width of δ that is aimed at.
        tilt: c for the plan of cells below ε; above, a loss counts once however large it is.
        cells: how many for small losses, where no bend is known.
        smoothing: s for each case, where it is known.
        cut: relative width of δ that cells may add.
        bend: how far ε moves where losses are blurred, if coarse sums have told.
        finer: how many times the cells that are planned by the bend.
        peaks: what `Term.peak` may be, for cases that lose too many digits else.
        share: losses above this share of ε are large.
    """

    epsilon: float
    delta: float
    slope: float
    open: float
    tilt: float
    cells: float
    smoothing: Mapping[Key, float]
    cut: float
    bend: Bend | None = None
    finer: float = 1.0
    peaks: Mapping[Key, float] = field(default_factory=dict)
    share: float = SHARES[0]

    @property
    def thresholds(self) -> list[float]:
        """Between the classes."""
        return [self.share * self.place * _RATIO**k for k in range(_CLASSES)]

    @property
    def place(self) -> float:
        """Near ε; where questions share what they can, that of its neighbours too."""
        return on_grid(self.epsilon, up=True)


@dataclass(frozen=True, slots=True)
class Term:
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

    def rounded(self, epsilon: float) -> float:
        """About the part of it that more nodes do not make smaller, or that there are no nodes for."""
        both = self.upper.rounding + self.upper.truncated
        share = self.upper.rounding / both if both > 0 else 0.0
        return self.lost(epsilon) * share + self.forced(epsilon)

    def forced(self, epsilon: float) -> float:
        """About the part of it that there are no nodes for."""
        return self.smoothed(epsilon) if self.upper.evaluated >= _MOST_NODES else 0.0

    @property
    def peak(self) -> float:
        """The logarithm of about what the nodes add up to by size, over what they add up to."""
        contour = self.contour
        scale = self.upper.log_scale - contour.c * contour.epsilon
        return scale + math.log(contour.c) - contour.log_delta

    def smoothed(self, epsilon: float) -> float:
        """About how much of the difference is due to smoothing."""
        gap = self.upper.upper(epsilon) - self.upper.lower(epsilon)
        return max(self.case.weight[1] * gap - self.lost(epsilon), 0.0)


@dataclass(frozen=True, slots=True)
class CaseSums:
    """All cases that matter, and what the others weigh at most."""

    terms: tuple[Term, ...]
    left_out: float

    def upper(self, epsilon: float) -> float:
        """At least δ(ε)."""
        return (math.fsum(term.high(epsilon) for term in self.terms) + self.left_out) * (1 + 1e-14)

    def lower(self, epsilon: float) -> float:
        """At most δ(ε)."""
        return math.fsum(term.low(epsilon) for term in self.terms) * (1 - 1e-14)

    def rounded(self, epsilon: float) -> float:
        """About how much of the difference is due to rounding, or to as many nodes as there may be."""
        return math.fsum(term.rounded(epsilon) for term in self.terms)

    def tell(self, epsilon: float) -> bool:
        """Whether they are near enough to δ to tell about its density."""
        return self.lower(epsilon) >= self.upper(epsilon) / 2

    def slope(self, epsilon: float) -> float:
        """About |d ln δ/dε|."""
        step = 1e-4 * epsilon
        ratio = self.upper(epsilon + step) / max(self.upper(epsilon - step), SMALLEST)
        return max(-math.log(max(ratio, SMALLEST)) / (2 * step), 1e-3 / epsilon)


def least_smoothing(period: float) -> float:
    """About the least for which there are nodes."""
    return CUTOFF * period / (2 * math.pi * _MOST_NODES)


def summed(
    above: Sequence[Case], below: Mapping[Key, Case], left_out: float, setting: Setting
) -> CaseSums:
    """Each case on its contour; those that differ in which rounds have the large losses on one.

    Args:
        above: the cases of laws above.
        below: those of laws below, by their keys.
        left_out: at least what other cases weigh.
        setting: where, and how finely.
    """
    planned = _planned(above, setting)
    terms: list[Term] = []
    for alike in _alike(planned):
        likely = 0
        with on_one_line():
            for plan in alike:
                terms.append(_term(plan, below.get(plan.case.key), likely))
                likely = likely or terms[-1].upper.evaluated
    return CaseSums(tuple(terms), left_out)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A case, where to integrate it, and how finely.

    Attributes:
        case: it.
        contour: where.
        smoothing: s.
        negligible: what nodes left out may add up to, relative to the first.
        log: the logarithm of about what it adds.
    """

    case: Case
    contour: Contour
    smoothing: float
    negligible: float
    log: float


def _planned(cases: Sequence[Case], setting: Setting) -> list[_Planned]:
    """Each case on the contour that serves it, smoothed the more the less it adds."""
    points = [SaddlePoints(case.rounds, thinned(case.rounds)) for case in cases]
    # What a case adds to δ at most, by Chernoff's inequality: only resolution depends on it.
    most = [
        math.log(case.weight[1]) + min(place.log_chernoff(setting.epsilon), 0.0)
        for case, place in zip(cases, points, strict=True)
    ]
    whole = min(math.log(setting.delta), max(most))
    found = []
    for case, place, log in zip(cases, points, most, strict=True):
        log_delta = min(math.log(setting.delta) - math.log(case.weight[1]), -0.01)
        lost = setting.peaks.get(case.key, math.inf)
        contour = place.contour_for_epsilon(setting.epsilon, log_delta, _GROWTH, lost)
        aim = setting.open / math.exp(max(min(log - whole, 0.0), _LIGHTEST))
        first = math.sqrt(aim / max(setting.slope, contour.c) / 6 / (contour.c + 1))
        smoothing = max(setting.smoothing.get(case.key, first), first / _LESS)
        smoothing = on_grid(min(smoothing, LARGEST_SMOOTHING, MOST_OVER_ORDER / contour.c))
        log_first = place.log_integrand(contour) - math.log(contour.period)
        left = _LEFT_OUT * setting.open * math.exp(min(log_delta - log_first, 0.0))
        negligible = min(max(left, NEGLIGIBLE_SUM), _MOST_LEFT_OUT)
        if not (smoothing > 0 and negligible > 0):
            raise NumericalFailure("what large losses add is no number there")
        found.append(_Planned(case, contour, smoothing, negligible, log))
    return found


def _alike(planned: Sequence[_Planned]) -> list[list[_Planned]]:
    """Cases of the same classes whose contours are near each other, on the heaviest one's."""
    groups: dict[tuple[int, ...], list[_Planned]] = {}
    for plan in planned:
        classes = tuple(sorted(number for _, number in plan.case.key))
        groups.setdefault(classes, []).append(plan)
    found = []
    for group in groups.values():
        rest = sorted(group, key=lambda plan: -plan.log)
        while rest:
            lead = rest[0].contour
            near = [plan for plan in rest if _near(plan.contour, lead)]
            rest = [plan for plan in rest if not _near(plan.contour, lead)]
            period = max(plan.contour.period * plan.contour.c for plan in near) / lead.c
            contour = replace(lead, period=max(period, lead.period))
            found.append(
                [replace(plan, contour=contour, smoothing=near[0].smoothing) for plan in near]
                if len(near) > 1
                else near
            )
    return found


def _near(contour: Contour, lead: Contour) -> bool:
    ratios = contour.c / lead.c, contour.period / lead.period
    return all(1 / _ALIKE <= ratio <= _ALIKE for ratio in ratios)


def _within_doubles(contour: Contour, case: Case) -> Contour:
    """Aliases bounded at an order at which the case has moments, as the law above had."""
    largest = max(law.supremum for law, _ in case.rounds)
    order = min(contour.order, LARGEST_EXPONENT / largest if largest > 0 else math.inf)
    return replace(contour, order=order) if order > contour.c else contour


def _term(plan: _Planned, below: Case | None, likely: int) -> Term:
    """The case, from above and from below."""
    case, contour = plan.case, plan.contour
    upper = contour_sum(
        case.rounds,
        contour,
        smoothing=plan.smoothing,
        most_nodes=_MOST_NODES,
        likely=likely,
        negligible=plan.negligible,
    )
    if below is None:
        return Term(case, contour, upper, None, None)
    lower = contour_sum(
        below.rounds,
        _within_doubles(contour, below),
        smoothing=plan.smoothing,
        most_nodes=_MOST_NODES,
        likely=likely or upper.evaluated,
        negligible=plan.negligible,
    )
    if case.key:  # infinite losses are counted once, where no loss is large
        lower = replace(lower, infinite=0.0)
    return Term(case, contour, upper, below, lower)
