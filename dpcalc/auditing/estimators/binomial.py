"""Exact confidence limits of a success probability.

Statement
    With k of n successes the lower limit p solves P(Bin(n, p) >= k) = α, the upper one
    P(Bin(n, p) <= k) = α; each is crossed by the truth with probability at most α.
Source
    Clopper and Pearson 1934.
Rounding
    The inverse incomplete beta function is accurate to about 1e-14; limits are moved outward by
    1e-12 relative.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

POWER = 0.8
"""Probability with which a design is asked to notice a violation."""

SOUGHT = 0.9
"""What the best rule must have, so that one sought on a pilot has `POWER`: it loses a part of it."""

SOUGHT_OF_LAPLACE = 0.99
"""The same for Laplace noise, where the best rule passes runs over and a sought one passes too many."""

SOUGHT_OF_LEARNT = 0.86
"""The same for two rules, one that answers half as many runs, of which learning finds either."""

UNTAUGHT_LAPLACE, UNTAUGHT_GAUSSIAN, UNTAUGHT_CURVE = 20, 320, 60
"""Answers at which a rule sought on a pilot finds half of them, of a mechanism that seldom answers."""

FEWEST_TAUGHT = 100
"""Answers of a mechanism that seldom answers below which no power is stated if none repeats."""

_OUTWARD = 1e-12


def taught(telling: float, half: int) -> float:
    """The share of so many answers that is left to a rule which was sought on a pilot.

    Args:
        telling: runs in which there is an answer.
        half: the number at which half are left, by simulation.
    """
    return telling / (telling + half)


def lower_limit(successes: ArrayLike, trials: ArrayLike, alpha: float) -> Array:
    """The lower limit; 0 without successes. Arguments broadcast."""
    from scipy.special import betaincinv

    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    limit = betaincinv(np.maximum(k, 1), n - np.maximum(k, 1) + 1, alpha)
    return np.asarray(np.where(k > 0, limit * (1 - _OUTWARD), 0.0))


def upper_limit(successes: ArrayLike, trials: ArrayLike, alpha: float) -> Array:
    """The upper limit; 1 without failures. Arguments broadcast."""
    from scipy.special import betainccinv

    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    limit = betainccinv(k + 1, np.maximum(n - k, 1), alpha)
    return np.asarray(np.where(k < n, np.minimum(limit * (1 + _OUTWARD), 1.0), 1.0))


def at_least(successes: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> Array:
    """P(Bin(trials, chance) >= successes)."""
    from scipy.special import betainc

    k, n = np.asarray(successes, float), np.asarray(trials, float)
    inside = betainc(np.maximum(k, 1), np.maximum(n - k, 0) + 1, chance)
    return np.asarray(np.where(k <= 0, 1.0, np.where(k > n, 0.0, inside)))


def critical_count(trials: int, chance: float, alpha: float) -> int:
    """The smallest k with P(Bin(trials, chance) >= k) <= α; trials + 1 if there is none."""
    low, high = 0, trials + 1
    while high - low > 1:
        middle = (low + high) // 2
        if float(at_least(middle, trials, chance)) <= alpha:
            high = middle
        else:
            low = middle
    return high


def quantile(probability: Array | float, trials: int, chance: ArrayLike) -> Array:
    """The smallest k with P(Bin(trials, chance) <= k) >= probability; shape of ``chance``."""
    p = np.atleast_1d(np.asarray(chance, float))
    low = np.full(p.shape, -1.0)
    high = np.full(p.shape, float(trials))
    while (high - low).max() > 1:
        middle = np.floor((low + high) / 2)
        enough = 1 - at_least(middle + 1, trials, p) >= probability
        high = np.where(enough, middle, high)
        low = np.where(enough, low, middle)
    return high.reshape(np.shape(chance))


def chance_for_power(needed: int, trials: int, power: float = POWER) -> float:
    """The success probability at which ``needed`` successes are reached with this power."""
    from scipy.special import betaincinv

    if needed > trials:
        return math.inf
    return float(betaincinv(needed, trials - needed + 1, power)) if needed > 0 else 0.0


def smallest_noticed(notices: Callable[[float], bool], start: float, most: float = 60.0) -> float:
    """The smallest value that a design notices, to 0.1 per cent above; infinite beyond ``most``.

    Args:
        notices: whether a value is noticed with enough power; increasing.
        start: the claimed value.
        most: where the search gives up.
    """
    if not math.isfinite(start):
        return math.inf
    low, high = start, max(start * 1.25, start + 0.05)
    while not notices(high):
        low, high = high, high * 1.5
        if high > most:
            return math.inf
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        if notices(middle):
            high = middle
        else:
            low = middle
    return high
