"""Many rounds of private dual averaging, seen as the noisy subgradients that the messages determine.

Whoever sees all messages knows g_t + σν_t of every round, up to public weights. Gradients are ±1 along
an axis, so one coordinate of each round is enough. Where one record is sampled, all others have the
gradient -1 and the differing one has it too, in one of the two worlds: then it shows the most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.records import Records
from dpcalc.auditing import Target, World
from dpcalc.auditing.targets.gaussian_release import gaussian_release
from dpcalc.auditing.targets.target import ImportanceSample, Noise
from dpcalc.audits.instances.noisy_steps import SIGN, Normal
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


def noisy_subgradients(attacked: Any, transcript: Any) -> Array:
    """What node 0 added in every round, along the differing record: g + σν; shape (runs, rounds).

    A message is z + a(g + σν) with public weights a and what was known before, z.
    """
    message, weights = transcript["message"], np.asarray(attacked.weights)
    W = attacked.problem.mix(np.eye(attacked.problem.nodes)[None])[0]  # dense or sparse as it is
    before = np.einsum("ij,rtjk->rtik", W[:1], message[:, :-1])[:, :, 0]
    z = np.concatenate([np.zeros_like(message[:, :1, 0]), before], axis=1)
    return np.asarray((message[:, :, 0] - z) / weights[None, :, None])[:, :, 0]


def sampled_target(attacked: Any, other: Records) -> Target:
    """One sampled record per round, attacked with the exact likelihood ratio.

    Runs on data with half of the node's records replaced by copies of the differing one draw it
    more often: they are the tilted runs. Other nodes see the same data in both worlds.

    Args:
        attacked: on the data of the world IN, record 0 of node 0 being the differing one.
        other: data of the world OUT.
    """
    records = attacked.problem.records
    pair = {World.IN: attacked, World.OUT: attacked.with_records(other)}
    q, half = records.sizes[0], -(-records.sizes[0] // 2)
    often = {
        world: data.with_records(_copied(data.problem.records, half))
        for world, data in pair.items()
    }
    own, more = (
        {
            w: Sampled(share / q, _gradient(data.problem.records), 1.0, attacked.sigma)
            for w, data in pair.items()
        }
        for share in (1, half)
    )

    def log_density(law: Sampled, transcript: Any) -> Array:
        return law.log_density(noisy_subgradients(attacked, transcript)).sum(axis=1)

    def ratio(transcript: Any) -> Array:
        return log_density(own[World.IN], transcript) - log_density(own[World.OUT], transcript)

    def tilted(
        world: World, _: float, moved: bool, generator: np.random.Generator, runs: int
    ) -> ImportanceSample:
        transcript = (often if moved else pair)[world].run(generator, runs=runs)
        here = log_density(own[world], transcript)
        return ImportanceSample(
            log_ratio=here - log_density(own[world.other], transcript),
            log_tilt=log_density(more[world], transcript) - here,
        )

    def noise(world: World, transcript: Any) -> Noise:
        seen = own[world].unit(noisy_subgradients(attacked, transcript))
        return Noise(unit=seen[:, :, None, None], law="gaussian")

    return Target(
        name=attacked.key,
        run=lambda world, generator, runs: pair[world].run(generator, runs=runs),
        adjacency=Adjacency.REPLACE_ONE,
        log_ratio=ratio,
        tilted=tilted,
        noise=noise,
        described="all other records point the other way",
    )


def _gradient(records: Records) -> float:
    """Of record 0, along the only axis on which records differ."""
    return -float(records.labels[0] * records.features[0, 0])


def _copied(records: Records, times: int) -> Records:
    """This many copies of record 0 at the head of its node."""
    for row in range(1, times):
        records = records.replaced(row, records.features[0], float(records.labels[0]))
    return records


def many_sampled_rounds(records: int, rounds: int, sigma: float, batch: int = 1) -> Target:
    """A batch of this many records drawn every round; released is the messages' likelihood ratio.

    The mean over a batch with the differing record is (SIGN - (b - 1))/b, over any other -1.
    """
    chance, drawn_mean = batch / records, {w: (SIGN[w] + 1) / batch - 1 for w in World}
    laws = {world: Sampled(chance, drawn_mean[world], -1.0, sigma) for world in World}

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        ratio, step = np.zeros(runs), max(_AT_ONCE // runs, 1)
        for start in range(0, rounds, step):
            shape = (runs, min(step, rounds - start))
            drawn = generator.random(shape) < chance
            seen = np.where(drawn, drawn_mean[world], -1.0) + sigma * generator.standard_normal(
                shape
            )
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
