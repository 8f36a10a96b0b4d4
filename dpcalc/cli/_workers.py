"""Who does the work: this process, processes of this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._options import Whole
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from concurrent.futures import Executor

_OPTIONS = (
    click.option(
        "--workers",
        type=Whole(1),
        default=1,
        show_default=True,
        help="Processes that share the work; the answer is the same, bit for bit.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Share the work among the workers of a Dask cluster, such as tcp://127.0.0.1:8786.",
    ),
)


def workers_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--workers and --scheduler."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def refuse_workers(workers: int, scheduler: str | None, needed: str) -> None:
    """Refuse workers where there is nothing for them to do."""
    if workers != 1 or scheduler is not None:
        raise InvalidInput(f"--workers and --scheduler go with {needed}; leave them out, or add it")


@contextmanager
def workers_of(workers: int, scheduler: str | None, *modules: str) -> Iterator[Executor | None]:
    """Who does the work; None for this process alone.

    Args:
        workers: processes; 1 for this one.
        scheduler: address of a cluster instead, or None.
        modules: what processes import while this one gets ready.

    Raises:
        InvalidInput: if both are given, or nobody answers at the address.
        MissingExtra: if a cluster is asked for, and distributed is not installed.
    """
    if scheduler is not None:
        if workers != 1:
            raise InvalidInput(
                f"expected one of --workers and --scheduler; got --workers {workers} too; a "
                "cluster has as many workers as were started"
            )
        from dpcalc.execution.cluster import cluster

        with cluster(scheduler) as executor:
            yield executor
    elif workers == 1:
        yield None
    else:
        from dpcalc.execution import Processes

        with Processes(workers) as executor:
            executor.start(*modules)
            yield executor
