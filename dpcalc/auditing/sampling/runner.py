"""Runs of both worlds, in batches that only depend on the seed and their number.

Every run's world is drawn by its own fair coin, and the two worlds draw from separate generators.
Batch k of a stage holds the same runs whether it is made at once, after an interruption, in another
process, or with more batches behind it; so the same seed gives the same verdict.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing.sampling.observations import Observations, joined
from dpcalc.auditing.targets.exact_numbers import exact_scores
from dpcalc.auditing.targets.target import Noise, Outputs, Target, World
from dpcalc.errors import InvalidInput
from dpcalc.execution.kept import Keeping, in_order_kept
from dpcalc.numerics.arithmetic import own_arithmetic

if TYPE_CHECKING:
    from dpcalc.store import Store

Array = NDArray[np.float64]
Score = Callable[[Outputs], Array]
Measure = Callable[[Outputs, int], Array]
"""What was released, and in how many runs -> one row per run."""
PURPOSES = 8
"""Up to as many purposes of one stage number their batches apart from each other."""
Made = tuple[Array, Noise | None]


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


def sizes(runs: int, size: int) -> list[int]:
    """How many runs each batch has."""
    return [min(size, runs - start) for start in range(0, runs, size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Runs of one world in one batch: what is made at once, here or in another process.

    Attributes:
        stage: what they are for.
        batch: number of the batch.
        world: of all of them.
        runs: how many.
        look: whether to look at their noise.
    """

    stage: Stage
    batch: int
    world: World
    runs: int
    look: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """A batch of runs.

    Attributes:
        is_in: which world each run was in; shape (runs,).
        values: what each run came to: a score, shape (runs,), or numbers, shape (runs, numbers).
        noise: the noise of each world, where it was looked at.
    """

    is_in: NDArray[np.bool_]
    values: Array
    noise: dict[World, Noise] = field(default_factory=dict)


@own_arithmetic
def made(target: Target, measure: Measure, seed: int, piece: Piece) -> Made:
    """What the runs of a piece came to, and their noise if it is looked at.

    Args:
        target: what is attacked.
        measure: see `Measure`.
        seed: of the experiment.
        piece: which runs.
    """
    draw = generator(seed, piece.stage, piece.batch, list(World).index(piece.world) + 1)
    try:
        outputs = target.run(piece.world, draw, piece.runs)
        values = np.asarray(measure(outputs, piece.runs), dtype=np.float64)
        if not piece.look or target.noise is None:
            return values, None
        return values, target.noise(piece.world, outputs)
    except Exception as error:
        error.add_note(
            f"in {piece.runs} runs of the world {piece.world.name}, {piece.stage.name.lower()} batch "
            f"{piece.batch}, seed {seed}; no verdict rests on the other runs"
        )
        raise


def make(
    target: Target,
    measure: Measure,
    *,
    seed: int,
    stage: Stage,
    wanted: Sequence[tuple[int, int]],
    look: bool = False,
    executor: Executor | None = None,
    store: Store | None = None,
) -> Generator[Batch, None, None]:
    """Batches in the order in which they are wanted.

    Args:
        target: what is attacked.
        measure: see `Measure`.
        seed: of the experiment.
        stage: what the runs are for.
        wanted: number and runs of every batch.
        look: whether to look at the noise of batch 0.
        executor: who makes the pieces; this process if left out.
        store: where pieces are kept as they are made, and read if they are there.
    """
    coins = [generator(seed, stage, number).random(runs) < 0.5 for number, runs in wanted]
    pieces = [
        Piece(stage=stage, batch=number, world=world, runs=count, look=look and number == 0)
        for (number, _), is_in in zip(wanted, coins, strict=True)
        for world in World
        if (count := int(_of(world, is_in).sum()))
    ]
    work = partial(made, target, measure, seed)
    what = f"{stage.name.lower()} piece"
    keeping = Keeping(store=store, key=_key, pack=_packed, unpack=_unpacked)
    done = in_order_kept(work, pieces, executor, keeping=keeping, what=what)
    with contextlib.closing(done):
        for is_in in coins:
            yield _together(is_in, done)


def _key(piece: Piece) -> str | None:
    """The name of a piece in a store; what is looked at is made every time.

    Its length is part of it: where time is short, batches of the same number are smaller.
    """
    if piece.look:
        return None
    return f"{piece.stage.name.lower()}/{piece.batch}/{piece.world.value}/{piece.runs}"


def _packed(answer: Made) -> tuple[dict[str, Any], dict[str, Array]]:
    return {}, {"values": answer[0]}


def _unpacked(_: Mapping[str, Any], arrays: Mapping[str, Array]) -> Made:
    return arrays["values"], None


def _of(world: World, is_in: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return is_in if world is World.IN else ~is_in


def _together(is_in: NDArray[np.bool_], done: Iterator[Made]) -> Batch:
    """A batch of its pieces, taken from those that are done."""
    noise, whole = {}, None
    for world in World:
        chosen = _of(world, is_in)
        if not chosen.any():
            continue
        values, looked = next(done)
        if whole is None:
            whole = np.empty((len(is_in), *values.shape[1:]))
        whole[chosen] = values
        if looked is not None:
            noise[world] = looked
    if whole is None:
        raise InvalidInput("expected at least one run in every batch; got none")
    return Batch(is_in=is_in, values=whole, noise=noise)


def observe(
    target: Target,
    score: Score,
    *,
    seed: int,
    stage: Stage,
    batch: int = 0,
    runs: int,
    size: int | None = None,
    exact: bool = False,
    executor: Executor | None = None,
    store: Store | None = None,
) -> Observations:
    """Runs that are no counted ones: coins, runs of both worlds, scores.

    Args:
        target: what is attacked.
        score: released -> one number per run.
        seed: of the experiment.
        stage: what the runs are for.
        batch: number of the first batch; see `numbered`.
        runs: runs in all.
        size: runs per batch; one batch if left out.
        exact: whether the score is the exact log-likelihood ratio.
        executor: who makes them; this process if left out.
        store: where they are kept.
    """
    checks.count("runs", runs)
    found = list(
        make(
            target,
            partial(scored, target, score),
            seed=seed,
            stage=stage,
            wanted=numbered(batch, sizes(runs, size or runs)),
            executor=executor,
            store=store,
        )
    )
    return observed(found, exact=exact)


def numbered(
    batch: int, of_sizes: Sequence[int], *, apart: int = PURPOSES
) -> list[tuple[int, int]]:
    """Batches of one purpose, each with its size: ``batch``, ``batch`` + ``apart``, and so on."""
    return [(batch + apart * k, size) for k, size in enumerate(of_sizes)]


def observed(batches: Sequence[Batch], *, exact: bool) -> Observations:
    """Scored batches, one after the other."""
    return joined(
        [Observations(is_in=b.is_in, score=b.values, fair_coins=True, exact=exact) for b in batches]
    )


def scored(target: Target, score: Score, outputs: Outputs, runs: int) -> Array:
    """One number per run, or an error that names the callable at fault."""
    try:
        array = exact_scores(score(outputs))
    except InvalidInput as error:
        raise InvalidInput(f"target {target.name!r}: {error}") from error
    if array.shape != (runs,):
        raise InvalidInput(
            f"expected one score per run from target {target.name!r}, shape ({runs},); got "
            f"shape={array.shape!r}; keep the runs axis first and reduce all others"
        )
    lost = int(np.isnan(array).sum())
    if lost:
        raise InvalidInput(
            f"expected numbers as the score of target {target.name!r}; got NaN in {lost} of {runs} "
            "runs, and dropping those would bias the bound; give them a number of their own, such as "
            "-inf, or leave the score out: a learnt one counts NaN as an outcome like others"
        )
    return array
