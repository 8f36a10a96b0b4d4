"""Several rounds of dual averaging at once: a few runs after the other, and those on threads.

A run that is carried through many rounds keeps its numbers in the closest caches and draws its noise
where it uses it. Runs have noise of their own, so threads share them, as many as `threads.available`
says. Every number has the bits that it has round by round (`CompiledAveraging`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems import normals
from dpcalc.algorithms.problems.losses import Hinge, Huber, SmoothedHinge, Squared
from dpcalc.algorithms.problems.noise import runs_together
from dpcalc.algorithms.problems.regularisers import ElasticNet
from dpcalc.algorithms.problems.threads import Team

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.compiled_averaging import CompiledAveraging
    from dpcalc.algorithms.problems.draws import Draw
    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.noise import Streams
    from dpcalc.algorithms.problems.regularisers import Regulariser

Array = NDArray[np.float64]

_AT_ONCE = 2**23
"""Numbers of all messages that are made at once, at most: some 40 ms, then others have a turn."""

_ALONE = 2**17
"""Numbers that one thread makes sooner than several could begin."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CarriedRounds:
    """What all rounds have in common.

    Attributes:
        loops: rounds one by one.
        regulariser: h.
        loss: kind and width, as `carried_rounds.derivative` takes them.
        rows: sparse ones, dense ones and offsets; of two of these none.
        tables: of the ziggurat.
        kernels: the module of the loop, which imports numba.
    """

    loops: CompiledAveraging
    regulariser: ElasticNet
    loss: tuple[int, float]
    rows: tuple[tuple[Any, Any, Any], Any, Array]
    tables: normals.Tables
    kernels: Any

    @classmethod
    def of(cls, loops: CompiledAveraging | None, regulariser: Regulariser) -> Self | None:
        """None without compiled rounds, or where the loop does not know the loss or the regulariser.

        It does not know losses with exponentials, whose bits are those of numpy alone, nor classes of
        others.
        """
        tables = None if loops is None else normals.tables()
        if loops is None or tables is None or type(regulariser) is not ElasticNet:
            return None
        from dpcalc.algorithms.problems import carried_rounds

        total, rows = loops.total, loops.rows
        loss = _plain(total.loss, carried_rounds)
        if loss is None or len(loops.nodes) != len(loops.mixing[0]) - 1:
            return None
        none: tuple[Any, Any, Any] = (np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0))
        sparse, dense = (none, rows) if isinstance(rows, np.ndarray) else (rows, np.zeros((0, 0)))
        offsets = np.zeros(0) if total.offsets is None else np.asarray(total.offsets)
        return cls(
            loops=loops,
            regulariser=regulariser,
            loss=loss,
            rows=(sparse, dense, offsets),
            tables=tables,
            kernels=carried_rounds,
        )

    def schedule(self, weights: Array, totals: Array, proximal: Array) -> Array:
        """What rounds differ in: a(t), -(A(t)·l2 + γ(t)) and A(t)·l1; shape (rounds, 3)."""
        h = self.regulariser
        return np.stack([weights, -(totals * h.l2 + proximal), totals * h.l1], axis=1)

    def carried(
        self,
        source: Streams,
        draws: tuple[Draw, Draw],
        first: int,
        schedule: Array,
        sigma: float,
        z: Array,
        total: Array,
    ) -> tuple[int, Array, Array, Array, Array]:
        """The arrays after as many rounds as can be carried out at once.

        Args:
            source: of all random numbers.
            draws: of noise and records, for the first and the second purpose.
            first: number of the first round.
            schedule: of the rounds from there on, at most so many; shape (rounds, 3).
            sigma: standard deviation of the noise.
            z: before; shape (runs, nodes, d).
            total: Σ a(t)x(t) before; the same shape.

        Returns:
            How many rounds that were, z and Σ a(t)x(t) after them, x and the messages of the last.
        """
        noise, records = draws
        most = min(len(schedule), max(_AT_ONCE // z.size, 1))
        index = source.several(records, 1, first, most)
        drawing = None
        if not source.cryptographic:
            drawing = source.handed_over(noise, 0, first, len(index))
        given = np.empty((0, *z.shape))
        if drawing is None:
            given = source.several(noise, 0, first, len(index))
            index = index[: len(given)]
        index = index + self.loops.starts
        z, total, x, message = z.copy(), total.copy(), np.empty_like(z), np.empty_like(z)
        groups = _groups(runs_together(noise), source.first_run, source.runs)

        def carry(part: int) -> None:
            runs, group, before = groups[part]
            state = np.zeros(4, np.uint64)
            if drawing is None:
                group, before = runs.stop - runs.start, 0
            else:
                state = normals.words(drawing[part])
            self.kernels.carry(
                *self.rows, np.ascontiguousarray(index[:, runs]), self.loss, self.loops.mixing,
                schedule, sigma, state, self.tables, group, before,
                np.ascontiguousarray(given[:, runs]), z[runs], total[runs], x[runs], message[runs],
            )  # fmt: skip
            if drawing is not None:
                normals.put_back(drawing[part], state)

        with Team(1 if len(index) * z.size < _ALONE else None) as team:
            team.share(carry, len(groups))
        return len(index), z, total, x, message


def _groups(size: int, first: int, runs: int) -> list[tuple[slice, int, int]]:
    """Runs of a batch that share a generator: which, how many it serves, and how many come before."""
    found = []
    for start in range(first // size * size - first, runs, size):
        inside = slice(max(start, 0), min(start + size, runs))
        found.append((inside, size, inside.start - start))
    return found


def _plain(loss: Loss, kernels: Any) -> tuple[int, float] | None:
    """The kind and the width of a loss, as `carried_rounds.derivative` takes them."""
    known: dict[type, tuple[int, str | None]] = {
        Hinge: (kernels.HINGE, None),
        SmoothedHinge: (kernels.SMOOTHED_HINGE, "width"),
        Squared: (kernels.SQUARED, "scale"),
        Huber: (kernels.HUBER, "width"),
    }
    kind, name = known.get(type(loss), (None, None))
    if kind is None:
        return None
    return kind, 0.0 if name is None else float(getattr(loss, name))
