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

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.losses.privacy_profile import loss_from_profile
from dpcalc.guarantees.bare_orders import bare_divergences
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.profile import PrivacyProfile
from dpcalc.guarantees.renyi import RDP
from dpcalc.guarantees.through_renyi import unless_failed
from dpcalc.numerics.precise import round_up

Array = NDArray[np.float64]
Parts = Sequence[tuple[Guarantee, int]]

_COARSE = np.geomspace(1e-6, 1e9, 121)
"""s at which the best order of every place is looked for; nearby ones follow."""

_FINE = 640

_PLACES = -np.concatenate([np.linspace(0.02, 80.0, 800), np.linspace(82.0, 660.0, 145)])
"""ln δ at the corners; between two that are a tenth apart δ is an eighth of a per cent too high."""

_ROOM = 1e-13


def renyi_pair(parts: Parts) -> PrivacyProfile:
    """The profile of releases known through Rényi divergences, with the pair that has it.

    Args:
        parts: the releases, with how often each is used.
    """
    known = [(epsilon, delta) for epsilon, delta, _ in corners(parts)]

    def profile(epsilon: float) -> float:
        return min((delta for place, delta in known if place <= epsilon), default=1.0)

    return PrivacyProfile(profile, "Rényi divergences", (((loss_from_profile(known), 1),),))


def corners(parts: Parts) -> list[tuple[float, float, float]]:
    """ε, a bound of δ, and the order that shows it: evenly spaced in ln δ, more or less, from ε = 0.

    At ε = 0 Pinsker's inequality may show more, with a divergence of any order: ``δ <= √(β/2)``.
    """
    regular, survived = unless_failed(parts)
    failure = round_up(1 - survived)
    given = [order - 1 for part, _ in regular if isinstance(part, RDP) for order, _ in part.points]
    s, beta = _searched(regular, given)
    if len(s) == 0:
        return [(0.0, 1.0, 2.0)]
    places = np.unique(np.maximum(np.append(_epsilons(s, beta), 0.0), 0.0))
    deltas, best = _deltas(s, beta, places)
    least = int(np.argmin(beta))
    told = math.sqrt(float(beta[least]) / 2) * (1 + 1e-12)
    if told < deltas[0]:
        deltas[0], best[0] = told, least
    bounds = np.minimum((failure + (1 - failure) * deltas) * (1 + 1e-15), 1.0)
    rows = zip(places, bounds, 1 + s[best], strict=True)
    return [(float(epsilon), float(delta), float(order)) for epsilon, delta, order in rows]


def _searched(parts: Parts, given: Sequence[float]) -> tuple[Array, Array]:
    """s, and the divergences at order 1 + s, at the best orders of all places and around them."""
    s, beta = _known(parts, np.unique([*_COARSE, *given]))
    if len(s) == 0:
        return s, beta
    best = np.argmin(_at(s, beta), axis=1)
    first, last = s[max(best.min() - 1, 0)], s[min(best.max() + 1, len(s) - 1)]
    return _known(parts, np.unique([*np.geomspace(first, last, _FINE), *given, *s[best], s[0]]))


def _known(parts: Parts, s: Array) -> tuple[Array, Array]:
    """Those of s with a finite divergence, of orders that are doubles; sums rounded up."""
    orders = np.unique(1 + s)
    beta = np.zeros(len(orders))
    for part, count in parts:
        beta += count * bare_divergences(part, orders) * (1 + 1e-15)
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


def _deltas(s: Array, beta: Array, places: Array) -> tuple[Array, NDArray[np.intp]]:
    """The bound at the best s, and which that is."""
    spent, entropy = s * beta, _entropy(s)
    allowed = np.multiply.outer(places, s)
    logarithms = spent + entropy - allowed + _ROOM * (spent - entropy + allowed)
    best = logarithms.argmin(axis=1)
    least = np.minimum(logarithms[np.arange(len(places)), best], 0.0)
    return np.asarray(np.exp(least) * (1 + 1e-12)), best
