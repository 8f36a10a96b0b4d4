"""Independent parts of a computation on threads of this process, with the same bits on any number.

For compiled loops that release the interpreter's lock. The parts are the caller's and do not depend
on the number of threads; each writes its own piece of the result, so it does not matter which thread
has which part, nor when.

How many threads
    What NUMBA_NUM_THREADS says, or without it OMP_NUM_THREADS, as joblib, loky and Dask set them in
    their workers. Where neither is set: one in a process that another one started to share its work
    (`multiprocessing`, and so ``--workers``), elsewhere one for each processor that this process may
    use (its affinity, as ``taskset`` sets it).
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Self

from dpcalc import checks
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
"""What the environment may say; the first that is set counts."""


def available() -> int:
    """How many threads compiled loops take, 1 or above; the rule is that of the module.

    Raises:
        InvalidInput: if the environment says what is no number of threads.
    """
    for name in VARIABLES:
        said = os.environ.get(name, "").strip()
        if said:
            first = said.split(",")[0].strip()  # OpenMP takes one number for each level of nesting
            if not (first.isascii() and first.isdigit() and int(first) >= 1):
                raise InvalidInput(
                    f"{name} needs a whole number of threads, 1 or above; got {name}={said!r}; "
                    "unset it for one thread for each processor"
                )
            return int(first)
    from multiprocessing import parent_process

    return 1 if parent_process() is not None else _processors()


def _processors() -> int:
    """Processors that this process may use, where the system tells; else those of the machine."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


class Team:
    """Threads that share the parts of one computation after another, and end with the block.

    The caller's own thread works too, so a team of one starts none; the others start when there is
    first something to share. Handing out a computation costs some 0.1 ms; parts should take longer.

    Example::

        import numpy as np
        from dpcalc.algorithms.problems.threads import Team
        squares = np.zeros(10)
        def square(part):
            squares[part] = part**2
        with Team(2) as team:
            team.share(square, 10)
        print(squares)
    """

    def __init__(self, threads: int | None = None) -> None:
        """A team.

        Args:
            threads: how many, 1 or above; `available` if left out.

        Raises:
            InvalidInput: for another number.
        """
        self.threads = available() if threads is None else checks.count("threads", threads)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None

    def share(self, work: Callable[[int], object], parts: int) -> None:
        """Call ``work(0)``, ..., ``work(parts - 1)``, each once, on all threads; wait for all.

        Every thread takes the next part as soon as it has finished one, so parts may take different
        times.

        Args:
            work: independent of other parts; it sees the caller's context, such as `numpy.errstate`.
            parts: how many, 0 or above.

        Raises:
            BaseException: what the first part that fails raises, as on one thread. Parts after it may
                or may not have been worked on; none is under way any more.
        """
        helpers = min(self.threads, parts) - 1
        if helpers < 1:
            for part in range(parts):
                work(part)
            return
        line = _Line(work, parts)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="dpcalc")
        try:
            for _ in range(helpers):
                self._pool.submit(copy_context().run, line.help)
            line.work_off()
        finally:
            line.end()  # an interruption of this thread ends the others after their parts
            line.wait()
        if line.failed:
            raise line.failed[min(line.failed)]


class _Line:
    """Parts in their order, which several threads take one after the other."""

    def __init__(self, work: Callable[[int], object], parts: int) -> None:
        self.failed: dict[int, BaseException] = {}
        self._work, self._next, self._parts, self._lock = work, 0, parts, threading.Lock()
        self._helping, self._idle = 0, threading.Condition(self._lock)

    def help(self) -> None:
        """Take parts on another thread than the one that waits, which alone is ever interrupted."""
        with self._lock:
            self._helping += 1
        try:
            self.work_off()
        finally:
            with self._lock:
                self._helping -= 1
                self._idle.notify_all()

    def wait(self) -> None:
        """Until nobody helps, also one whose thread the caller was interrupted in starting."""
        with self._lock:
            self._idle.wait_for(lambda: not self._helping)

    def work_off(self) -> None:
        """Take parts until there are none; those before one that fails have all been begun."""
        while True:
            with self._lock:
                part = self._next
                if part >= self._parts:
                    return
                self._next += 1
            try:
                self._work(part)
            except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
                self.failed[part] = error
                self.end()

    def end(self) -> None:
        """Give out no more parts."""
        with self._lock:
            self._parts = self._next
