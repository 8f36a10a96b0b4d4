"""Runs on workers, from a checkpoint, and under a progress bar on standard error."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpcalc.cli._kept import OPERATING_SYSTEM, kept_work, refuse_checkpoint
from dpcalc.cli._options import refuse_given
from dpcalc.cli._workers import refuse_workers, workers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from dpcalc.training.data import Split
    from dpcalc.training.prepared_run import PreparedRun
    from dpcalc.training.repetition import Repetition
    from dpcalc.transcript import Transcript


def refuse_idle(common: dict[str, Any], suffixes: Collection[str]) -> None:
    """Refuse what would change nothing about runs like these, and a table of looks nobody takes.

    Args:
        common: options that all methods have.
        suffixes: of the files that are written.
    """
    from dpcalc.errors import InvalidInput

    if common["apart"]:
        if ".csv" in suffixes:
            raise InvalidInput(
                "--out with .csv holds looks at all nodes between rounds, which nobody takes "
                "--apart; take .json or .npz"
            )
        refuse_given(("runs_at_once",), "a run that is not --apart")
    if common["runs"] == 1:
        refuse_given(("runs_at_once",), "--runs above 1")
    if common["measure_every"] and ".csv" not in suffixes:
        refuse_given(("measure_every",), "--out FILE.csv, where the looks are written")


def repetition_of(common: dict[str, Any], rounds: int, *, full_release: bool) -> Repetition:
    """How often a run is carried out, by the options of the command line."""
    from dpcalc.training.repetition import AT_ONCE, Repetition

    every, at_once = common["measure_every"], common["runs_at_once"]
    return Repetition(
        runs=common["runs"],
        at_once=AT_ONCE if at_once is None else at_once,
        full_release=full_release,
        measure_every=max(1, rounds // 100) if every is None else every,
    )


def carried_out(
    ready: PreparedRun, split: Split, common: dict[str, Any], repetition: Repetition
) -> Transcript:
    """The finished runs."""
    from dpcalc.training.repetition import repeated

    if common["apart"]:
        return _apart(ready, common)
    groups = len(repetition.groups)
    if groups == 1:
        refuse_workers(common, _SHARED)
    work = {} if common["checkpoint"] is None else _bits(ready, split, common, repetition)
    with (
        kept_work(common["checkpoint"], work, resume=common["resume"], secret=True) as kept,
        workers_of(common, "dpcalc.training.repetition") as executor,
        _rounds_done(ready.method.key, groups * ready.algorithm.rounds) as progress,
    ):
        return repeated(
            ready,
            common["seed"],
            repetition=repetition,
            progress=progress,
            store=None if kept is None else kept.section("runs"),
            executor=executor,
        )


def _apart(ready: PreparedRun, common: dict[str, Any]) -> Transcript:
    """All runs at once, every node in a process of its own."""
    from dpcalc.algorithms.engine.apart import carry_out_apart
    from dpcalc.algorithms.engine.networked import NetworkAlgorithm
    from dpcalc.errors import InvalidInput

    algorithm = ready.algorithm
    if not isinstance(algorithm, NetworkAlgorithm):
        raise InvalidInput(
            f"--apart needs a method on a network, such as private-r-admm; got {algorithm.key}"
        )
    refuse_workers(common, "a run that is not --apart")
    refuse_checkpoint(common["checkpoint"], "a run that is not --apart", resume=common["resume"])
    with _rounds_done(ready.method.key, algorithm.rounds) as progress:
        return carry_out_apart(
            algorithm,
            common["seed"],
            runs=common["runs"],
            progress=lambda done, _: progress(done),
        )


_SHARED = "more than one group of runs, such as --runs 8 --runs-at-once 2"


def _bits(
    ready: PreparedRun, split: Split, common: dict[str, Any], repetition: Repetition
) -> dict[str, Any]:
    """What decides the bits of these runs; the data by what they are, wherever they lie."""
    seed = common["seed"]
    return {
        "work": f"run {ready.method.key}",
        "seed": OPERATING_SYSTEM if seed is None else seed,
        **{name: common[name] for name in _DECIDING},
        **asdict(repetition),
        **ready.asked.inputs(),
        "digest_of_the_data_as_dealt": split.digest(),
    }


_DECIDING = (
    "rows", "row_bound", "intercept", "held_out", "memory", "epsilon", "delta", "nodes", "graph"
)  # fmt: skip
"""Options that decide bits besides; what others say of the data is in the digest."""


@contextmanager
def _rounds_done(name: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar; call what it gives with the number of rounds done."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Progress(
        *columns,
        TextColumn("rounds"),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )
    with bar:
        task = bar.add_task(name, total=total)
        yield lambda done: bar.update(task, completed=done)
