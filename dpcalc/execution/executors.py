"""What an executor says of itself."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

from dpcalc.errors import InvalidInput

_WIDTHS = ("_max_workers", "num_workers", "max_workers")
"""Where executors say it: the standard library and loky, mpi4py, others."""


def is_enough(count: int, executor: Executor | None) -> bool:
    """Whether so many pieces of different lengths keep all workers of an executor busy."""
    workers = None if executor is None else workers_of(executor)
    return workers is not None and count >= 2 * workers


def workers_of(executor: Executor) -> int | None:
    """How many workers an executor has; None where it does not say."""
    found = (getattr(executor, name, None) for name in _WIDTHS)
    return next((number for number in found if isinstance(number, int) and number > 0), None)


def check_executor(executor: Any) -> None:
    """Refuse what does not take work."""
    if not callable(getattr(executor, "submit", None)):
        raise InvalidInput(
            "expected an executor, with submit(function, ...) as that of concurrent.futures; got "
            f"{type(executor).__name__}; try dpcalc.execution.Processes(2)"
        )
