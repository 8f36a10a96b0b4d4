"""Does every run draw noise of its own? Nothing is counted where the runs of a batch share it.

Batches of independent runs of one world have one law, whatever it is: that all numbers of one batch
lie above all numbers of another is an event about the order of 32 exchangeable draws, of probability
2/C(32, 16) = 3.4e-9 at most. A third batch that keeps clear of one of them brings it below 1e-11 for
each released number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.sampling.runner import Stage, generator
from dpcalc.auditing.targets.target import Target, World, numbers_of

Array = NDArray[np.float64]

NAME = "exposure"


def check(target: Target, seen: Sequence[Array], *, seed: int) -> Finding | None:
    """A precondition that failed, if batches show that runs are not independent.

    Args:
        target: what is attacked.
        seen: released numbers of a batch of each world, in their order; shape (runs, numbers).
        seed: of the experiment.
    """
    for part, (world, first) in enumerate(zip(World, seen, strict=True)):
        runs, width = first.shape
        again = numbers_of(
            target, target.run(world, generator(seed, Stage.CHECKS, 3, part), runs), width
        )
        # Outputs of few values may agree by chance; sixteen draws with eight different ones do not.
        if np.array_equal(first, again) and len(np.unique(first, axis=0)) >= runs // 2:
            return _failed(
                "two batches with different generators released the same numbers: the runs are "
                "not independent; take all randomness from the generator"
            )
        if not _apart(first, again).any():
            continue
        third = numbers_of(
            target, target.run(world, generator(seed, Stage.CHECKS, 7, part), runs), width
        )
        confirmed = _apart(first, again) & (_apart(first, third) | _apart(again, third))
        if confirmed.any():
            return _failed(_shared(first[:, confirmed]))
    return None


def _apart(first: Array, second: Array) -> NDArray[np.bool_]:
    """Which released numbers are all larger in one batch than in the other."""
    return np.asarray(
        (first.min(axis=0) > second.max(axis=0)) | (second.min(axis=0) > first.max(axis=0))
    )


def _shared(values: Array) -> str:
    """What numbers of one batch that no other batch comes near to say of their noise."""
    one, how_many = values.shape[1] == 1, values.shape[1]
    subject = "1 released number is" if one else f"{how_many} released numbers are"
    constant = bool((values.max(axis=0) == values.min(axis=0)).all())
    what = "the same in all runs of a batch" if constant else "close together in a batch"
    return (
        f"{subject} {what} and far from there in the next: the runs of a batch share their noise; "
        "draw it once for every run, with size=runs"
    )


def _failed(text: str) -> Finding:
    return Finding(check=NAME, severity=Severity.PREMISE, text=text)
