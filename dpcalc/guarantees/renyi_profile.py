"""The pair of distributions that dominates what is known through Rényi divergences.

Statement
    With divergences of at most β(α), whichever of two neighbours comes first,
    ``δ(ε) <= e^{s(β - ε)} s^s/(1 + s)^{1 + s}`` for every s = α - 1 > 0, and what is known except
    with a failure probability f has ``f + (1 - f)δ(ε)``. Such bounds at finitely many ε are a
    profile, which belongs to a pair (`dpcalc.accounting.losses.privacy_profile`): the pair
    dominates the releases, and its losses can be summed with those of others.
Source
    Canonne, Kamath and Steinke 2020, proposition 12; Zhu, Dong and Wang 2022.
Rounding
    Every order gives a bound, so that orders and places are chosen freely. An exponent is a sum of
    three numbers, each right to some units in the last place, and is enlarged by 1e-13 of their sizes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.losses.privacy_profile import loss_from_profile
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.many_orders import divergences
from dpcalc.guarantees.renyi import RDP
from dpcalc.guarantees.through_renyi import ApproximateRDP, unless_failed

Array = NDArray[np.float64]
Parts = Sequence[tuple[Guarantee, int]]

_COARSE = np.geomspace(1e-4, 1e9, 105)
"""s at which the best order of every place is looked for; nearby ones follow."""

_FINE = 640

_PLACES = -np.concatenate([np.linspace(0.02, 80.0, 800), np.linspace(82.0, 660.0, 145)])
"""ln δ at the corners; between two that are a tenth apart δ is an eighth of a per cent too high."""

_ROOM = 1e-13


def renyi_pair(parts: Parts, whole: Guarantee) -> DominatedMechanism:
    """The pair that dominates releases known through Rényi divergences.

    Args:
        parts: the releases, with how often each is used.
        whole: all of them together.
    """
    law = loss_from_profile(profile_points(parts, whole))
    return DominatedMechanism((((law, 1),),), "Rényi divergences", attained=False)


def profile_points(parts: Parts, whole: Guarantee) -> list[tuple[float, float]]:
    """Bounds of δ at places which are about evenly spaced in ln δ, and at ε = 0."""
    failure = whole.failure if isinstance(whole, ApproximateRDP) else 0.0
    parts, _ = unless_failed(parts)
    given = [order - 1 for part, _ in parts if isinstance(part, RDP) for order, _ in part.points]
    s, beta = _searched(parts, given)
    if len(s) == 0:
        return [(0.0, 1.0)]
    places = np.unique(np.maximum(_epsilons(s, beta), 0.0))
    bounds = np.minimum(failure + (1 - failure) * _deltas(s, beta, places), 1.0)
    points = [(float(e), float(d)) for e, d in zip(places, bounds, strict=True)]
    return [(0.0, whole.delta(0.0)), *points]


def _searched(parts: Parts, given: Sequence[float]) -> tuple[Array, Array]:
    """s, and the divergences at order 1 + s, at the best orders of all places and around them."""
    s, beta = _known(parts, np.unique([*_COARSE, *given]))
    if len(s) == 0:
        return s, beta
    best = np.argmin(_at(s, beta), axis=1)
    first, last = s[max(best.min() - 1, 0)], s[min(best.max() + 1, len(s) - 1)]
    return _known(parts, np.unique([*np.geomspace(first, last, _FINE), *given, *s[best]]))


def _known(parts: Parts, s: Array) -> tuple[Array, Array]:
    """Those of s with a finite divergence, of orders that are doubles; sums rounded up."""
    orders = np.unique(1 + s)
    beta = np.zeros(len(orders))
    for part, count in parts:
        beta += count * divergences(part, orders) * (1 + 1e-15)
    held = np.isfinite(beta)
    return (orders - 1)[held], beta[held] * (1 + len(parts) * 1e-15)


def _entropy(s: Array) -> Array:
    """ln(s^s/(1 + s)^{1 + s}), in terms of one sign."""
    return np.asarray(-(s * np.log1p(1 / s) + np.log1p(s)))


def _at(s: Array, beta: Array) -> Array:
    """ε at which every s gives the δ of every place."""
    return np.asarray(beta + (_entropy(s) - _PLACES[:, None]) / s)


def _epsilons(s: Array, beta: Array) -> Array:
    return np.asarray(_at(s, beta).min(axis=1))


def _deltas(s: Array, beta: Array, places: Array) -> Array:
    """The bound at the best s."""
    spent, entropy = s * beta, _entropy(s)
    allowed = np.multiply.outer(places, s)
    logarithms = spent + entropy - allowed + _ROOM * (spent - entropy + allowed)
    return np.asarray(np.exp(np.minimum(logarithms.min(axis=1), 0.0)) * (1 + 1e-12))
