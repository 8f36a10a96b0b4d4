"""Many rounds of private dual averaging, seen as the noisy subgradients that the messages determine.

Whoever sees all messages knows g_t + σν_t of every round, up to public weights. Gradients are ±1 along
an axis, so one coordinate of each round is enough. Where one record is sampled, all others have the
gradient -1 and the differing one has it too, in one of the two worlds: then it shows the most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing import Target, World
from dpcalc.audits.engine.descent import SIGN, Normal
from dpcalc.audits.engine.last_iterate import gaussian_release
from dpcalc.vocabulary import Adjacency

Array = NDArray[np.float64]

_AT_ONCE = 2_000_000  # numbers


@dataclass(frozen=True, slots=True)
class Sampled:
    """What one round shows: a gradient that is drawn by chance, else the others', and noise.

    Attributes:
        chance: of the differing record.
        gradient: of that record.
        others: gradient of all others.
        sigma: standard deviation of the noise.
    """

    chance: float
    gradient: float
    others: float
    sigma: float

    def log_density(self, seen: Array) -> Array:
        """Over the density of the noise alone, number by number."""
        own, rest = (g * (seen - g / 2) / self.sigma**2 for g in (self.gradient, self.others))
        if self.chance == 1 or self.gradient == self.others:
            return np.asarray(own)
        return np.logaddexp(rest + np.log1p(-self.chance), own + np.log(self.chance))

    def unit(self, seen: Array) -> Array:
        """Standard normal numbers if that is the law: the probability integral transform."""
        from scipy.special import ndtr, ndtri

        z = [(seen - g) / self.sigma for g in (self.others, self.gradient)]
        below, above = (
            (1 - self.chance) * ndtr(sign * z[0]) + self.chance * ndtr(sign * z[1])
            for sign in (1, -1)
        )
        tail = ndtri(np.clip(np.minimum(below, above), 1e-300, 1.0))
        return np.where(below < above, tail, -tail)


def many_sampled_rounds(records: int, rounds: int, sigma: float) -> Target:
    """One of so many records sampled every round; released is the messages' likelihood ratio."""
    laws = {world: Sampled(1 / records, SIGN[world], -1.0, sigma) for world in World}

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        ratio, step = np.zeros(runs), max(_AT_ONCE // runs, 1)
        for start in range(0, rounds, step):
            shape = (runs, min(step, rounds - start))
            drawn = generator.random(shape) < 1 / records
            seen = np.where(drawn, SIGN[world], -1.0) + sigma * generator.standard_normal(shape)
            ratio += laws[World.IN].log_density(seen).sum(axis=1)
            ratio -= laws[World.OUT].log_density(seen).sum(axis=1)
        return ratio

    return Target(
        name="private-dual-averaging",
        run=run,
        adjacency=Adjacency.REPLACE_ONE,
        log_ratio=lambda ratio: np.asarray(ratio),
        described="all other records point the other way; the likelihood ratio of all messages",
    )


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
