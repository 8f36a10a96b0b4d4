"""Pieces under way on an executor: sent, waited for, sent again, given up.

Statement
    A piece whose worker was lost is sent again, at most `ATTEMPTS` times in all, and said so in the
    log; one that took longer than the executor's limit (``piece_timeout``) at most `TIMEOUTS` times.
    Several lines may share an executor: it says itself which pieces it ended, and why (``ended``), and
    where it ends none, when it last brought one back (``heard``). It is told that a line waits
    (``waits``), and may say that nobody waits for the answers (``abandoned``): what is lost is then not
    made again, and nothing said of it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from dpcalc.errors import WorkersLost
from dpcalc.execution.pieces import answer, opened, packed

ATTEMPTS = 3
"""How often a piece is begun before it is given up."""

TIMEOUTS = 2
"""How often a piece is begun that takes too long: one that always does would do so for ever."""

_SILENT = 60.0
"""Seconds without a finished piece after which it is said what is waited for."""

_LOST = (Exception, asyncio.CancelledError)
"""What a lost worker raises: anything, since errors of the work itself come back as answers."""

_log = logging.getLogger("dpcalc.execution")


@dataclass(slots=True)
class Line:
    """Pieces under way.

    Attributes:
        executor: who takes them.
        function: packed.
        what: what a piece is called.
        finished: see `in_order`.
        sent: pieces under way, each with its item.
        back: outcomes that wait for their turn.
        tries: how often a piece was sent, but for when it was ended with others.
        ended: how often a piece took too long.
    """

    executor: Executor
    function: bytes
    what: str
    finished: Callable[[int, Any], None] | None = None
    sent: dict[int, tuple[Any, Future[bytes]]] = field(default_factory=dict)
    back: dict[int, tuple[bool, Any]] = field(default_factory=dict)
    tries: dict[int, int] = field(default_factory=dict)
    ended: dict[int, int] = field(default_factory=dict)

    def send(self, number: int, item: Any, cause: BaseException | None = None) -> None:
        """Send a piece, for the first time or again."""
        tried = self.tries[number] = self.tries.get(number, 0) + 1
        try:
            if tried > ATTEMPTS and cause is not None:
                raise cause
            self.sent[number] = (item, self.executor.submit(answer, self.function, packed(item)))
        except _LOST as error:
            raise WorkersLost(
                f"expected workers that bring their work to an end; {self.what} {number + 1} was "
                f"lost {tried - 1} times, at last by {_said(error)}; nothing is concluded from the "
                "rest; see whether a worker ran out of memory, and try fewer workers or none"
            ) from error

    def collect(self) -> None:
        """Wait for at least one piece, and take all that are finished."""
        waiting = {number: future for number, (_, future) in self.sent.items()}
        if (told := getattr(self.executor, "waits", None)) is not None:
            told()
        alive = getattr(self.executor, "alive", None)
        if not _wait(list(waiting.values()), alive, self.waited, self.watch, self.limit):
            raise WorkersLost(
                f"expected an answer to {self.what} {min(waiting) + 1}; whoever gives out the work "
                "is gone; nothing is concluded from the rest; see whether the scheduler runs"
            )
        for number in [n for n, future in waiting.items() if future.done()]:
            item, future = self.sent.pop(number)
            try:
                self.back[number] = opened(future.result())
            except _LOST as error:
                self.again(number, item, error, _why_ended(self.executor, future))
                continue
            done, value = self.back[number]
            if done and self.finished is not None:
                self.finished(number, value)

    def again(self, number: int, item: Any, error: BaseException, late: bool | None) -> None:
        """Send a piece that was lost once more, and say why.

        ``late`` is whether it was ended since it took too long, or beside one that did; None if it
        was not ended at all.
        """
        if getattr(self.executor, "abandoned", False):
            raise WorkersLost(f"nobody waits for {self.what} {number + 1}") from error
        if late:
            self.ended[number] = self.ended.get(number, 0) + 1
            if self.ended[number] >= TIMEOUTS:
                raise WorkersLost(
                    f"expected {self.what} {number + 1} to end within {self.limit:g} s (timeout); it "
                    f"was ended {self.ended[number]} times; nothing is concluded from the rest; see "
                    "whether it hangs, or allow more; what was finished is kept with --checkpoint, "
                    "and --resume goes on from there"
                ) from error
            _log.warning(
                "%s %d took longer than %g s and was ended with its worker; it is made again",
                self.what, number + 1, self.limit,
            )  # fmt: skip
        elif late is None:
            _log.warning(
                "%s %d was lost with its worker (%s); it is made again",
                self.what, number + 1, _said(error),
            )  # fmt: skip
            self.send(number, item, error)
            return
        self.tries[number] -= 1  # that was no fault of a worker
        self.send(number, item, error)

    @property
    def limit(self) -> float | None:
        """Seconds that a piece may take."""
        return getattr(self.executor, "piece_timeout", None)

    def watch(self, seconds: float) -> None:
        """End what takes too long; where it cannot be ended, stop waiting after so long a silence."""
        if self.limit is None:
            return
        end_late = getattr(self.executor, "end_late", None)
        if end_late is not None:
            end_late()
            return
        heard = getattr(self.executor, "heard", None)  # by another line, too
        if (seconds if heard is None else min(seconds, time.monotonic() - heard)) > self.limit:
            _log.warning(  # at once: a pool of threads that is left first waits, and says nothing
                "%s did not come back within %g s and will not be waited for; leaving a pool of "
                "threads still waits until they end, which Ctrl-C cuts short",
                self._waiting(), self.limit,
            )  # fmt: skip
            raise WorkersLost(
                f"expected a finished piece within {self.limit:g} s (timeout); {self._waiting()} did "
                "not come back; nothing is concluded from the rest; these workers cannot be ended "
                "from here: see whether they hang, or allow more; what was finished is kept with "
                "--checkpoint, and --resume goes on from there"
            )

    def _waiting(self) -> str:
        """What is under way."""
        first, more = min(self.sent), len(self.sent) - 1
        return f"{self.what} {first + 1}" + (f" and {more} more" if more else "")

    def waited(self, seconds: float) -> None:
        """Say that nothing came back for so long."""
        _log.warning(
            "nothing was finished for %.0f s; waiting for %s: long work, or a worker that "
            "hangs%s; what was finished is kept with --checkpoint, so Ctrl-C and --resume go on "
            "from there",
            seconds, self._waiting(), ", which --timeout ends" if self.limit is None else "",
        )  # fmt: skip

    def turn(self, number: int) -> Any:
        """The answer whose turn it is; an error is raised."""
        done, value = self.back.pop(number)
        if not done:
            raise value
        return value

    def close(self) -> None:
        """Take back what was not begun; nobody waits for the rest."""
        for _, future in self.sent.values():
            with suppress(*_LOST):
                future.cancel()


@contextmanager
def told_if_long(what: str) -> Iterator[None]:
    """Say that something that this process does itself takes long, as of pieces that others make."""
    done = threading.Event()
    threading.Thread(target=_tell, args=(done, what), daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _tell(done: threading.Event, what: str) -> None:
    begun, told = time.monotonic(), _SILENT
    while not done.wait(begun + told - time.monotonic()):
        told = 2 * (seconds := time.monotonic() - begun)
        _log.warning(
            "nothing was finished for %.0f s; waiting for the %s, made in this process: long work, or "
            "something that hangs, which --timeout ends, or Ctrl-C",
            seconds, what,
        )  # fmt: skip


def _wait(
    futures: list[Future[bytes]],
    alive: Callable[[], bool] | None,
    waited: Callable[[float], None],
    watch: Callable[[float], None],
    limit: float | None,
) -> bool:
    """Until one is done; False if whoever gives out the work is no longer there.

    Executors with futures of their own are asked now and then, and so is whether one is alive.
    Tells how long nothing came, again whenever that has doubled.
    """
    plain = all(isinstance(future, Future) for future in futures)
    pause, begun, told = 0.001, time.monotonic(), _SILENT
    longest = 1.0 if limit is None else min(1.0, limit / 4)
    while not any(future.done() for future in futures):
        if alive is not None and not alive():
            return False
        if plain:
            wait(futures, timeout=min(longest, told), return_when=FIRST_COMPLETED)
        else:
            time.sleep(pause)
            pause = min(1.5 * pause, longest)
        silent = time.monotonic() - begun
        if any(future.done() for future in futures):
            continue
        watch(silent)
        if silent >= told:
            waited(silent)
            told = 2 * silent
    return True


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _why_ended(executor: Executor, future: Future[bytes]) -> bool | None:
    """Whether the executor ended it since it took too long, or beside another; None if neither."""
    ended: Mapping[Future[bytes], bool] = getattr(executor, "ended", {})
    return ended.get(future)
