"""The counted runs of an audit, kept in a store as they are made."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.auditing.sampling.observations import Observations
from dpcalc.auditing.sampling.runner import Score, Stage, make, numbered, observed, scored, sizes
from dpcalc.auditing.stages.kept import judged
from dpcalc.auditing.targets.target import Noise, Target, World
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from dpcalc.store import Store


def counted(
    target: Target,
    score: Score,
    *,
    seed: int,
    runs: int,
    size: int,
    exact: bool = False,
    executor: Executor | None = None,
    store: Store | None = None,
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
        executor: who makes the runs; this process if left out.
        store: where they are kept; no further batch follows those that were judged early.
    """
    made = make(
        target,
        partial(scored, target, score),
        seed=seed,
        stage=Stage.COUNTED,
        wanted=numbered(0, sizes(runs, size), apart=1)[: judged(store)],
        look=True,
        executor=executor,
        store=store,
    )
    with contextlib.closing(made):
        for number, batch in enumerate(made):
            seen = observed([batch], exact=exact)
            if number == 0 and store is not None:
                _check_repeated(seen, target, store)
            yield seen, batch.noise


def _check_repeated(first: Observations, target: Target, store: Store) -> None:
    """Refuse to go on where the first batch does not come out as it did before."""
    kept = store.read(_FIRST)
    if kept is None:
        store.write(_FIRST, {}, {"score": first.score})
    elif not np.array_equal(kept[1]["score"], first.score):
        raise InvalidInput(
            f"the checkpoint {str(store.path)!r} does not match: the same seed gave different runs of "
            f"target {target.name!r}; if its mechanism or data were changed since, start another "
            "checkpoint; if not, take all randomness from the generator"
        )


_FIRST = "counted/first"
