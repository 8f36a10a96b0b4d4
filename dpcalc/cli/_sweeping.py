"""What ``dpcalc sweep`` does: every setting of a grid answered, shown, written and drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._json import print_json
from dpcalc.cli._kept import kept_work
from dpcalc.cli._workers import workers_of
from dpcalc.extras import need

if TYPE_CHECKING:
    from dpcalc.sweep.grid import Sweep

_SHOWN = 20
"""Rows on the screen; a file has them all."""


def swept(
    file: Path,
    *,
    out: Path | None,
    plot: Path | None,
    checkpoint: Path | None,
    resume: bool,
    as_json: bool,
    **who: Any,
) -> int:
    """The exit status of a grid, after all is shown and written."""
    from dpcalc.cli._outputs import Writing
    from dpcalc.errors import InvalidInput
    from dpcalc.sweep.grid import read_sweep
    from dpcalc.sweep.table import write_table

    sweep = read_sweep(file)
    _check_outputs(file, out=out, plot=plot)
    with (
        kept_work(checkpoint, sweep.plan(), resume=resume) as store,
        workers_of(who) as executor,
        _told(sweep) as progress,
    ):
        rows = _rows(sweep, executor=executor, store=store, progress=progress)
    if all("refused" in row for row in rows):
        raise InvalidInput(f"expected at least one setting that makes sense; {rows[0]['refused']}")
    writing = Writing()
    if out is not None:
        writing.attempt(lambda: write_table(out, rows))
    if plot is not None:
        from dpcalc.pictures.drawing import draw
        from dpcalc.sweep.picture import sweep_note, sweep_picture

        picture, note = sweep_picture(sweep, rows), sweep_note(sweep, rows)
        writing.attempt(lambda: draw(picture, plot, title=sweep.name, setting=note))
    _show(sweep, rows, [p for p in (out, plot) if p is not None], as_json=as_json)
    writing.settle()
    return 0


def _check_outputs(file: Path, *, out: Path | None, plot: Path | None) -> None:
    """Refuse, before anything is computed, what could not be written at the end."""
    from dpcalc.cli._outputs import check_outputs
    from dpcalc.sweep.table import check_table

    if out is not None:
        check_table(out)
    if plot is not None:
        from dpcalc.pictures.saving import check_picture

        need("matplotlib", purpose="--plot")
        if plot.suffix.lower() not in (".html", ".htm"):
            check_picture(plot, "--plot")
    check_outputs([("--out", out), ("--plot", plot)], inputs=[file])


def _rows(sweep: Sweep, **how: Any) -> list[dict[str, Any]]:
    """The rows, from who knows about what is asked."""
    from dpcalc.sweep.carry_out import rows_of

    if sweep.kind == "audit":
        from dpcalc.audits.suite.sweep import audited

        return rows_of(sweep, answer=audited, shared=lambda _: None, **how)
    if sweep.kind == "run":
        from dpcalc.sweep.trained import trained

        return rows_of(sweep, answer=trained, shared=lambda _: None, **how)
    return rows_of(sweep, **how)


@contextmanager
def _told(sweep: Sweep) -> Iterator[Callable[[int], None]]:
    """A bar on standard error with the settings that are done; silent off a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    screen = Console(stderr=True)
    bar = Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )
    with bar:
        task = bar.add_task(f"{sweep.name}: settings", total=sweep.count)
        yield lambda done: bar.update(task, completed=done)


def _show(
    sweep: Sweep, rows: Sequence[dict[str, Any]], written: Sequence[Path], *, as_json: bool
) -> None:
    from dpcalc.numerals import unpadded
    from dpcalc.report.text import console, escaped, plain_table
    from dpcalc.sweep.table import columns_of

    if as_json:
        record = {sweep.kind: sweep.name, "fixed": dict(sweep.fixed), "tolerance": sweep.tolerance}
        print_json({**record, "attest": sweep.attest, "rows": list(rows)})
        return
    same_text = _alike(sweep, rows)
    names = [name for name in columns_of(rows) if name not in same_text]
    shown = [tuple(escaped(_cell(row.get(name))) for name in names) for row in rows[:_SHOWN]]
    out = console()
    out.print(plain_table(names, shown))
    refused = sum("refused" in row for row in rows)
    more = f", the first {_SHOWN} shown" if len(rows) > _SHOWN else ""
    out.print(f"{len(rows)} settings{more}" + (f"; {refused} refused" if refused else ""))
    for name, count in sweep.joined.items():
        kept = len(sweep.axes[name])
        out.print(f"{name}: {count} places, rounded to {kept} whole numbers", style="dim")
    for name, value in {**sweep.fixed, **same_text}.items():
        out.print(f"{name.replace('_', ' ')} = {escaped(unpadded(str(value)))}", style="dim")
    for path in written:
        click.echo(f"written: {path}")


def _alike(sweep: Sweep, rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Words that are the same in all rows."""
    first = {k: v for k, v in rows[0].items() if isinstance(v, str) and k not in sweep.axes}
    return {k: v for k, v in first.items() if all(row.get(k) == v for row in rows)}


def _cell(value: Any) -> str:
    if isinstance(value, float):
        from dpcalc.report.text import upper

        return upper(value)
    return "" if value is None else str(value)
