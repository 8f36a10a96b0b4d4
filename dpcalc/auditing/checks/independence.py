"""Does every run draw noise of its own? Nothing is counted where the runs of a batch share it.

Batches of independent runs of one world have one law, whatever it is, and their runs are
exchangeable. Two events about their order are looked for, neither likelier than 1.2e-11 for a released
number.

All numbers of one batch lie above all numbers of another: of 32 draws, of probability
2/C(32, 16) = 3.4e-9 at most. A third batch that keeps clear of one of them brings it below 1e-11.

The largest gap between the numbers of sixteen further batches of eight runs divides the batches and
cuts through none. Where k batches lie below it, C(16, k) of the C(128, 8k) sets of as many runs are
such a set, and which runs they are is uniform given the numbers: a chance of 1.2e-11 at most, for
k = 1. Two values that a batch has in common are found unless sixteen batches agree: fair bits in both
worlds escape with a chance of 1e-9, those with a chance of a quarter with one of 1e-4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.sampling.looks import looked
from dpcalc.auditing.sampling.runner import PURPOSES
from dpcalc.auditing.targets.target import Target, World

Array = NDArray[np.float64]

NAME = "disclosure"

_BATCHES, _SIZE = 16, 8
_FIRST = 10  # number of the first of the batches that a gap may divide


def check(target: Target, seen: Sequence[Array], *, seed: int) -> Finding | None:
    """A precondition that failed, if batches show that runs are not independent.

    Args:
        target: what is attacked.
        seen: released numbers of a batch of each world, in their order; shape (runs, numbers).
        seed: of the experiment.
    """
    for world, first in zip(World, seen, strict=True):
        runs, width = first.shape
        again = looked(target, world, seed, 3, runs, width)
        # Outputs of few values may agree by chance; sixteen draws with eight different ones do not.
        if np.array_equal(first, again) and len(np.unique(first, axis=0)) >= runs // 2:
            return _failed(
                "two batches with different generators released the same numbers: the runs are "
                "not independent; take all randomness from the generator"
            )
        if not _apart(first, again).any():
            continue
        third = looked(target, world, seed, 7, runs, width)
        confirmed = _apart(first, again) & (_apart(first, third) | _apart(again, third))
        if confirmed.any():
            return _failed(_shared(first[:, confirmed]))
    return _in_common(target, [values.shape[1] for values in seen], seed)


def _in_common(target: Target, widths: Sequence[int], seed: int) -> Finding | None:
    """A precondition that failed, if the largest gap between numbers divides whole batches."""
    for world, width in zip(World, widths, strict=True):
        numbers = (_FIRST + PURPOSES * k for k in range(_BATCHES))
        batches = np.stack([looked(target, world, seed, n, _SIZE, width) for n in numbers])
        divided = _divided(batches)
        if divided.any():
            return _failed(_shared(batches[0][:, divided]))
    return None


def _divided(batches: Array) -> NDArray[np.bool_]:
    """Which numbers have their largest gap between batches, and none of these on both sides of it.

    Args:
        batches: shape (batches, runs, numbers).
    """
    ordered = np.sort(batches.reshape(-1, batches.shape[2]), axis=0)
    gaps = np.diff(ordered, axis=0)
    place = gaps.argmax(axis=0)
    below = np.take_along_axis(ordered, place[None], axis=0)[0]
    lower = (batches <= below).sum(axis=1)  # runs of every batch below the gap
    whole = ((lower == 0) | (lower == batches.shape[1])).all(axis=0)
    return np.asarray(whole & (gaps.max(axis=0) > 0))


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
