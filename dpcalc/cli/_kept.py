"""--checkpoint and --resume: finished work in a file, from which the same command resumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._outputs import check_outputs
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from dpcalc.store import Store

_OPTIONS = (
    click.option(
        "--checkpoint",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Keep finished work in FILE (SQLite); after an interruption the same command resumes and "
        "ends with the same bits.",
    ),
    click.option(
        "--resume", is_flag=True, help="Resume from --checkpoint, and refuse to start over."
    ),
)


def checkpoint_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--checkpoint and --resume."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def refuse_checkpoint(checkpoint: Path | None, needed: str, *, resume: bool) -> None:
    """Refuse a checkpoint where there is nothing to keep."""
    if checkpoint is not None or resume:
        raise InvalidInput(f"--checkpoint and --resume go with {needed}; leave them out")


OPERATING_SYSTEM = "of the operating system"
"""The seed of work whose randomness nobody gave."""


def seed_of(checkpoint: Path | None) -> int | None:
    """The seed of the work that a checkpoint holds; None if there is none, or nobody gave it."""
    from dpcalc.store import plan_of

    plan = None if checkpoint is None else plan_of(checkpoint)
    if plan is None or plan.get("seed") == OPERATING_SYSTEM:
        return None
    if not isinstance(plan.get("seed"), int):
        raise InvalidInput(f"expected a file of kept work; got {str(checkpoint)!r}")
    click.echo(f"going on with the work in {checkpoint}, seed {plan['seed']}", err=True)
    return int(plan["seed"])


@contextmanager
def kept_work(
    checkpoint: Path | None, plan: Mapping[str, Any], *, resume: bool, secret: bool = False
) -> Iterator[Store | None]:
    """The store of a command's work, None without one; on an interruption, says how to go on.

    Args:
        checkpoint: the file.
        plan: what decides the bits of the work.
        resume: refuse to start over.
        secret: whether nobody but the owner may read it.
    """
    if checkpoint is None:
        if resume:
            raise InvalidInput("--resume goes with --checkpoint FILE; name the file")
        yield None
        return
    from dpcalc.store import open_store

    check_outputs([("--checkpoint", checkpoint)])
    with open_store(checkpoint, plan, resume=resume, secret=secret) as store:
        try:
            yield store
        except KeyboardInterrupt:
            finished = store.finished()
            click.echo(
                f"{finished} finished pieces are in {checkpoint}; the same command resumes"
                if finished
                else f"nothing was finished; {checkpoint} holds the question alone, and the same "
                "command begins with it",
                err=True,
            )
            raise
