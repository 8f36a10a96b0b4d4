"""Runs of both worlds, in batches that only depend on the seed and their number.

Every run's world is drawn by its own fair coin, and the two worlds draw from separate generators.
Batch k of a stage holds the same runs whether it is made at once, after an interruption, or with
more batches behind it; so the same seed gives the same verdict.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.archive import held_alone
from dpcalc.auditing.kept import KeptRuns
from dpcalc.auditing.learning.choice import best, candidates
from dpcalc.auditing.observations import Observations
from dpcalc.auditing.target import Outputs, Target, World, numbers_of
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    import os

Array = NDArray[np.float64]
Score = Callable[[Outputs], Array]
Inspect = Callable[[World, Outputs], None]


class Stage(IntEnum):
    """What runs are for; runs of different stages share no random number."""

    CHECKS = 0
    PILOT = 1
    COUNTED = 2
    TILTED = 3
    SEARCH = 4


def new_seed() -> int:
    """A seed from the operating system, short enough to be copied from a report."""
    return secrets.randbits(63)


def generator(seed: int, stage: Stage, batch: int = 0, part: int = 0) -> np.random.Generator:
    """The generator of a part of a batch: independent of all others, and of nothing else."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stage, batch, part)))


def observe(
    target: Target,
    score: Score,
    *,
    seed: int,
    stage: Stage,
    batch: int = 0,
    runs: int,
    exact: bool = False,
    inspect: Inspect | None = None,
) -> Observations:
    """One batch: coins, runs of both worlds, scores.

    Args:
        target: what is attacked.
        score: released -> one number per run.
        seed: of the experiment.
        stage: what the runs are for.
        batch: number of the batch.
        runs: runs in it.
        exact: whether the score is the exact log-likelihood ratio.
        inspect: shown what was released in each world, e.g. to look at the noise.
    """
    checks.count("runs", runs)
    is_in = generator(seed, stage, batch).random(runs) < 0.5
    scores = np.empty(runs)
    for part, world in enumerate(World, start=1):
        chosen = is_in if world is World.IN else ~is_in
        count = int(chosen.sum())
        if not count:
            continue
        outputs = target.run(world, generator(seed, stage, batch, part), count)
        scores[chosen] = _one_each(target, "score", score(outputs), count)
        if inspect is not None:
            inspect(world, outputs)
    return Observations(is_in=is_in, score=scores, fair_coins=True, exact=exact)


def batches(
    target: Target,
    score: Score,
    *,
    seed: int,
    runs: int,
    size: int,
    exact: bool = False,
    inspect: Inspect | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Iterator[Observations]:
    """The counted runs batch by batch; those in the checkpoint are read, not made again.

    The first batch is always made: its noise is looked at, and a target that does not repeat itself
    from the same seed is found out.

    Args:
        target: what is attacked.
        score: released -> one number per run.
        seed: of the experiment.
        runs: counted runs in all.
        size: runs per batch; the last may be smaller.
        exact: whether the score is the exact log-likelihood ratio.
        inspect: shown the first batch; see `observe`.
        checkpoint: a file that holds the batches done so far, held by this process alone; their
            number and the planned one stay as they were begun, and no further batch follows those
            that were judged early.
    """
    with contextlib.ExitStack() as stack:
        saved = None
        if checkpoint:
            stack.enter_context(held_alone(checkpoint))
            saved = KeptRuns(Path(checkpoint), target.name, seed, size, runs)
        made = partial(observe, target, score, seed=seed, stage=Stage.COUNTED, exact=exact)
        yield from _batches(made, saved, sizes=_sizes(runs, size), inspect=inspect)


def _sizes(runs: int, size: int) -> list[int]:
    """How many runs each batch has."""
    return [min(size, runs - start) for start in range(0, runs, size)]


def _batches(
    make: Callable[..., Observations],
    saved: KeptRuns | None,
    *,
    sizes: Sequence[int],
    inspect: Inspect | None,
) -> Iterator[Observations]:
    done, judged = saved.load() if saved else ([], False)
    for number, count in enumerate(sizes):
        old = done[number] if number < len(done) and done[number].runs == count else None
        if old is not None and number > 0:
            yield old
            continue
        if judged and number >= len(done):
            return
        made = make(batch=number, runs=count, inspect=inspect if number == 0 else None)
        if saved and old is not None and not np.array_equal(old.score, made.score):
            raise InvalidInput(
                f"the same runs from the same seed were needed; target {saved.target!r} released "
                f"others than {str(saved.path)!r} holds; take all randomness from the generator"
            )
        if saved and old is None:
            done = [*done[:number], made]
            saved.store(done)
        yield made


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pilot:
    """A score, and runs on which rules are chosen; none of them is counted.

    Attributes:
        score: released -> one number per run, the larger the more it looks like IN.
        trial: runs that taught the score nothing, except which of several is best.
        learnt: what a learnt score looks at, and on how many runs; empty for the target's own.
    """

    score: Score
    trial: Observations
    learnt: str = ""


def pilot(
    target: Target, *, seed: int, runs: int, promise: Callable[[Observations], float]
) -> Pilot:
    """The target's own score, in the direction that promises more, or the best that is learnt.

    Learnt scores come from the first half of the pilot and are compared on the second.

    Args:
        target: what is attacked.
        seed: of the experiment.
        runs: pilot runs.
        promise: observations -> how large a bound from such scores would be.
    """
    checks.count("pilot runs", runs, minimum=20)
    if target.log_ratio is not None:
        trial = observe(
            target, target.log_ratio, seed=seed, stage=Stage.PILOT, runs=runs, exact=True
        )
        return Pilot(score=target.log_ratio, trial=trial)
    if target.score is not None:
        own = target.score
        trial = observe(target, own, seed=seed, stage=Stage.PILOT, runs=runs)
        turned = trial.with_score(-trial.score)
        if promise(turned) > promise(trial):
            return Pilot(score=lambda outputs: -np.asarray(own(outputs), float), trial=turned)
        return Pilot(score=own, trial=trial)
    half = runs // 2
    scores = candidates(*_released(target, seed, 0, half))
    flags, released = _labelled(target, seed, 1, runs - half)

    def promised(values: Array) -> float:
        return promise(Observations(is_in=flags, score=values, fair_coins=True))

    name, score = best(scores, released, promised)
    return Pilot(
        score=lambda outputs: score(numbers_of(target, outputs)),
        trial=Observations(is_in=flags, score=score(released), fair_coins=True),
        learnt=f"{name}, learnt on {half} runs and tried on {runs - half}",
    )


def _released(target: Target, seed: int, batch: int, runs: int) -> tuple[Array, Array]:
    """What pilot runs released in the worlds IN and OUT."""
    flags, released = _labelled(target, seed, batch, runs)
    if not 1 < int(flags.sum()) < runs - 1:
        raise InvalidInput(f"pilot runs in both worlds were needed; got runs={runs}; make more")
    return released[flags], released[~flags]


def _labelled(target: Target, seed: int, batch: int, runs: int) -> tuple[NDArray[np.bool_], Array]:
    """Which world each of a batch of pilot runs was in, and what it released."""
    kept: dict[World, Array] = {}

    def remember(world: World, outputs: Outputs) -> None:
        kept[world] = numbers_of(target, outputs)

    nothing: Score = lambda outputs: np.zeros(len(numbers_of(target, outputs)))  # noqa: E731
    seen = observe(
        target, nothing, seed=seed, stage=Stage.PILOT, batch=batch, runs=runs, inspect=remember
    )
    width = next(iter(kept.values())).shape[1]
    released = np.empty((runs, width))
    for world, values in kept.items():
        released[seen.is_in == (world is World.IN)] = values
    return seen.is_in, released


def _one_each(target: Target, what: str, values: Array, runs: int) -> Array:
    """One number per run, or an error that names the callable at fault."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (runs,):
        raise InvalidInput(
            f"one {what} per run was needed from target {target.name!r}, shape ({runs},); got "
            f"shape={array.shape!r}; keep the runs axis first and reduce all others"
        )
    lost = int(np.isnan(array).sum())
    if lost:
        raise InvalidInput(
            f"numbers were needed as the {what} of target {target.name!r}; got NaN in {lost} of {runs} "
            "runs, and dropping those would bias the bound; give them a number of their own, such as "
            "-inf, or leave the score out: a learnt one counts NaN as an outcome like others"
        )
    return array
