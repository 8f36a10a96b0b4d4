"""Valid, weaker bounds by Chernoff's inequality, for what nothing else encloses.

At every order c > 0, with K(c) = ln E e^{cS}: ``δ(ε) <= e^{K(c) - cε} c^c/(1+c)^{1+c}``.
"""

from __future__ import annotations

import math

import numpy as np

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import SMALLEST_DOUBLE, EpsilonAt, Estimate, Query
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import Reals
from dpcalc.accounting.renyi import failure, log_moment

METHOD = "weaker: Chernoff bound"
_ORDERS = 97


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
    orders, exponents = _exponents(total)
    with np.errstate(over="ignore"):
        best = float(np.min((exponents - math.log(spare)) / orders)) * (1 + 1e-9)
    return Bracket(lower, max(0.0, min(best, total.largest)), METHOD)


def _delta(total: LossSum, epsilon: float) -> Bracket:
    revealed, surely = failure(total.parts), max(0.0, total.infinite_mass * (1 - 1e-12))
    if epsilon >= total.largest:
        return Bracket(surely, revealed, "no finite loss is larger")
    orders, exponents = _exponents(total)
    logarithms = exponents - orders * epsilon
    slack = 1 + 1e-9 + 1e-15 * epsilon * float(orders[np.argmin(logarithms)])
    value = max(math.exp(min(float(logarithms.min()), 0.0)) * slack, SMALLEST_DOUBLE)
    return Bracket(surely, min(1.0, revealed + value), METHOD)


def _exponents(total: LossSum) -> tuple[Reals, Reals]:
    """Orders c and K(c) + c ln c - (1+c) ln(1+c)."""
    orders = np.geomspace(1e-6, 1e8, _ORDERS)
    moments = np.array(
        [sum(n * log_moment(loss, float(c)) for loss, n in total.parts) for c in orders]
    )
    entropy = orders * np.log(orders / (1 + orders)) - np.log1p(orders)
    return orders, np.where(np.isnan(moments), np.inf, moments) + entropy
