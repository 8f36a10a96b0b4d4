"""Conversions of divergences that add up, at an order that is looked for at many orders at once.

Every order gives a bound, so that the search may be off: the divergence at the order that it finds is
converted with sixty digits, as everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.many_orders import divergences
from dpcalc.guarantees.one_order import NEXT_TO_ONE, advantage_of, delta_of, epsilon_of
from dpcalc.guarantees.renyi import RDP, RenyiGuarantee
from dpcalc.guarantees.through_renyi import ApproximateRDP, unless_failed

Array = NDArray[np.float64]
Parts = Sequence[tuple[Guarantee, int]]

_ORDERS = 1 + np.geomspace(1e-9, 1e12, 170)
_FINER = 33
_LEVELS, _FLAT = 9, 1e-11
"""Searches end where neighbours are this share of a bound above it, which a smooth minimum is after
five levels; where two curves cross neighbours have to be much nearer each other."""

_AGREED = 1e-9
"""Of a bound, what doubles at many orders and the divergence of one order may differ by."""


def epsilon_at_best(parts: Parts, total: Guarantee, delta: float) -> tuple[float, bool]:
    """ε(δ) of all releases, and whether the order is sure to be the best but for a rounding.

    Args:
        parts: releases, with how often each is used.
        total: the sum of their divergences, perhaps except with a failure probability.
        delta: above 0.
    """
    if isinstance(total, ApproximateRDP):
        share = total.share(delta)
        if share:
            return epsilon_at_best(parts, total.base, share)
        return total.epsilon(delta), True
    if not isinstance(total, RenyiGuarantee):
        return total.epsilon(delta), True
    log_delta = math.log(delta)

    def cost(s: Array, beta: Array) -> Array:
        return np.asarray(beta - np.log1p(1 / s) - (log_delta + np.log1p(s)) / s)

    order, about = best_order(unless_failed(parts)[0], cost)
    found = epsilon_of(total.renyi(order), order, delta)
    if advantage_of(total.renyi(NEXT_TO_ONE)) <= delta:
        found = 0.0
    return found, found == 0 or abs(about - found) <= _AGREED * found < math.inf


def delta_at_best(parts: Parts, total: Guarantee, epsilon: float) -> tuple[float, bool]:
    """δ(ε) of all releases likewise.

    Args:
        parts: releases, with how often each is used.
        total: the sum of their divergences, perhaps except with a failure probability.
        epsilon: finite.
    """
    if isinstance(total, ApproximateRDP):
        found, sure = delta_at_best(parts, total.base, epsilon)
        return total.with_failure(found), sure
    if not isinstance(total, RenyiGuarantee):
        return total.delta(epsilon), True

    def cost(s: Array, beta: Array) -> Array:
        return np.asarray(s * (beta - epsilon - np.log1p(1 / s)) - np.log1p(s))

    order, about = best_order(unless_failed(parts)[0], cost)
    known = advantage_of(total.renyi(NEXT_TO_ONE))
    found = min(delta_of(total.renyi(order), order, epsilon), known)
    return found, found == 0 or abs(min(about, 0.0) - math.log(found)) <= _AGREED


def best_order(parts: Parts, cost: Callable[[Array, Array], Array]) -> tuple[float, float]:
    """The order of least cost found, and that cost; infinite where no divergence is known.

    Args:
        parts: releases that do not fail, with how often each is used.
        cost: of α - 1 and the divergence at α, of many at once.
    """
    given = [order for part, _ in parts if isinstance(part, RDP) for order, _ in part.points]
    orders = np.unique([*_ORDERS, *given])
    beta = sum((n * _everywhere(part, tuple(given)) for part, n in parts), np.zeros(len(orders)))
    for _ in range(_LEVELS):
        with np.errstate(over="ignore", invalid="ignore"):
            costs = np.nan_to_num(cost(orders - 1, beta), nan=np.inf, posinf=np.inf)
        best = int(costs.argmin())
        found = float(orders[best]), float(costs[best])
        around = costs[max(best - 1, 0) : best + 2]
        if costs[best] == np.inf or float(around.max()) - found[1] <= _FLAT * abs(found[1]):
            break
        low, high = orders[max(best - 1, 0)] - 1, orders[min(best + 1, len(orders) - 1)] - 1
        orders = np.unique(np.append(1 + np.geomspace(low, high, _FINER), found[0]))
        beta = sum((n * divergences(part, orders) for part, n in parts), np.zeros(len(orders)))
    return found


@lru_cache(maxsize=64)
def _everywhere(part: Guarantee, given: tuple[float, ...]) -> Array:
    """The divergences of one at the orders where a search begins, which other questions share."""
    return divergences(part, np.unique([*_ORDERS, *given]))
