"""Many rounds of private dual averaging, seen as the noisy subgradients that the messages determine.

Whoever sees all messages knows g_t + σν_t of every round, up to public weights. All records but one
have no gradient; that one's is ±1 along an axis, so one coordinate of each round is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing import Target, World
from dpcalc.audits.engine.descent import SIGN, Normal
from dpcalc.audits.engine.last_iterate import gaussian_release
from dpcalc.vocabulary import Adjacency

Array = NDArray[np.float64]

_AT_ONCE = 2_000_000  # numbers


def many_sampled_rounds(records: int, rounds: int, sigma: float) -> Target:
    """One of so many records sampled every round; released is the messages' likelihood ratio."""

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        ratio, step = np.zeros(runs), max(_AT_ONCE // runs, 1)
        for start in range(0, rounds, step):
            shape = (runs, min(step, rounds - start))
            drawn = generator.random(shape) < 1 / records
            seen = SIGN[world] * drawn + sigma * generator.standard_normal(shape)
            ratio += log_ratio(seen, records, sigma).sum(axis=1)
        return ratio

    return Target(
        name="private-dual-averaging",
        run=run,
        adjacency=Adjacency.REPLACE_ONE,
        log_ratio=lambda ratio: np.asarray(ratio),
        described="all other records without a gradient; the likelihood ratio of all messages",
    )


def log_ratio(seen: Array, records: int, sigma: float, sign: float = 1.0) -> Array:
    """Of ±1 with chance 1/q against its opposite with that chance, behind Gaussian noise."""
    here, there = (log_density(seen, 1 / records, sigma, s) for s in (sign, -sign))
    return np.asarray(here - there)


def log_density(seen: Array, chance: float, sigma: float, gradient: float) -> Array:
    """Of a gradient that is there by chance, over the density of the noise alone."""
    moved = gradient * (seen - gradient / 2) / sigma**2
    if chance == 1:
        return np.asarray(moved)
    return np.logaddexp(np.log1p(-chance), moved + np.log(chance))


def unit(seen: Array, chance: float, sigma: float, gradient: float) -> Array:
    """Standard normal numbers if that is the law: the probability integral transform."""
    from scipy.special import ndtr, ndtri

    z = [seen / sigma, (seen - gradient) / sigma]
    below = (1 - chance) * ndtr(z[0]) + chance * ndtr(z[1])
    above = (1 - chance) * ndtr(-z[0]) + chance * ndtr(-z[1])
    tail = ndtri(np.clip(np.minimum(below, above), 1e-300, 1.0))
    return np.where(below < above, tail, -tail)


def many_full_rounds(records: int, rounds: int, sigma: float) -> Target:
    """All records in every round; the sum of the noisy subgradients says all that they say."""
    mean, variance = rounds / records, rounds * sigma**2

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        total, step = np.full(runs, SIGN[world] * mean), max(_AT_ONCE // runs, 1)
        for start in range(0, rounds, step):
            shape = (runs, min(step, rounds - start))
            total += sigma * generator.standard_normal(shape).sum(axis=1)
        return total[:, None]

    laws = [[Normal(np.array([SIGN[w] * mean]), np.array([[variance]]))] for w in World]
    return gaussian_release(
        run,
        lambda total: np.asarray(total),
        *laws,
        name="private-dual-averaging",
        adjacency=Adjacency.REPLACE_ONE,
        described="all other records without a gradient; the sum of all noisy subgradients",
    )
