"""Rényi divergences of one guarantee at many orders, fast where a formula serves all of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.losses.sampled_moments import log_moments
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonPair, PoissonRemove
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.dominated import DominatedMechanism
from dpcalc.guarantees.gdp import GDP
from dpcalc.numerics.arithmetic import own_arithmetic

Array = NDArray[np.float64]


@own_arithmetic
def divergences(guarantee: Guarantee, orders: Array) -> Array:
    """Upper bounds of the divergences at orders above 1, which increase; infinite where unknown.

    Rounding: Gaussian and Poisson-sampled Gaussian noise in doubles, enlarged by more than they may
    be off; of others as `Guarantee.renyi`.
    """
    if isinstance(guarantee, GDP) and 0 < guarantee.mu < math.inf:
        with np.errstate(over="ignore"):
            return _up(orders * guarantee.mu * guarantee.mu / 2)
    pairs = _sampled(guarantee)
    if pairs:
        found = np.max([log_moments(pair, orders) for pair in pairs], axis=0)
        return _up(found / (orders - 1))
    return np.array([float(guarantee.renyi(float(order))) for order in orders])


def _sampled(guarantee: Guarantee) -> set[PoissonPair]:
    """The pairs of one Poisson-sampled round; none for anything else.

    What bounds a record that is removed bounds one that is added, which is left out.
    """
    found: set[PoissonPair] = set()
    for losses in guarantee.directions if isinstance(guarantee, DominatedMechanism) else ():
        pair, count = losses[0] if len(losses) == 1 else (None, 0)
        if not isinstance(pair, PoissonPair) or count != 1:
            return set()
        found.add(PoissonRemove(pair.sigma, pair.rate) if isinstance(pair, PoissonAdd) else pair)
    return found


def _up(values: Array) -> Array:
    """Three units in the last place: two roundings, each of half a unit, and more."""
    for _ in range(3):
        values = np.nextafter(values, math.inf)
    return values
