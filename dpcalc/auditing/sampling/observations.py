"""What was observed: one score per run and the world it came from, and counts of right and wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.archive import read_arrays, write_arrays
from dpcalc.auditing.targets.exact_numbers import exact_scores
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]


_MOST_RUNS = 2**50  # sums of four such stay whole numbers and exact doubles


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """Right and wrong answers of a decision rule that was fixed before these runs.

    Every field is a whole number or an array of repetitions, all of one shape. "Positive" is the
    answer IN.

    Example::

        from dpcalc.auditing import Counts
        print(Counts.of(95, 5, 5, 95))

    Attributes:
        true_positives: runs with the record, answered IN.
        false_negatives: runs with the record, answered OUT.
        false_positives: runs without it, answered IN.
        true_negatives: runs without it, answered OUT.
    """

    true_positives: Integers
    false_negatives: Integers
    false_positives: Integers
    true_negatives: Integers

    def __post_init__(self) -> None:
        for name in _CELLS:
            value = np.asarray(getattr(self, name))
            if value.dtype.kind not in "iu" or (value < 0).any():
                raise InvalidInput(
                    f"{name} needs whole numbers, 0 or above; got {name}={value.tolist()!r}"
                )
            if (value > _MOST_RUNS).any():
                raise InvalidInput(
                    f"{name} needs at most 2^50; got {name}={value.tolist()!r}; such counts come "
                    "from no audit"
                )
            object.__setattr__(self, name, value.astype(np.int64))
        if (self.n_in == 0).any() or (self.n_out == 0).any():
            raise InvalidInput(
                "expected at least one run with and one without the record; "
                f"got n_in={self.n_in.tolist()!r}, n_out={self.n_out.tolist()!r}"
            )

    @classmethod
    def of(cls, tp: int, fn: int, fp: int, tn: int) -> Self:
        """The counts of one experiment, in the order TP FN FP TN."""
        cells = (np.asarray(n) for n in (tp, fn, fp, tn))
        return cls(**dict(zip(_CELLS, cells, strict=True)))

    @property
    def n_in(self) -> Integers:
        """Runs with the record."""
        return np.asarray(self.true_positives + self.false_negatives)

    @property
    def n_out(self) -> Integers:
        """Runs without the record."""
        return np.asarray(self.false_positives + self.true_negatives)

    @property
    def runs(self) -> Integers:
        """All runs."""
        return np.asarray(self.n_in + self.n_out)

    @property
    def correct(self) -> Integers:
        """Right answers."""
        return np.asarray(self.true_positives + self.true_negatives)

    def record(self) -> dict[str, Any]:
        """For JSON; enough to recompute every bound made from counts."""
        return {name: getattr(self, name).tolist() for name in _CELLS}


_CELLS = ("true_positives", "false_negatives", "false_positives", "true_negatives")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observations:
    """One score per run; arrays may have leading axes of repetitions, runs last.

    Attributes:
        is_in: whether the run used the world IN; shape (..., runs).
        score: the larger, the more it looks like IN; shape (..., runs).
        fair_coins: whether every run's world was drawn by its own independent fair coin. Without
            that, bounds that need a balanced game are refused.
        exact: whether the score is the exact log-likelihood ratio.
    """

    is_in: Flags
    score: Array
    fair_coins: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        is_in = np.asarray(self.is_in)
        score = exact_scores(self.score)
        if is_in.dtype != np.bool_ or is_in.shape != score.shape or score.ndim == 0:
            raise InvalidInput(
                "expected one flag and one score per run; got "
                f"is_in of dtype={is_in.dtype!s}, shape={is_in.shape!r} and "
                f"scores of shape={score.shape!r}"
            )
        if np.isnan(score).any():
            raise InvalidInput(
                "scores need to be numbers; got NaN; dropping runs would bias the bound, so give "
                "them a score of their own, such as -inf"
            )
        object.__setattr__(self, "is_in", is_in)
        object.__setattr__(self, "score", score)

    @property
    def runs(self) -> int:
        """Runs per repetition."""
        return int(self.score.shape[-1])

    def between(self, start: int, stop: int) -> Self:
        """Some of the runs, in the order in which they were made."""
        return type(self)(
            is_in=self.is_in[..., start:stop],
            score=self.score[..., start:stop],
            fair_coins=self.fair_coins,
            exact=self.exact,
        )

    def with_score(self, score: Array) -> Self:
        """The same runs under another score, which is no exact log-likelihood ratio."""
        return type(self)(is_in=self.is_in, score=score, fair_coins=self.fair_coins)

    def swapped(self) -> Self:
        """The same runs with the worlds' names exchanged: the other direction."""
        return type(self)(
            is_in=~self.is_in, score=-self.score, fair_coins=self.fair_coins, exact=self.exact
        )

    def counts(self, threshold: Array | float) -> Counts:
        """Right and wrong answers of "IN if the score is above the threshold".

        The threshold must come from elsewhere: other runs, or known before any run.

        Args:
            threshold: a number, or one per repetition.
        """
        answer = self.score > np.asarray(threshold)[..., None]
        return Counts(
            true_positives=(answer & self.is_in).sum(axis=-1),
            false_negatives=(~answer & self.is_in).sum(axis=-1),
            false_positives=(answer & ~self.is_in).sum(axis=-1),
            true_negatives=(~answer & ~self.is_in).sum(axis=-1),
        )

    def scores_of(self, is_in: bool) -> Array:
        """Scores of the runs of one world, in order; only for a single repetition."""
        if self.score.ndim != 1:
            raise InvalidInput(f"expected a single repetition; got shape={self.score.shape!r}")
        return self.score[self.is_in == is_in]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them, so that every bound can be recomputed elsewhere."""
        header = {"kind": "observations", "fair_coins": self.fair_coins, "exact": self.exact}
        write_arrays(path, header, {"is_in": self.is_in, "score": self.score})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote."""
        header, arrays = read_arrays(path)
        if header.get("kind") != "observations":
            raise InvalidInput(f"expected saved observations; got path={str(path)!r}")
        return cls(
            is_in=arrays["is_in"],
            score=arrays["score"],
            fair_coins=bool(header["fair_coins"]),
            exact=bool(header["exact"]),
        )


def joined(parts: Sequence[Observations]) -> Observations:
    """Runs one after the other."""
    return Observations(
        is_in=np.concatenate([part.is_in for part in parts], axis=-1),
        score=np.concatenate([part.score for part in parts], axis=-1),
        fair_coins=all(part.fair_coins for part in parts),
        exact=all(part.exact for part in parts),
    )


def from_scores(
    in_scores: Sequence[float] | Array, out_scores: Sequence[float] | Array
) -> Observations:
    """Scores recorded elsewhere, of runs with and without the record.

    Each kind is shuffled by a fixed seed, so that scores which were sorted do no harm, and the two are
    interleaved evenly, so that any prefix holds its share of both. Nothing is known about coins.
    """
    first, second = (exact_scores(s).ravel() for s in (in_scores, out_scores))
    for name, scores in (("in_scores", first), ("out_scores", second)):
        checks.count(f"number of {name}", len(scores), minimum=2)
    generator = np.random.default_rng(0)
    first, second = generator.permutation(first), generator.permutation(second)
    place = np.concatenate([(np.arange(len(s)) + 0.5) / len(s) for s in (first, second)])
    order = np.argsort(place, kind="stable")
    flags = np.concatenate([np.ones(len(first), bool), np.zeros(len(second), bool)])
    return Observations(is_in=flags[order], score=np.concatenate([first, second])[order])
