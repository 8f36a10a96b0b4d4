"""Independent runs of one plan, in groups that workers may share.

Statement
    The group decides the bits, together with the seed: runs of one group go through linear algebra
    together. How many groups there are follows from the number of runs alone, so the transcript is
    the same for every executor, and after every interruption.
    In a real run every group takes a key of its own from the operating system, in the process that
    carries it out. A key never travels, and a group that is lost was never released.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcalc import checks
from dpcalc.execution.kept import Keeping, in_order_kept
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.transcript import Transcript, joined

__all__ = [
    "AT_ONCE",
    "Repetition",
    "carried_out",
    "repeated",
]

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.noise import Seed
    from dpcalc.store import Store
    from dpcalc.training.prepared_run import PreparedRun

AT_ONCE = 16
"""Runs of a group; more make a run hardly cheaper, and leave less to share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """How often a plan is carried out, and what is kept of it.

    Attributes:
        runs: independent runs; each spends the budget.
        at_once: runs of a group; a part of what decides the bits.
        full_release: keep all that the theorem's adversary sees, instead of the end alone.
        measure_every: rounds between two looks at objective and consensus, which are no part of the
            release; 0 for none.
    """

    runs: int = 1
    at_once: int = AT_ONCE
    full_release: bool = False
    measure_every: int = 0

    def __post_init__(self) -> None:
        checks.count("runs", self.runs)
        checks.count("runs_at_once", self.at_once)

    @property
    def groups(self) -> tuple[tuple[int, int], ...]:
        """First run and number of runs of every group."""
        return tuple(
            (first, min(self.at_once, self.runs - first))
            for first in range(0, self.runs, self.at_once)
        )


def repeated(
    prepared: PreparedRun,
    rng: Seed = None,
    *,
    repetition: Repetition,
    progress: Callable[[int], None] | None = None,
    store: Store | None = None,
    executor: Executor | None = None,
) -> Transcript:
    """Carry out a plan as often as asked.

    Args:
        prepared: a calibrated run.
        rng: a seed for experiments; None takes keys from the operating system.
        repetition: how often, and what is kept.
        progress: called with the rounds done, of all groups together.
        store: where finished groups are kept, and unless workers carry them out the rounds of the
            group under way; as secret as the data.
        executor: who carries out groups; this process if left out.

    Raises:
        WorkersLost: if a group cannot be brought to its end.
    """
    from dpcalc.algorithms.problems.noise import streams

    groups, rounds = repetition.groups, prepared.algorithm.rounds
    if store is not None:
        store.begin(_bits(prepared, repetition))
    entropy = None if rng is None else streams(rng, runs=repetition.runs).entropy
    work = partial(carried_out, prepared, entropy, repetition)
    if executor is None:
        work = partial(work, progress=progress, store=store)
    keeping = Keeping(store=store, key=_key, pack=Transcript.packed, unpack=Transcript.unpacked)
    parts: list[Transcript] = []
    for part in in_order_kept(work, groups, executor, keeping=keeping, what="group of runs"):
        if store is not None:
            _forget_rounds(store, groups[len(parts)][0])
        parts.append(part)
        if progress is not None:
            progress(len(parts) * rounds)
    return joined(parts)


@own_arithmetic
def carried_out(
    prepared: PreparedRun,
    entropy: int | None,
    repetition: Repetition,
    group: tuple[int, int],
    *,
    progress: Callable[[int], None] | None = None,
    store: Store | None = None,
) -> Transcript:
    """One group of runs."""
    first, runs = group
    before = first // repetition.at_once * prepared.algorithm.rounds
    return prepared.run(
        entropy,
        runs=runs,
        first_run=first,
        full_release=repetition.full_release,
        measure_every=repetition.measure_every,
        progress=None if progress is None else lambda done, _: progress(before + done),
        checkpoint=None if store is None else store.section(_rounds_of(first)),
    )


def _bits(prepared: PreparedRun, repetition: Repetition) -> dict[str, Any]:
    """What decides the bits beside the seed: the algorithm with its data, and the repetition."""
    from dpcalc.algorithms.engine.fingerprint import parts_of

    return asdict(repetition) | parts_of(prepared.algorithm)


def _key(group: tuple[int, int]) -> str:
    return f"runs/{group[0]}"


def _rounds_of(first: int) -> str:
    return f"rounds of {first}"


def _forget_rounds(store: Store, first: int) -> None:
    """The key of a group's noise, and what its nodes kept to themselves, once it is finished."""
    from dpcalc.algorithms.engine.state import SAVED

    store.section(_rounds_of(first)).remove(SAVED)
