"""Rényi divergences of one guarantee at many orders, fast where a formula serves all of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.losses.closed_moments import response_moments
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.accounting.losses.many_moments import moments_of_round
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.pure import PureDP
from dpcalc.guarantees.renyi import RDP, ZCDP
from dpcalc.numerals import at_least
from dpcalc.numerics.arithmetic import own_arithmetic

Array = NDArray[np.float64]

_TINY = 2e-323
"""More than what the few terms of a chord lose where they are no normal doubles."""


@own_arithmetic
def divergences(guarantee: Guarantee, orders: Array) -> Array:
    """Upper bounds of the divergences at orders above 1, which increase; infinite where unknown.

    Rounding: in doubles, enlarged by more than they may be off, for mechanisms and for bare
    guarantees; of others as `Guarantee.renyi`.
    """
    with np.errstate(over="ignore"):
        match guarantee:
            case GDP(mu=mu) if 0 < mu < math.inf:
                return _up(orders * mu * mu / 2)
            case ZCDP(rho=rho) if 0 < rho < math.inf:
                return _up(orders * rho)
            case PureDP(bound=bound) if 0 < bound < math.inf:
                bound = at_least(bound)
                return _at_most(bound, response_moments(bound, orders), orders)
            case RDP(points=points) if points:
                return _between(points, orders)
            case DominatedMechanism():
                found = _of_mechanism(guarantee, orders)
                if found is not None:
                    return _at_most(guarantee.largest, found, orders)
    return np.array([float(guarantee.renyi(float(order))) for order in orders])


def _at_most(largest: float, log_moments: Array, orders: Array) -> Array:
    """The divergences of log-moments, none above the largest loss."""
    return np.minimum(_up(log_moments / (orders - 1)), largest)


def _of_mechanism(guarantee: DominatedMechanism, orders: Array) -> Array | None:
    """The larger of the log-moments of its directions; None where a loss has no formula here.

    What bounds a record that is removed bounds one that is added, which is left out.
    """
    losses: set[PrivacyLoss] = set()
    for direction in guarantee.directions:
        loss, count = direction[0]
        if len(direction) > 1 or count != 1:
            return None
        losses.add(PoissonRemove(loss.sigma, loss.rate) if isinstance(loss, PoissonAdd) else loss)
    found = [moments_of_round(loss, orders) for loss in losses]
    known = [moments for moments in found if moments is not None]
    return np.max(known, axis=0) if len(known) == len(found) else None


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


def _up(values: Array) -> Array:
    """Three units in the last place: two roundings, each of half a unit, and more."""
    for _ in range(3):
        values = np.nextafter(values, math.inf)
    return values
