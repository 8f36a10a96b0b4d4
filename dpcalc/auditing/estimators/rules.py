"""Decision rules with two thresholds, cut between different scores, and how one is chosen.

A rule answers IN above its upper threshold, OUT at or below its lower one, and nothing in between.
A threshold inside a block of equal scores would give the whole block one answer however it was
placed, so only gaps between different scores are considered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc.auditing.sampling.observations import Observations

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_CUTS = 49  # ranks at which a threshold is tried, in either tail more densely


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """What a rule fixed before these runs answered; whole numbers or arrays of repetitions.

    Attributes:
        right: runs that were answered rightly.
        wrong: runs that were answered wrongly.
        runs: all runs, those without an answer included.
    """

    right: Integers
    wrong: Integers
    runs: int

    def record(self) -> dict[str, Any]:
        """For JSON; enough to recompute every bound made from answers."""
        return {"right": self.right.tolist(), "wrong": self.wrong.tolist(), "runs": self.runs}


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """IN above ``upper``, OUT at or below ``lower``; one number or one per repetition each."""

    lower: Array | float
    upper: Array | float

    @classmethod
    def at(cls, threshold: Array | float) -> Rule:
        """The rule that answers every run."""
        return cls(threshold, threshold)

    @property
    def abstains(self) -> bool:
        """Whether some scores get no answer."""
        return bool((np.asarray(self.lower) < np.asarray(self.upper)).any())

    def telling(self, answers: Answers, shown: int, *, learnt: bool) -> int:
        """In how many runs randomised response says something that this rule answered so.

        A learnt rule that answers IN alone, or OUT alone, passes over every second one.

        Args:
            answers: of this rule.
            shown: the number where the rule passes over none.
            learnt: whether the score was learnt.
        """
        answered = int(answers.right + answers.wrong)
        if answered == answers.runs:
            return shown
        one_sided = bool(np.isinf(self.lower) ^ np.isinf(self.upper))
        return min(2 * answered, answers.runs) if learnt and one_sided else answered

    def answers(self, seen: Observations) -> Answers:
        """Right and wrong answers in runs that did not choose the rule."""
        right, wrong = (np.asarray(part.sum(axis=-1)) for part in self.marks(seen))
        return Answers(right=right, wrong=wrong, runs=seen.runs)

    def marks(self, seen: Observations) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which runs are answered rightly, and which wrongly; shape (..., runs) each."""
        says_in = seen.score > np.asarray(self.upper)[..., None]
        says_out = seen.score <= np.asarray(self.lower)[..., None]
        right = (says_in & seen.is_in) | (says_out & ~seen.is_in)
        return right, (says_in & ~seen.is_in) | (says_out & seen.is_in)

    def describe(self) -> str:
        """In words; for a single repetition."""
        low, high = float(self.lower), float(self.upper)
        if low == high:
            return f"threshold {high:.6g}"
        return f"answers IN above {high:.6g} and OUT at or below {low:.6g}"

    def record(self) -> dict[str, float]:
        """For JSON; for a single repetition."""
        return {"lower": float(self.lower), "upper": float(self.upper)}


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Places between different scores, and who lies below them.

    Attributes:
        place: how many runs lie below a cut, increasing; shape (..., cuts).
        threshold: a number between the scores on both sides of it; same shape.
        below_in: runs of the world IN below it; same shape.
        n_in: runs of the world IN; shape (..., 1).
        runs: all runs.
    """

    place: Integers
    threshold: Array
    below_in: Integers
    n_in: Integers
    runs: int


def cuts(pilot: Observations, ranks: ArrayLike | None = None) -> Cuts:
    """The cuts nearest to given ranks, on both sides of the block in which a rank may fall.

    Args:
        pilot: runs that will not be counted.
        ranks: numbers of runs below; all of them if left out. No cut is lost if there are no ties.
    """
    n = pilot.runs
    order = np.argsort(pilot.score, axis=-1, kind="stable")
    score = np.take_along_axis(pilot.score, order, axis=-1)
    is_in = np.take_along_axis(pilot.is_in, order, axis=-1)
    ends = np.ones((*score.shape[:-1], 1), bool)
    fits = np.concatenate([ends, score[..., 1:] > score[..., :-1], ends], axis=-1)
    index = np.arange(n + 1)
    before = np.maximum.accumulate(np.where(fits, index, 0), axis=-1)
    after = np.minimum.accumulate(np.where(fits, index, n)[..., ::-1], axis=-1)[..., ::-1]
    tried = index if ranks is None else np.asarray(ranks)
    place = np.sort(np.concatenate([before[..., tried], after[..., tried]], axis=-1), axis=-1)
    below = np.concatenate([0 * ends, np.cumsum(is_in, axis=-1)], axis=-1)
    left = np.take_along_axis(score, np.maximum(place - 1, 0), axis=-1)
    right = np.take_along_axis(score, np.minimum(place, n - 1), axis=-1)
    with np.errstate(invalid="ignore", over="ignore"):
        middle = left + (right - left) / 2
    inside = np.where((middle > left) & (middle < right), middle, left)
    threshold = np.where(place == 0, -np.inf, np.where(place == n, np.inf, inside))
    return Cuts(
        place=place,
        threshold=threshold,
        below_in=np.take_along_axis(below, place, axis=-1).astype(np.int64),
        n_in=np.asarray(is_in.sum(axis=-1, keepdims=True)),
        runs=n,
    )


def tail_ranks(runs: int, number: int = _CUTS) -> Integers:
    """Numbers of runs below a cut, from none to all: even ones, and more in both tails."""
    tail = np.geomspace(1, max(runs / 2, 1), number // 3 + 1).round().astype(np.int64)
    even = np.linspace(0, runs, number // 3 + 1).round().astype(np.int64)
    return np.unique(np.concatenate([tail, runs - tail, even]))
