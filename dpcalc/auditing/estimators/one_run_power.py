"""What guesses about the canaries of one run would have noticed.

Statement
    Under randomised response on every one of m canaries, N of them look used, N ~ Bin(m, 1/2), and
    given N every look is right with probability q = e^ε/(1 + e^ε), independently of the others. Of a
    guesses IN about those that look most used, (a - N)₊ are about canaries that do not look used, and
    of b guesses OUT (b - (m - N))₊ about canaries that do: these, K of them, are right with
    probability 1 - q alone. So V ~ Bin(r - K, q) + Bin(K, 1 - q), r = a + b. Where few canaries are
    guessed K is 0; where all are, about 0.4√m.
    Under the Gaussian mechanism on every canary scores are N(±μ/2, 1). Of the a canaries with the
    highest scores, given the score t next below them, every one was included with probability
    P(t) = 1/(1 + Φ(-t - μ/2)/Φ(μ/2 - t)), independently of the others, and t exceeds all but a share
    of scores that is Beta(a + 1, m - a); likewise of the b with the lowest. So V is a sum of two
    binomial counts, given both shares. Guesses that go by each canary alone have the shares a/m, b/m.
Source
    Derived here. N and the shares are drawn at evenly spaced quantiles, both shares by opposite
    ones: where all canaries are guessed, the more lie beyond one threshold, the fewer beyond the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.estimators.binomial import POWER, at_least, quantile, smallest_noticed

Array = NDArray[np.float64]

_FAR = 8.0  # standard deviations, and as many counts, beyond which nothing is looked for
_QUANTILES = 64  # of N; halving their number moves the power by less than .002


def smallest_response(
    refutes: Callable[[int], bool],
    canaries: int,
    guessed: int,
    guessed_in: int | None,
    *,
    claimed: float,
) -> float:
    """The ε of randomised response on every canary that is refuted 4 times in 5.

    Args:
        refutes: number of right guesses -> whether the claim is refuted; increasing.
        canaries: m, all of them.
        guessed: r.
        guessed_in: how many guesses say IN, of the canaries with the highest scores; None where
            every guess went by its canary alone, so that K is 0.
        claimed: where the search begins.
    """
    needed = _fewest(refutes, guessed)
    mistaken = _mistaken(canaries, guessed, guessed_in)
    return smallest_noticed(
        lambda epsilon: power(needed, guessed, mistaken, epsilon) >= POWER, claimed
    )


def smallest_gaussian(
    refutes: Callable[[int], bool],
    canaries: int,
    guessed: int,
    guessed_in: int | None,
    *,
    claimed: float,
) -> float:
    """The μ of the Gaussian mechanism on every canary that is refuted 4 times in 5.

    Args:
        refutes: number of right guesses -> whether the curve is refuted; increasing.
        canaries: m, all of them.
        guessed: r.
        guessed_in: how many guesses say IN, of the canaries with the highest scores; None where
            every guess went by its canary alone, as many IN as OUT.
        claimed: where the search begins.
    """
    needed = _fewest(refutes, guessed)
    if needed > guessed:
        return math.inf
    says_in = guessed // 2 if guessed_in is None else guessed_in
    sides = says_in, guessed - says_in
    first, last = (_shares(canaries, side, guessed_in is None) for side in sides)
    shares = [first, last[::-1]]
    return smallest_noticed(
        lambda mu: _power_of_gaussian(needed, sides, shares, mu) >= POWER, claimed
    )


def _shares(canaries: int, side: int, alone: bool) -> Array:
    """Values of the share of scores beyond the first that is not guessed so, equally likely."""
    from scipy.special import betaincinv

    if alone or side in (0, canaries):
        return np.full(_QUANTILES, side / canaries)
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return np.asarray(betaincinv(side + 1, canaries - side, levels))


def _power_of_gaussian(
    needed: int, sides: tuple[int, int], shares: list[Array], mu: float
) -> float:
    """P(V >= needed), by the shares of scores beyond both thresholds."""
    right = [_right_beyond(share, mu) for share in shares]
    return float(np.mean([_tail(needed, *sides, *each) for each in zip(*right, strict=True)]))


def _right_beyond(share: Array, mu: float) -> Array:
    """The chance that a canary was included whose score is beyond all but this share of scores."""
    from scipy.special import ndtr

    low, high = np.full(len(share), -mu / 2 - 12), np.full(len(share), mu / 2 + 12)
    for _ in range(60):
        middle = (low + high) / 2
        beyond = (ndtr(mu / 2 - middle) + ndtr(-mu / 2 - middle)) / 2 > share
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.asarray(ndtr(mu / 2 - low) / (ndtr(mu / 2 - low) + ndtr(-mu / 2 - low)))


def _fewest(refutes: Callable[[int], bool], guessed: int) -> int:
    """The fewest right guesses that refute; one more than all if none do."""
    few, needed = -1, guessed + 1
    while needed - few > 1:
        middle = (few + needed) // 2
        if refutes(middle):
            needed = middle
        else:
            few = middle
    return needed


def power(needed: int, guessed: int, mistaken: NDArray[np.int64], epsilon: float) -> float:
    """P(V >= needed).

    Args:
        needed: right guesses that refute.
        guessed: r.
        mistaken: equally likely values of K; any shape.
        epsilon: of randomised response on every canary.
    """
    right, wrong = 1 / (1 + np.exp(-epsilon)), 1 / (1 + np.exp(epsilon))
    values, often = np.unique(mistaken, return_counts=True)
    tails = [_tail(needed, guessed - k, k, right, wrong) for k in values.tolist()]
    return float(often @ np.array(tails) / often.sum())


def _tail(needed: int, first: int, second: int, chance: float, other: float) -> float:
    """P(Bin(first, chance) + Bin(second, other) >= needed)."""
    missing = needed - first * chance - second * other
    spread = second * other * (1 - other)
    if abs(missing) > _FAR * math.sqrt(first * chance * (1 - chance) + spread) + _FAR:
        return float(missing < 0)
    far = _FAR * math.sqrt(spread) + _FAR
    low = max(math.floor(second * other - far), 0)
    counted = np.arange(low, min(math.ceil(second * other + far), second) + 1)
    beyond = at_least(counted, second, other)
    law = beyond - np.append(beyond[1:], 0.0)
    return float(law @ at_least(needed - counted, first, chance))


def _mistaken(canaries: int, guessed: int, guessed_in: int | None) -> NDArray[np.int64]:
    """Values of K at evenly spaced quantiles of N."""
    if guessed_in is None:
        return np.zeros(1, np.int64)
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    used = quantile(levels, canaries, np.full(_QUANTILES, 0.5)).astype(np.int64)
    unused = canaries - used
    return np.maximum(guessed_in - used, 0) + np.maximum(guessed - guessed_in - unused, 0)
