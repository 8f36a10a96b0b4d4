"""Executors whose workers belong to somebody else, and how long they are waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.execution.executors import check_executor, workers_of
from dpcalc.execution.processes import Processes

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class Limited(Executor):
    """An executor from which waiting ends when nothing has come back for long.

    Threads and the workers of a cluster cannot be ended from here: they go on with what hangs, and
    leaving a pool of threads waits for them. What ends is the work that waits, with `WorkersLost`; a
    line of the log names the piece at once, since leaving the pool may hide the error.

    Example::

        from concurrent.futures import ThreadPoolExecutor
        from dpcalc.execution import Limited, in_order
        with ThreadPoolExecutor(2) as pool:
            print(list(in_order(abs, [-1, 2], Limited(pool, timeout=60))))
    """

    def __init__(self, executor: Executor, *, timeout: float) -> None:
        """The same executor, with a limit.

        Args:
            executor: who does the work; `Processes` have a timeout of their own.
            timeout: seconds without a finished piece after which waiting ends, above 0. Count the
                time until a worker is free.

        Raises:
            InvalidInput: for another number, or what takes no work.
        """
        check_executor(executor)
        if isinstance(executor, Processes):
            raise InvalidInput(
                "expected an executor whose processes cannot be ended from here; got Processes; try "
                f"Processes({workers_of(executor)}, timeout={timeout!r}), which ends what hangs"
            )
        self.piece_timeout = checks.positive("timeout", timeout)
        self.num_workers = workers_of(executor)
        self.alive: Callable[[], bool] | None = getattr(executor, "alive", None)
        self.heard = time.monotonic()
        self._executor = executor

    def submit(
        self, fn: Callable[Arguments, Answer], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Answer]:
        """As that of the executor."""
        future = self._executor.submit(fn, *args, **kwargs)
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(self._hear)
        return future

    def _hear(self, _: object) -> None:
        self.heard = time.monotonic()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As that of the executor."""
        more: dict[str, Any] = {"cancel_futures": True} if cancel_futures else {}
        self._executor.shutdown(wait=wait, **more)
