"""Processes of this machine, replaced when one of them dies or takes too long."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, Self, TypeVar
from weakref import WeakKeyDictionary

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.execution.clock import Clock, tell, timed

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""What decides how many threads linear algebra takes; one in each process unless they say more."""


_MOST_ON_WINDOWS = 61
"""Objects that a Windows process can wait for, less those that the pool needs itself."""


_MOST, _MOST_EACH = 64, 16
"""Processes that are started on any machine, and for every processor of a larger one."""


class Processes(Executor):
    """An executor of processes that are started again and share nothing.

    A `concurrent.futures.ProcessPoolExecutor` that is replaced when one of its processes dies: what
    was under way fails as usual, and can be submitted again. The processes end with the one that
    made them, whatever ended it. Linear algebra has one thread in each, unless the environment says
    otherwise. A script that makes them needs ``if __name__ == "__main__":``.

    With a timeout, a piece of dpcalc's work that takes longer is ended by killing the processes, made
    again once, and then given up by name (`WorkersLost`).

    Example::

        from dpcalc.execution import Processes
        if __name__ == "__main__":
            with Processes(2) as executor:
                print(executor.submit(pow, 2, 10).result())
    """

    def __init__(self, workers: int, *, timeout: float | None = None) -> None:
        """An executor; processes start with the first work.

        Args:
            workers: how many processes, 1 or above; at most 64, or 16 for every processor that this
                process may use if that is more; on Windows at most 61.
            timeout: seconds that one piece may take once its process has begun it, above 0; no limit
                if left out.

        Raises:
            InvalidInput: for another number.
        """
        self._max_workers = checks.count("workers", workers)
        if sys.platform == "win32" and self._max_workers > _MOST_ON_WINDOWS:
            raise InvalidInput(
                f"workers needs at most {_MOST_ON_WINDOWS} on Windows, which waits for no more; got "
                f"workers={workers}"
            )
        usable = _usable_processors()
        if self._max_workers > (most := max(_MOST, _MOST_EACH * usable)):
            raise InvalidInput(
                f"workers needs at most {most}: this process may use {usable} processor"
                f"{'s' * (usable > 1)}, and more wait for one another; got workers={workers}; try "
                f"{usable}"
            )
        self.piece_timeout = None if timeout is None else checks.positive("timeout", timeout)
        self.ended: WeakKeyDictionary[Future[Any], bool] = WeakKeyDictionary()
        self._clock: Clock | None = None
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._lifeline: tuple[Connection, Connection] | None = None
        self._closed = False

    def start(self, *modules: str) -> None:
        """Start all processes now, which import modules while this one gets ready."""
        for _ in range(self._max_workers):
            self.submit(_import, modules)

    def submit(
        self, fn: Callable[Arguments, Answer], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Answer]:
        """As that of every executor."""
        with self._lock:
            if self._closed:
                raise RuntimeError("work was given to processes that were shut down")
            with _one_thread_each():  # a process may be started by any piece of work
                if self._pool is None:
                    self._pool = self._begun()
                try:
                    return self._given(self._pool, fn, *args, **kwargs)
                except BrokenExecutor:
                    self._end(wait=True)
                    self._pool = self._begun()
                    return self._given(self._pool, fn, *args, **kwargs)

    def _given(
        self,
        pool: ProcessPoolExecutor,
        fn: Callable[Arguments, Answer],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Future[Answer]:
        if self._clock is None:
            return pool.submit(fn, *args, **kwargs)
        number = self._clock.number()
        future = pool.submit(timed, number, fn, *args, **kwargs)
        self._clock.follow(number, future)
        return future

    def end_late(self) -> None:
        """End what has taken longer than the timeout, and all beside it; `ended` says which was which.

        The processes are killed; others are begun later.
        """
        with self._lock:
            if self._clock is not None and self.piece_timeout is not None:
                self.ended.update(self._clock.end_late(self.piece_timeout))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As that of every executor."""
        with self._lock:
            self._closed = True
            if self._pool is not None and not cancel_futures:
                self._pool.shutdown(wait=wait)
            self._end(wait=wait)

    def __exit__(self, *error: object) -> None:
        """Stop at once: who leaves early does not want the rest."""
        self.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def _begun(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        self._lifeline = context.Pipe(duplex=False)
        self._clock = None if self.piece_timeout is None else Clock(context.Pipe(duplex=False))
        return ProcessPoolExecutor(
            self._max_workers,
            mp_context=context,
            initializer=_begin,
            initargs=(self._lifeline[0], None if self._clock is None else self._clock.told),
        )

    def _end(self, *, wait: bool) -> None:
        """Cut the lifeline, which ends the processes in the middle of whatever they do."""
        pool, line, clock = self._pool, self._lifeline, self._clock
        self._pool = self._lifeline = self._clock = None
        if line is not None:
            for end in line:
                end.close()
        if pool is not None:
            pool.shutdown(wait=wait, cancel_futures=True)
        if clock is not None:
            clock.close()


def _usable_processors() -> int:
    """Those that this process may use, where the system says it."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _begin(lifeline: Connection, told: Connection | None) -> None:
    """First in every process: leave interruptions to the parent, and end with it."""
    if told is not None:
        tell(told)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _import(modules: Iterable[str]) -> None:
    """What cannot be imported is left to the work, which says so."""
    for module in modules:
        with suppress(Exception):
            importlib.import_module(module)


def _end_with(lifeline: Connection) -> None:
    try:
        lifeline.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """The environment in which processes are started."""
    missing = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(missing, "1"))
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)
