"""The counted runs of an audit, kept in a checkpoint as they are made."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.archive import held_alone
from dpcalc.auditing.kept import KeptRuns
from dpcalc.auditing.observations import Observations
from dpcalc.auditing.runner import Score, Stage, make, numbered, observed, scored, sizes
from dpcalc.auditing.target import Noise, Target, World
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    import os


def counted(
    target: Target,
    score: Score,
    *,
    seed: int,
    runs: int,
    size: int,
    exact: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
) -> Generator[tuple[Observations, Mapping[World, Noise]], None, None]:
    """The counted runs batch by batch; those in the checkpoint are read, not made again.

    With each come the noises that were looked at: those of the first batch. That is always made, so
    that a target which does not repeat itself from the same seed is found out.

    Args:
        target: what is attacked.
        score: released -> one number per run.
        seed: of the experiment.
        runs: counted runs in all.
        size: runs per batch; the last may be smaller.
        exact: whether the score is the exact log-likelihood ratio.
        checkpoint: a file that holds the batches done so far, held by this process alone; their
            number and the planned one stay as they were begun, and no further batch follows those
            that were judged early.
        executor: who makes the runs; this process if left out.
    """
    with contextlib.ExitStack() as stack:
        saved: KeptRuns | None = None
        kept: list[Observations] = []
        judged = False
        if checkpoint:
            stack.enter_context(held_alone(checkpoint))
            saved = KeptRuns(Path(checkpoint), target.name, seed, size, runs)
            kept, judged = saved.load()
        wanted = numbered(0, sizes(runs, size), apart=1)[: len(kept) if judged else None]
        fresh = stack.enter_context(
            contextlib.closing(
                make(
                    target,
                    partial(scored, target, score),
                    seed=seed,
                    stage=Stage.COUNTED,
                    wanted=wanted[:1] + wanted[max(len(kept), 1) :],
                    look=True,
                    executor=executor,
                )
            )
        )
        for number, _ in wanted:
            if 0 < number < len(kept):
                yield kept[number], {}
                continue
            batch = next(fresh)
            seen = observed([batch], exact=exact)
            if saved and number < len(kept):
                _refuse_others(kept[number], seen, saved)
            elif saved:
                kept.append(seen)
                saved.store(kept)
            yield seen, batch.noise


def _refuse_others(kept: Observations, made: Observations, saved: KeptRuns) -> None:
    if not np.array_equal(kept.score, made.score):
        raise InvalidInput(
            f"the same runs from the same seed were needed; target {saved.target!r} released "
            f"others than {str(saved.path)!r} holds; take all randomness from the generator"
        )
