"""One pair that dominates two others, which are each other's reverse: for relations without an order.

Statement
    Under a symmetric relation, such as replace-one, a round may meet (P, Q) or (Q, P), and which of
    them may change from round to round, even in view of earlier outcomes. With
    ``h(k) = sup P - kQ`` and ``g(k) = sup Q - kP`` the function ``max(h, g)`` is convex, falls from
    1 at k = 0 and is at least ``(1 - k)₊``; so it belongs to a pair, which dominates both in every
    round, and by the composition theorem its product dominates every sequence of them. No smaller
    function bounds both. Since ``g(k) = 1 - k + k·h(1/k)``, it is its own mirror image, and one
    direction is enough.
Source
    Zhu, Dong and Wang 2022 (which functions belong to pairs; composition of dominating pairs).
Rounding
    Losses where it has corners are rounded up, its values there with sixty digits and rounded up
    once; between them lie chords of a convex function, hence upper bounds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np

from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower
from dpcalc.accounting.losses.privacy_profile import loss_from_profile, probabilities
from dpcalc.numerics.precise import Real, context, mpf, round_up

_CELLS = 2000
"""Cells of a pair of densities; a relative error of the second order in their inverse."""

_TILTS = (0.0, 2.0, 8.0)
"""Cells are narrow where the mass is, and where it is when tilted towards large losses."""

_TAIL = 1e-280
"""What may lie outside the window of a pair of densities that does not say how much does."""


def law_in_either_order(p: Sequence[float], q: Sequence[float]) -> DiscreteLoss:
    """The law of the pair that dominates (p, q) and (q, p), for two finite distributions.

    Args:
        p: probabilities, 0 or above, normalised if they do not sum to 1 exactly.
        q: probabilities of the same outcomes.
    """
    first, second = probabilities(p, q)
    forth, back = _Curve(first, second), _Curve(second, first)
    corners = {epsilon for curve in (forth, back) for epsilon in curve.losses if epsilon > 0}
    return loss_from_profile(_larger(forth.delta, back.delta, sorted({0.0, *corners})))


def density_law_in_either_order(forth: DensityPair, back: DensityPair) -> DiscreteLoss:
    """A law that dominates both of two pairs of densities, which are each other's reverse."""
    laws = [_fine(pair) for pair in (forth, back)]
    losses = np.concatenate([np.zeros(1), *(law.losses for law in laws)])
    corners = np.unique(losses[losses >= 0]).tolist()
    return loss_from_profile((e, min(1.0, max(law.delta(e)[1] for law in laws))) for e in corners)


def _fine(pair: DensityPair) -> DiscreteLoss:
    """A discrete law that dominates a pair of densities closely."""
    window = pair.truncation_interval(_TAIL)
    plans = [plan_cells(pair, window, tilt).edges(_CELLS / len(_TILTS)) for tilt in _TILTS]
    return upper_and_lower(pair, np.unique(np.concatenate(plans)), _TAIL)[0]


class _Curve:
    """δ(ε) = Σ (p - e^ε·q)₊ of two finite distributions, without cancellation.

    Attributes:
        losses: where it has corners, rounded up, increasing.
    """

    def __init__(self, p: Sequence[Real], q: Sequence[Real]) -> None:
        ratios: dict[Real, Real] = {}
        self._certain = mpf(0)
        for a, b in zip(p, q, strict=True):
            if b == 0:
                self._certain += a
            elif a > 0:
                ratios[a / b] = ratios.get(a / b, mpf(0)) + b
        self._corners = sorted(ratios)
        # The value at every corner, and the slope on its left, from the right.
        value, slope, following = self._certain, mpf(0), mpf(0)
        values, slopes = [], []
        for k in reversed(self._corners):
            value += slope * (following - k)
            slope += ratios[k]
            following = k
            values.append(value)
            slopes.append(slope)
        self._values, self._slopes = values[::-1], slopes[::-1]
        ctx = context()
        self.losses = [round_up(ctx.log(k)) for k in self._corners]

    def delta(self, epsilon: float) -> Real:
        """The value at ε, exact to about fifty digits."""
        k = context().exp(mpf(epsilon))
        place = bisect_left(self._corners, k)
        if place == len(self._corners):
            return self._certain
        return self._values[place] + self._slopes[place] * (self._corners[place] - k)


def _larger(
    one: Callable[[float], Real], other: Callable[[float], Real], corners: Sequence[float]
) -> list[tuple[float, float]]:
    """The larger of two functions of ε, linear in e^ε between corners, at corners and crossings."""
    ctx = context()
    points: list[tuple[float, float]] = []
    before: tuple[Real, Real] | None = None
    for epsilon in corners:
        k, lead = ctx.exp(mpf(epsilon)), one(epsilon) - other(epsilon)
        if before is not None and before[1] * lead < 0:
            equal_at = before[0] + (k - before[0]) * before[1] / (before[1] - lead)
            points.append(_point(one, other, float(ctx.log(equal_at))))
        points.append(_point(one, other, epsilon))
        before = k, lead
    return points


def _point(
    one: Callable[[float], Real], other: Callable[[float], Real], epsilon: float
) -> tuple[float, float]:
    largest = max(one(epsilon), other(epsilon))
    return epsilon, min(1.0, round_up(largest * (1 + mpf("1e-40"))))
