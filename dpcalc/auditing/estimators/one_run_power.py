"""What guesses about the canaries of one run would have noticed.

Statement
    Under randomised response on every one of m canaries, N of them look used, N ~ Bin(m, 1/2), and
    given N every look is right with probability q = e^ε/(1 + e^ε), independently of the others. Of a
    guesses IN about those that look most used, (a - N)₊ are about canaries that do not look used, and
    of b guesses OUT (b - (m - N))₊ about canaries that do: these, K of them, are right with
    probability 1 - q alone. So V ~ Bin(r - K, q) + Bin(K, 1 - q), r = a + b. Where few canaries are
    guessed K is 0; where all are, about 0.4√m.
Source
    Derived here. N is drawn at evenly spaced quantiles.
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
    few, needed = -1, guessed + 1
    while needed - few > 1:
        middle = (few + needed) // 2
        if refutes(middle):
            needed = middle
        else:
            few = middle
    mistaken = _mistaken(canaries, guessed, guessed_in)
    return smallest_noticed(
        lambda epsilon: power(needed, guessed, mistaken, epsilon) >= POWER, claimed
    )


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
    tails = [_tail(needed, guessed - k, right, k, wrong) for k in values.tolist()]
    return float(often @ np.array(tails) / often.sum())


def _tail(needed: int, clear: int, right: float, mistaken: int, wrong: float) -> float:
    """P(Bin(clear, right) + Bin(mistaken, wrong) >= needed)."""
    missing = needed - clear * right - mistaken * wrong
    if abs(missing) > _FAR * math.sqrt((clear + mistaken) * right * wrong) + _FAR:
        return float(missing < 0)
    spread = _FAR * math.sqrt(mistaken * right * wrong) + _FAR
    low = max(math.floor(mistaken * wrong - spread), 0)
    by_luck = np.arange(low, min(math.ceil(mistaken * wrong + spread), mistaken) + 1)
    beyond = at_least(by_luck, mistaken, wrong)
    law = beyond - np.append(beyond[1:], 0.0)
    return float(law @ at_least(needed - by_luck, clear, right))


def _mistaken(canaries: int, guessed: int, guessed_in: int | None) -> NDArray[np.int64]:
    """Values of K at evenly spaced quantiles of N."""
    if guessed_in is None:
        return np.zeros(1, np.int64)
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    used = quantile(levels, canaries, np.full(_QUANTILES, 0.5)).astype(np.int64)
    unused = canaries - used
    return np.maximum(guessed_in - used, 0) + np.maximum(guessed - guessed_in - unused, 0)
