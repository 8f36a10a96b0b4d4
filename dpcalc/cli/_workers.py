"""Who does the work: this process, processes of this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._options import AtLeast, Whole
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
    click.option(
        "--timeout",
        type=AtLeast(0, above=True),
        metavar="SECONDS",
        help="End a piece of the work that takes longer, with the process that hangs in it: it is made "
        "again once, then the command ends with status 75.  [default: no limit]",
    ),
)


def workers_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--workers, --scheduler and --timeout."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def refuse_workers(given: Mapping[str, Any], needed: str) -> None:
    """Refuse workers where there is nothing for them to do.

    Args:
        given: the options by name.
        needed: what they go with.
    """
    if given["workers"] != 1 or given["scheduler"] is not None:
        raise InvalidInput(f"--workers and --scheduler go with {needed}; leave them out, or add it")
    if given["timeout"] is not None:
        raise InvalidInput(f"--timeout goes with {needed}; leave it out, or add it")


@contextmanager
def workers_of(given: Mapping[str, Any], *modules: str) -> Iterator[Executor | None]:
    """Who does the work; None for this process alone.

    Args:
        given: the options by name: how many processes, 1 without a timeout for this one; the address
            of a cluster instead, or None; seconds that a piece may take, or None.
        modules: what processes import while this one gets ready.

    Raises:
        InvalidInput: if both are given, or nobody answers at the address.
        MissingExtra: if a cluster is asked for, and distributed is not installed.
    """
    workers, scheduler, timeout = (given[name] for name in ("workers", "scheduler", "timeout"))
    if scheduler is not None:
        if workers != 1:
            raise InvalidInput(
                f"expected one of --workers and --scheduler; got --workers {workers} too; a "
                "cluster has as many workers as were started"
            )
        from dpcalc.execution import Limited
        from dpcalc.execution.cluster import cluster

        with cluster(scheduler) as executor:
            yield executor if timeout is None else Limited(executor, timeout=timeout)
    elif workers == 1 and timeout is None:
        yield None
    else:
        from dpcalc.execution import Processes

        with Processes(workers, timeout=timeout) as executor:
            executor.start(*modules)
            yield executor
