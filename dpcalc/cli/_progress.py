"""A run carried out under a progress bar on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dpcalc.training.plan import Plan
    from dpcalc.transcript import Transcript


def carried_out(
    ready: Plan, common: dict[str, Any], settings: dict[str, Any], *, everything: bool
) -> Transcript:
    """The finished run; on an interruption, where it was saved."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    screen, rounds = Console(stderr=True), ready.algorithm.rounds
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Progress(
        *columns,
        TextColumn("rounds"),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )
    measured = common["measure_every"]
    try:
        with bar:
            task = bar.add_task(ready.method.key, total=rounds)
            return ready.carry_out(
                common["seed"],
                runs=common["runs"],
                everything=everything,
                measure_every=max(1, rounds // 100) if measured is None else measured,
                progress=lambda done, _: bar.update(task, completed=done),
                checkpoint=common["checkpoint"],
                settings=settings,
            )
    except KeyboardInterrupt:
        if common["checkpoint"]:
            click.echo(f"saved in {common['checkpoint']}; the same command goes on", err=True)
        raise
