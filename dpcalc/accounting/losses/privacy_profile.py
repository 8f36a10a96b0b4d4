"""Discrete laws that dominate a mechanism known by its profile, or by two finite distributions.

*Connecting the dots.* For a mechanism and the supremum over all ordered neighbouring pairs,
``h(k) = sup P - kQ`` is convex and falls from h(0) = 1, and exchanging the neighbours gives
``h(1/k) = 1 - 1/k + h(k)/k``. Upper bounds of h at finitely many k >= 1 therefore bound it at their
inverses too, and the greatest convex function below the points bounds it in between. That function
is the h of a discrete pair: at every corner k the mass under Q is the change of slope there, the mass
under P is k times that, and what remains at the far right is an infinite loss.

Source: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, for points on a lattice of losses.
Rounding: corners and slopes with sixty digits; each mass is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from dpcalc import checks
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.two_tables import whole_numbers
from dpcalc.errors import InvalidInput
from dpcalc.numerals import at_least
from dpcalc.numerics.precise import Real, context, mpf, round_up

_GRID = 1200
_FAR = 1e-30
_NOTHING = 1e-290
_LARGEST_EPSILON = 1e6
_ROOM = 1e-13
_NEAREST, _FARTHEST = 1e-6, 600.0
"""Where neighbouring ε are at least this far apart, none beyond that, doubles find the corners."""
LEAST_EPSILON = 1e-25
"""From here on e^ε of different doubles differ in sixty digits."""


Curve = tuple[tuple[float, float], ...]
"""Pairs (ε, δ) with increasing ε and no increasing δ."""


def falling(points: Iterable[tuple[float, float]]) -> Curve:
    """What pairs say together: δ(ε_i) <= δ_i, ε >= 0 and δ in [0, 1].

    Raises:
        InvalidInput: for no pair, an ε below 0, and a δ outside [0, 1].
    """
    known: dict[float, float] = {}
    for epsilon, delta in points:
        at = at_least(checks.non_negative("epsilon", epsilon))
        at = max(at, LEAST_EPSILON) if at > 0 else 0.0  # what holds at one ε holds above it
        most = min(1.0, at_least(checks.probability("delta", delta)))
        known[at] = min(most, known.get(at, 1.0))
    if not known:
        raise InvalidInput("a profile needs at least one pair (ε, δ); got none")
    curve, least = [], 1.0
    for epsilon in sorted(known):
        least = min(least, known[epsilon])
        curve.append((epsilon, least))
    return tuple(curve)


def loss_from_profile(points: Iterable[tuple[float, float]]) -> DiscreteLoss:
    """The law of a pair that dominates every mechanism with δ(ε_i) <= δ_i, in both directions.

    Args:
        points: pairs (ε, δ), ε >= 0 and δ in [0, 1].
    """
    curve = falling(points)
    losses, masses = _masses(*_hull(_mirrored(curve)))
    return DiscreteLoss(np.array(losses), np.array(masses), infinite_mass=curve[-1][1])


def sample_profile(profile: Callable[[float], float]) -> list[tuple[float, float]]:
    """Where to look at a profile: evenly up to δ = 1e-30, then up to where it vanishes."""
    near, far = _reach(profile, _FAR), _reach(profile, _NOTHING)
    grid = np.concatenate([np.linspace(0.0, near, _GRID), np.linspace(near, far, _GRID // 4)])
    return [(float(e), profile(float(e))) for e in np.unique(grid)]


def law_from_distributions(p: Sequence[float], q: Sequence[float]) -> DiscreteLoss:
    """The law of ln(p/q) under P for two distributions on the same finite set.

    Args:
        p: probabilities, 0 or above, normalised if they do not sum to 1 exactly.
        q: probabilities in the same order.
    """
    ctx = context()
    held = [(a, b) for a, b in zip(*probabilities(p, q), strict=True) if a > 0]
    certain = round_up(sum((a for a, b in held if b == 0), mpf(0)))
    shared = [(float(ctx.log(a / b)), float(a)) for a, b in held if b > 0]
    losses, masses = np.array(shared).reshape(-1, 2).T.copy()
    law = DiscreteLoss(losses, masses, infinite_mass=min(1.0, certain))
    law.mass_at_supremum = float(masses[losses == law.supremum].max(initial=0.0)) * (1 - 1e-15)
    return law


def probabilities(p: Sequence[float], q: Sequence[float]) -> tuple[list[Real], list[Real]]:
    """Two distributions on the same finite set, normalised; refused as `whole_numbers` says."""
    (whole_p, whole_q) = whole_numbers(p, q)
    total_p, total_q = mpf(sum(whole_p)), mpf(sum(whole_q))
    return [mpf(a) / total_p for a in whole_p], [mpf(b) / total_q for b in whole_q]


def profile_in_doubles(curve: Curve) -> tuple[DiscreteLoss] | None:
    """A law whose moments bound those of `loss_from_profile`; None where doubles do not reach.

    With corners at ``0 = l_0 < l_1 < ...`` on the right of zero the pair has, under P, the mass

        a - b,  a = (δ_{i-1} - δ_i)/(1 - e^{l_{i-1} - l_i}),
                b = (δ_i - δ_{i+1})/(e^{l_{i+1} - l_i} - 1),

    at l_i, e^{-l_i} times as much at -l_i, and the rest at zero, so that its moment of order s + 1
    less 1 is the sum of ``(a - b)(e^{s l_i} - 1)(1 - e^{-(s+1) l_i})`` and grows with every mass.
    It grows with δ between the corners too: any of the points may be left out. Where the first
    corner is l > 0, the chord from -l to l has ``1 - (1 - δ)·2/(e^l + 1)`` at zero, less what it has
    at l: ``a = (1 - δ)/(1 + e^{-l})``.

    Rounding: with u = 2^-53 differences of doubles are right to u of themselves, and a and b to
    20 u and what that does to the exponential, u times the gap; their difference is enlarged by
    1e-13 of both, 900 u.
    """
    if curve[-1][1] > 0 or curve[-1][0] > _FARTHEST or _crowded(curve):
        return None
    right = [(math.exp(e), d, e) for e, d in curve]
    left = [(1 / k, 1 - 1 / k + d / k, -e) for k, d, e in reversed(right) if e > 0]
    corners, _ = _hull([(0.0, 1.0, -math.inf), *left, *right])
    kept = [(e, d) for _, d, e in corners if e >= 0]
    if kept[-1][1] > 0:  # a slope to the last corner that is no double
        return None
    at, deltas = np.array(kept).T
    falls, gaps = -np.diff(deltas), np.diff(at)
    rises, drops = falls / -np.expm1(-gaps), falls / np.expm1(gaps)
    if at[0] > 0:
        rises = np.append((1 - deltas[0]) / (1 + math.exp(-at[0])), rises)
    else:
        at, drops = at[1:], drops[1:]
    drops = np.append(drops, 0.0)
    masses = np.maximum(rises - drops + _ROOM * (rises + drops), 0.0)
    return (DiscreteLoss(np.append(at, -at), np.append(masses, masses * np.exp(-at))),)


def _crowded(curve: Curve) -> bool:
    at = [0.0, *(e for e, _ in curve)]
    return any(0 < b - a < _NEAREST for a, b in pairwise(at))


Point = tuple[Real, Real, float]
"""k, a bound of h(k), and ln k as a double."""


def _mirrored(curve: Sequence[tuple[float, float]]) -> list[Point]:
    ctx = context()
    right = [(ctx.exp(mpf(e)), mpf(d), e) for e, d in curve]
    turned = [(1 / k, d / k, -e) for k, d, e in reversed(right) if e > 0]
    left = [(k, 1 - k + d, e) for k, d, e in turned]
    return [(mpf(0), mpf(1), -math.inf), *left, *right]


def _hull(points: Sequence[Point]) -> tuple[list[Point], list[Real]]:
    """The corners of the greatest convex function below the points, flat on the far right.

    And the slopes between neighbouring corners, each found once.
    """
    kept, slopes = [points[0]], list[Real]()
    for point in points[1:]:
        slope = _slope(kept[-1], point)
        while slopes and slopes[-1] >= slope:
            kept.pop()
            slopes.pop()
            slope = _slope(kept[-1], point)
        kept.append(point)
        slopes.append(slope)
    while slopes and slopes[-1] >= 0:
        kept.pop()
        slopes.pop()
    return kept, slopes


def _slope(a: Point, b: Point) -> Real:
    return (b[1] - a[1]) / (b[0] - a[0])


def _masses(corners: Sequence[Point], slopes: Sequence[Real]) -> tuple[list[float], list[float]]:
    bends = [after - before for before, after in pairwise([*slopes, mpf(0)])]
    masses = [round_up(k * bend) for (k, _, _), bend in zip(corners[1:], bends, strict=True)]
    return [loss for _, _, loss in corners[1:]], masses


def _reach(profile: Callable[[float], float], delta: float) -> float:
    """About the ε from which on a profile is at most ``delta``; not a bound."""
    low, high = 0.0, 1e-6
    while profile(high) > delta and high < _LARGEST_EPSILON:
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle) > delta else (low, middle)
    return high
