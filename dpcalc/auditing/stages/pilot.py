"""Pilot runs: on them scores and rules are chosen, and none of them is counted."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Generator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing.estimators.rule_choice import Promise
from dpcalc.auditing.learning.choice import best, candidates
from dpcalc.auditing.learning.repeats import hashes
from dpcalc.auditing.sampling.looks import every_run, looked
from dpcalc.auditing.sampling.observations import Observations
from dpcalc.auditing.sampling.runner import (
    Measure,
    Score,
    Stage,
    make,
    numbered,
    observe,
    sizes,
)
from dpcalc.auditing.targets.target import LOST, Outputs, Target, World, numbers_of
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from dpcalc.store import Store

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pilot:
    """A score, and runs on which rules are chosen; none of them is counted.

    Attributes:
        score: released -> one number per run, the larger the more it looks like IN.
        trial: runs that taught the score nothing, except which of several is best.
        learnt: what a learnt score looks at, and on how many runs; empty for the target's own.
        values: what each run of the trial released, one number for equal releases, or the value of the
            target's own score; shape (runs,).
        with_nan: runs of the trial that released NaN, which a learnt score counts as an outcome.
    """

    score: Score
    trial: Observations
    values: NDArray[np.generic]
    learnt: str = ""
    with_nan: int = 0


def pilot(
    target: Target,
    *,
    seed: int,
    runs: int,
    promise: Callable[[Observations], Promise],
    size: int | None = None,
    executor: Executor | None = None,
    store: Store | None = None,
) -> Pilot:
    """The target's own score, in the direction that promises more, or the best that is learnt.

    Learnt scores come from the first half of the pilot and are compared on the second.

    Args:
        target: what is attacked.
        seed: of the experiment.
        runs: pilot runs.
        promise: observations -> how large a bound from such scores would be.
        size: runs per batch; one batch if left out.
        executor: who makes the runs; this process if left out.
        store: where they are kept.
    """
    checks.count("pilot runs", runs, minimum=20)
    where: dict[str, Any] = {"executor": executor, "store": store}

    def tried(score: Score, *, exact: bool = False) -> Observations:
        pilots: dict[str, Any] = {"stage": Stage.PILOT, "runs": runs, "size": size}
        return observe(target, score, seed=seed, exact=exact, **pilots, **where)

    if target.log_ratio is not None:
        return _of_scores(target.log_ratio, tried(target.log_ratio, exact=True))
    if target.score is not None:
        own = target.score
        trial = tried(own)
        turned = trial.with_score(-trial.score)
        if promise(turned).bound > promise(trial).bound:
            return _of_scores(lambda outputs: -np.asarray(own(outputs), float), turned)
        return _of_scores(own, trial)
    half = runs // 2
    # Two runs say how many numbers all others release.
    width = looked(target, World.IN, seed, 8, 2).shape[1]
    numbers = partial(_numbers, target, width)
    with contextlib.closing(
        _halves(target, numbers, seed, size, where, half, runs - half)
    ) as halves:
        scores = candidates(*_in_both_worlds(*next(halves), half))
        flags, released = next(halves)

    def promised(values: Array) -> Promise:
        return promise(Observations(is_in=flags, score=values, fair_coins=True))

    name, score = best(scores, released, flags, promised)
    return Pilot(
        score=lambda outputs: score(numbers_of(target, outputs, width)),
        trial=Observations(is_in=flags, score=score(released), fair_coins=True),
        learnt=f"{name}, learnt on {half} runs and tried on {runs - half}",
        values=hashes(released),
        with_nan=int((released == LOST).any(axis=1).sum()),
    )


def _of_scores(score: Score, trial: Observations) -> Pilot:
    return Pilot(score=score, trial=trial, values=trial.score)


def _in_both_worlds(is_in: NDArray[np.bool_], released: Array, runs: int) -> tuple[Array, Array]:
    """What pilot runs released in the worlds IN and OUT."""
    if not 1 < int(is_in.sum()) < runs - 1:
        raise InvalidInput(f"expected pilot runs in both worlds; got runs={runs}; make more")
    return released[is_in], released[~is_in]


def _halves(
    target: Target,
    numbers: Measure,
    seed: int,
    size: int | None,
    where: dict[str, Any],
    *halves: int,
) -> Generator[tuple[NDArray[np.bool_], Array], None, None]:
    """Which world each run was in, and what it released; workers go on while a half is looked at."""
    wanted = [numbered(k, sizes(runs, size or runs)) for k, runs in enumerate(halves)]
    made = make(
        target,
        numbers,
        seed=seed,
        stage=Stage.PILOT,
        wanted=[batch for half in wanted for batch in half],
        **where,
    )
    with contextlib.closing(made):
        for half in wanted:
            found = list(itertools.islice(made, len(half)))
            yield (
                np.concatenate([b.is_in for b in found]),
                np.concatenate([b.values for b in found]),
            )


def _numbers(target: Target, width: int, outputs: Outputs, runs: int) -> Array:
    return every_run(target, outputs, runs, width)
