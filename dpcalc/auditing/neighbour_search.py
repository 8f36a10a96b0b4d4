"""Looking for the worst pair of neighbours, on runs that no bound counts.

Which record differs, its sign, scale and label decide how much an audit can see. Candidates are
ranked on runs of their own, so that the audit of the winner may spend all of its error probability:
the choice does not depend on what it counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcalc import checks
from dpcalc.auditing.estimators import accuracy
from dpcalc.auditing.learning.linear import linear_score
from dpcalc.auditing.sampling.runner import Stage, generator, observe
from dpcalc.auditing.targets.target import Array, Target, World, features
from dpcalc.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedTarget:
    """A target and how well its worlds could be told apart.

    Attributes:
        target: one pair of neighbours.
        mu: estimate of the Gaussian curve's μ on the search runs; no bound.
    """

    target: Target
    mu: float


def rank_neighbours(
    targets: Sequence[Target], *, seed: int, runs: int = 400
) -> tuple[RankedTarget, ...]:
    """The targets, the most distinguishable first.

    Example::

        import numpy as np
        from dpcalc.auditing import mechanism, rank_neighbours
        def release(data, generator, runs):
            return data.sum() + generator.laplace(size=runs)
        targets = [
            mechanism(release, np.ones(3), np.full(2, last), adjacency="add-remove", name=str(last))
            for last in (1, 0)
        ]
        print(rank_neighbours(targets, seed=1)[0].target.name)

    Args:
        targets: one mechanism with different neighbours.
        seed: of the audit; search runs share no random number with its other stages.
        runs: per target, both worlds together.

    Returns:
        The targets with how well their worlds could be told apart.

    Raises:
        InvalidInput: if there is nothing to rank, or fewer than 20 runs.
    """
    if not targets:
        raise InvalidInput("expected at least one target; got none")
    checks.count("runs", runs, minimum=20)
    found = [
        RankedTarget(target=target, mu=_separation(target, seed, number, runs))
        for number, target in enumerate(targets)
    ]
    return tuple(sorted(found, key=lambda candidate: -candidate.mu))


def _separation(target: Target, seed: int, number: int, runs: int) -> float:
    """√V from tilted runs, √(2·mean L) from ratios, else 2Φ⁻¹(accuracy) of a learnt score."""
    from scipy.special import ndtri

    if target.tilted is not None:
        draw = generator(seed, Stage.SEARCH, number)
        trial = target.tilted(World.IN, 1.0, False, draw, max(runs // 8, 10))
        return math.sqrt(max(float(np.mean(trial.log_ratio - trial.log_tilt)), 0.0))
    if target.log_ratio is not None:
        ratios = target.log_ratio(
            target.run(World.IN, generator(seed, Stage.SEARCH, number), runs // 2)
        )
        return math.sqrt(2 * max(float(np.mean(np.clip(ratios, -700, 700))), 0.0))
    score = target.score
    if score is None:
        seen: dict[World, Array] = {}
        for part, world in enumerate(World, start=1):
            draw = generator(seed, Stage.SEARCH, 2 * number, part)
            seen[world] = features(target.run(world, draw, runs // 4))
        learnt = linear_score(seen[World.IN], seen[World.OUT])
        score = lambda outputs: learnt(features(outputs))  # noqa: E731
    trial_runs = observe(
        target, score, seed=seed, stage=Stage.SEARCH, batch=2 * number + 1, runs=runs // 2
    )
    counts = trial_runs.counts(accuracy.choose_threshold(trial_runs))
    share = float(counts.correct) / float(counts.runs)
    return max(2 * float(ndtri(min(share, 1 - 1e-9))), 0.0)
