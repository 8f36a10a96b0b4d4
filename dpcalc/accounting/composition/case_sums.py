"""Every case of large losses on the contour that serves it, smoothed by what the case weighs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpcalc.accounting.composition.parted_laws import Case, Key
from dpcalc.accounting.contour.contour_sum import LARGEST_SMOOTHING, ContourSum, contour_sum
from dpcalc.accounting.contour.saddle_points import Contour, SaddlePoints
from dpcalc.accounting.contour.shared import on_grid

_SHARE, _RATIO, _CLASSES = 0.5, 8.0, 4
"""Losses above this share of ε are large; classes grow by the ratio, and are at most so many."""

_MOST_NODES = 2**17

_GROWTH = 1.0
"""The logarithm of how much larger than the answer the integrand may be."""

_LIGHTEST = -200.0
"""The logarithm of the least share of δ that a case is taken to have."""

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

    def slope(self, epsilon: float) -> float:
        """About |d ln δ/dε|."""
        step = 1e-4 * epsilon
        ratio = self.upper(epsilon + step) / max(self.upper(epsilon - step), SMALLEST)
        return max(-math.log(max(ratio, SMALLEST)) / (2 * step), 1e-3 / epsilon)


def summed(
    above: Sequence[Case], below: Mapping[Key, Case], left_out: float, setting: Setting
) -> CaseSums:
    """Each case on its contour.

    Args:
        above: the cases of laws above.
        below: those of laws below, by their keys.
        left_out: at least what other cases weigh.
        setting: where, and how finely.
    """
    points = [SaddlePoints(case.rounds) for case in above]
    # What a case adds to δ at most, by Chernoff's inequality: only resolution depends on it.
    most = [
        math.log(case.weight[1]) + min(place.log_chernoff(setting.epsilon), 0.0)
        for case, place in zip(above, points, strict=True)
    ]
    whole = min(math.log(setting.delta), max(most))
    terms = []
    for case, place, log in zip(above, points, most, strict=True):
        share = math.exp(max(min(log - whole, 0.0), _LIGHTEST))
        terms.append(_term(case, below.get(case.key), place, share, setting))
    return CaseSums(tuple(terms), left_out)


def _term(
    case: Case, below: Case | None, points: SaddlePoints, share: float, setting: Setting
) -> Term:
    """The case on the contour that serves it, smoothed the more the less it adds."""
    log_delta = min(math.log(setting.delta) - math.log(case.weight[1]), -0.01)
    contour = points.contour_for_epsilon(setting.epsilon, log_delta, _GROWTH)
    aim = setting.open / max(setting.slope, contour.c) / share
    smoothing = math.sqrt(aim / 6 / (contour.c + 1)) * setting.smoothing.get(case.key, 1.0)
    smoothing = on_grid(min(smoothing, LARGEST_SMOOTHING, 0.1 / contour.c))
    upper = contour_sum(case.rounds, contour, smoothing=smoothing, most_nodes=_MOST_NODES)
    if below is None:
        return Term(case, contour, upper, None, None)
    lower = contour_sum(
        below.rounds,
        contour,
        smoothing=smoothing,
        most_nodes=_MOST_NODES,
        likely=upper.evaluated,
    )
    if case.key:  # infinite losses are counted once, where no loss is large
        lower = replace(lower, infinite=0.0)
    return Term(case, contour, upper, below, lower)
