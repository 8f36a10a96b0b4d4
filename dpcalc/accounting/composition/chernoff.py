"""Valid, weaker bounds by Chernoff's inequality, for what nothing else encloses.

At every order c > 0, with K(c) = ln E e^{cS}: ``δ(ε) <= e^{K(c) - cε} c^c/(1+c)^{1+c}``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import SMALLEST_DOUBLE, EpsilonAt, Estimate, Query
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import Reals
from dpcalc.accounting.renyi import failure, log_moment

METHOD = "weaker: Chernoff bound"
_ORDERS, _PASSES, _FINER = 97, 2, 8
_RANGE = 1e-6, 1e8


def enclose(total: LossSum, query: Query, estimate: Estimate | None = None) -> Bracket:
    """The bound at the best order, and the largest loss."""
    del estimate
    read = _epsilon if isinstance(query, EpsilonAt) else _delta
    return read(total, query.at)


def _epsilon(total: LossSum, delta: float) -> Bracket:
    spare = delta - failure(total.parts)
    lower = total.epsilon_of_largest(delta)
    if spare <= 0:
        surely = total.infinite_mass * (1 - 1e-12) > delta
        return Bracket(math.inf if surely else lower, math.inf, METHOD)
    log_spare = math.log(spare)

    def bounds(orders: Reals) -> Reals:
        with np.errstate(over="ignore"):
            return np.asarray((_exponents(total, orders) - log_spare) / orders)

    best = _least(bounds)[1] * (1 + 1e-9)
    return Bracket(lower, max(0.0, min(best, total.largest)), METHOD)


def _delta(total: LossSum, epsilon: float) -> Bracket:
    revealed, surely = failure(total.parts), max(0.0, total.infinite_mass * (1 - 1e-12))
    if epsilon >= total.largest:
        return Bracket(surely, revealed, "no finite loss is larger")
    order, logarithm = _least(lambda orders: _exponents(total, orders) - orders * epsilon)
    slack = 1 + 1e-9 + 1e-15 * epsilon * order
    value = max(math.exp(min(logarithm, 0.0)) * slack, SMALLEST_DOUBLE)
    return Bracket(surely, min(1.0, revealed + value), METHOD)


def _least(bounds: Callable[[Reals], Reals]) -> tuple[float, float]:
    """An order with about the least of some bounds, and that bound: on a grid, then next to it."""
    orders = np.geomspace(*_RANGE, _ORDERS)
    values = bounds(orders)
    for _ in range(_PASSES):
        best = int(np.argmin(values))
        ends = orders[max(best - 1, 0)], orders[min(best + 1, len(orders) - 1)]
        between = np.geomspace(*ends, _FINER + 2)[1:-1]
        orders = np.concatenate([ends[:1], between, ends[1:], orders[best : best + 1]])
        values = np.append(bounds(orders[:-1]), values[best])
        order = orders.argsort()
        orders, values = orders[order], values[order]
    best = int(np.argmin(values))
    return float(orders[best]), float(values[best])


def _exponents(total: LossSum, orders: Reals) -> Reals:
    """K(c) + c ln c - (1+c) ln(1+c) at orders c."""
    moments = np.array(
        [sum(n * log_moment(loss, float(c)) for loss, n in total.parts) for c in orders]
    )
    entropy = orders * np.log(orders / (1 + orders)) - np.log1p(orders)
    return np.where(np.isnan(moments), np.inf, moments) + entropy
