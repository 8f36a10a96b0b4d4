"""Valid, weaker bounds for requests that the inversion cannot bracket."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import LossLaw, Reals
from dpcalc.accounting.losses.density_pair import Loss
from dpcalc.accounting.renyi import failure, log_moment

METHOD = "weaker: Chernoff bound"
_ORDERS = 97
SMALLEST_DOUBLE = 5e-324
"""A positive bound that underflows must not become zero."""


def epsilon_by_chernoff(parts: Sequence[tuple[Loss, int]], delta: float) -> Bracket:
    """``δ(ε) <= e^{K(c) - cε} c^c/(1+c)^{1+c}`` at the best c > 0; at most the largest loss."""
    spare = delta - failure(parts)
    lower = epsilon_from_largest_loss(parts, delta)
    if spare <= 0:
        return Bracket(lower, math.inf, METHOD)
    orders, exponents = _exponents(parts)
    with np.errstate(over="ignore"):
        best = float(np.min((exponents - math.log(spare)) / orders)) * (1 + 1e-9)
    return Bracket(lower, max(0.0, min(best, largest_loss(parts))), METHOD)


def delta_by_chernoff(parts: Sequence[tuple[Loss, int]], epsilon: float) -> Bracket:
    """The same bound read as one of δ."""
    revealed = failure(parts)
    if epsilon >= largest_loss(parts):
        return Bracket(revealed * (1 - 1e-12), revealed, "no finite loss is larger")
    orders, exponents = _exponents(parts)
    logarithms = exponents - orders * epsilon
    slack = 1 + 1e-9 + 1e-15 * epsilon * float(orders[np.argmin(logarithms)])
    value = max(math.exp(min(float(logarithms.min()), 0.0)) * slack, SMALLEST_DOUBLE)
    return Bracket(revealed * (1 - 1e-12), min(1.0, revealed + value), METHOD)


def largest_loss(parts: Sequence[tuple[Loss, int]]) -> float:
    """At least the largest finite value of the summed loss."""
    return sum(n * part.supremum for part, n in parts) * (1 + 1e-12)


def epsilon_from_largest_loss(parts: Sequence[tuple[Loss, int]], delta: float) -> float:
    """A lower bound: ε at which the largest loss alone, of probability p, gives δ: sup + ln(1-δ/p)."""
    if not all(isinstance(loss, LossLaw) for loss, _ in parts):
        return 0.0
    laws = [(loss, count) for loss, count in parts if isinstance(loss, LossLaw)]
    top = math.prod(law.top_mass**count for law, count in laws)
    largest = math.fsum(count * law.supremum for law, count in laws) * (1 - 1e-14)
    return max(0.0, largest + math.log1p(-delta / top)) if top > delta else 0.0


def _exponents(parts: Sequence[tuple[Loss, int]]) -> tuple[Reals, Reals]:
    """Orders c and K(c) + c ln c - (1+c) ln(1+c)."""
    orders = np.geomspace(1e-6, 1e8, _ORDERS)
    moments = np.array([sum(n * log_moment(loss, float(c)) for loss, n in parts) for c in orders])
    entropy = orders * np.log(orders / (1 + orders)) - np.log1p(orders)
    total = np.where(np.isnan(moments), np.inf, moments) + entropy
    return orders, total
