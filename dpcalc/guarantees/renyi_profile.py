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
from dpcalc.accounting.losses.profile_law import law_in_doubles
from dpcalc.guarantees.bare_orders import bare_divergences
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.profile import PrivacyProfile
from dpcalc.guarantees.renyi import RDP
from dpcalc.guarantees.through_renyi import unless_failed
from dpcalc.numerics.precise import round_up

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
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
    epsilons, deltas, _ = _bounds(parts)

    def profile(epsilon: float) -> float:
        return float(deltas[epsilons <= epsilon].min(initial=1.0))

    law = law_in_doubles(epsilons, deltas)
    if law is None:
        law = loss_from_profile(zip(epsilons.tolist(), deltas.tolist(), strict=True))
    return PrivacyProfile(profile, "Rényi divergences", (((law, 1),),))


def corners(parts: Parts) -> list[tuple[float, float, float]]:
    """ε, a bound of δ, and the order that shows it: evenly spaced in ln δ, more or less, from ε = 0.

    At ε = 0 Pinsker's inequality may show more, with a divergence of any order: ``δ <= √(β/2)``.
    """
    rows = zip(*(column.tolist() for column in _bounds(parts)), strict=True)
    return [(epsilon, delta, order) for epsilon, delta, order in rows]


def _bounds(parts: Parts) -> tuple[Array, Array, Array]:
    """The columns of `corners`."""
    regular, failed = unless_failed(parts)
    failure = round_up(failed)
    given = [order - 1 for part, _ in regular if isinstance(part, RDP) for order, _ in part.points]
    s, beta = _searched(regular, given)
    if len(s) == 0:
        return np.zeros(1), np.ones(1), np.full(1, 2.0)
    epsilons, best = _reached(s, beta)
    above = (epsilons > 0) & np.append(np.diff(epsilons) > 0, True)
    places, best = np.append(0.0, epsilons[above]), np.append(_at_zero(s, beta), best[above])
    deltas = _deltas(s[best], beta[best], places)
    least = int(np.argmin(beta))
    told = math.sqrt(float(beta[least])) * math.sqrt(0.5) * (1 + 1e-12)
    if told < deltas[0]:
        deltas[0], best[0] = told, least
    bounds = np.minimum((failure + (1 - failure) * deltas) * (1 + 1e-15), 1.0)
    return places, bounds, 1 + s[best]


def _searched(parts: Parts, given: Sequence[float]) -> tuple[Array, Array]:
    """s, and the divergences at order 1 + s, at the best orders of all places and around them."""
    s, beta = _known(parts, np.unique([*_COARSE, *given]))
    if len(s) == 0:
        return s, beta
    _, best = _reached(s, beta)
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


def _reached(s: Array, beta: Array) -> tuple[Array, Indices]:
    """The least ε at which some s gives the δ of every place, and which that is."""
    every = np.multiply.outer(-_PLACES, 1 / s)
    every += beta + _entropy(s) / s
    return every.min(axis=1), every.argmin(axis=1)


def _at_zero(s: Array, beta: Array) -> np.intp:
    """The s that says most at ε = 0."""
    return np.argmin(s * beta + _entropy(s))


def _deltas(s: Array, beta: Array, places: Array) -> Array:
    """What every s says of its place."""
    spent, entropy, allowed = s * beta, _entropy(s), s * places
    logarithms = spent + entropy - allowed + _ROOM * (spent - entropy + allowed)
    return np.asarray(np.exp(np.minimum(logarithms, 0.0)) * (1 + 1e-12))
