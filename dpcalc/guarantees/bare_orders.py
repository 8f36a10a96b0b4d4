"""Rényi divergences of guarantees that are bare bounds, at many orders at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.losses.closed_moments import response_moments
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.pure import PureDP
from dpcalc.guarantees.renyi import RDP, ZCDP
from dpcalc.numerals import at_least
from dpcalc.numerics.arithmetic import own_arithmetic

Array = NDArray[np.float64]

_TINY = 2e-323
"""More than what the few terms of a chord lose where they are no normal doubles."""


@own_arithmetic
def bare_divergences(guarantee: Guarantee, orders: Array) -> Array:
    """Upper bounds of the divergences at orders above 1, which increase; infinite where unknown.

    Rounding: in doubles, enlarged by more than they may be off; of other guarantees as
    `Guarantee.renyi`.
    """
    with np.errstate(over="ignore"):
        match guarantee:
            case GDP(mu=mu) if 0 < mu < math.inf:
                return up(orders * mu * mu / 2)
            case ZCDP(rho=rho) if 0 < rho < math.inf:
                return up(orders * rho)
            case PureDP(bound=bound) if 0 < bound < math.inf:
                bound = at_least(bound)
                return at_most_loss(bound, response_moments(bound, orders), orders)
            case RDP(points=points) if points:
                return _between(points, orders)
    return np.array([float(guarantee.renyi(float(order))) for order in orders])


def at_most_loss(largest: float, log_moments: Array, orders: Array) -> Array:
    """The divergences of log-moments, none above the largest loss."""
    return np.minimum(up(log_moments / (orders - 1)), largest)


def _between(points: tuple[tuple[float, float], ...], orders: Array) -> Array:
    """Chords of (α-1)β(α), as in `RDP.from_points`; sums of positive terms, perhaps denormal ones."""
    known, betas = np.array(points).T
    right = np.searchsorted(known, orders)
    found = np.full(len(orders), math.inf)
    found[right == 0] = betas[0]
    for place in np.flatnonzero((right > 0) & (right < len(known))):
        k, x = right[place], orders[place] - 1
        a, b = known[k - 1] - 1, known[k] - 1
        if x == b:
            found[place] = betas[k]
            continue
        left, rest = a / x * ((b - x) / (b - a)), b / x * ((x - a) / (b - a))
        found[place] = (left * betas[k - 1] + rest * betas[k]) * (1 + 1e-14) + _TINY
    return found


def up(values: Array) -> Array:
    """Three units in the last place: two roundings, each of half a unit, and more."""
    for _ in range(3):
        values = np.nextafter(values, math.inf)
    return values
