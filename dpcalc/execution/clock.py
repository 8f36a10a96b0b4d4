"""How long pieces have been under way in processes of this machine, and an end to those that hang.

Statement
    A piece's time begins in its process when the function is there and what it needs is imported.
    It never seems longer here than it was: what is heard late counts from then on.
"""

from __future__ import annotations

import multiprocessing
import os
import struct
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

from dpcalc.execution.pieces import answer, unpacked

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

_WORD = struct.Struct("<QQ?")
"""Number of a piece, process, whether it begins: so short that words of two processes never mix."""

_TOLD: list[Connection] = []
"""In a worker: where it says what it begins."""


class Clock:
    """When pieces began.

    Attributes:
        told: the end of the line that workers have.
    """

    def __init__(self, line: tuple[Connection, Connection]) -> None:
        self._heard, self.told = line
        self._pieces: dict[int, Future[Any]] = {}
        self._running: dict[int, tuple[int, float]] = {}
        self._count = 0

    def number(self) -> int:
        """A number for one more piece."""
        self._count += 1
        return self._count

    def follow(self, number: int, future: Future[Any]) -> None:
        """Whose answer the piece of this number is."""
        self._pieces[number] = future
        future.add_done_callback(lambda _: self._pieces.pop(number, None))

    def end_late(self, seconds: float) -> dict[Future[Any], bool]:
        """All pieces under way if one took longer, whose process is killed with all that are busy.

        Each with whether it was one that took longer.
        """
        while self._heard.poll():
            number, process, begins = _WORD.unpack(self._heard.recv_bytes())
            if begins:
                self._running[number] = (process, time.monotonic())
            else:
                self._running.pop(number, None)
        now = time.monotonic()
        late = {n for n, (_, begun) in self._running.items() if now - begun > seconds}
        pieces = {future: number in late for number, future in list(self._pieces.items())}
        if not any(pieces.values()):
            return {}
        busy = {process for process, _ in self._running.values()}
        for child in multiprocessing.active_children():
            if child.pid in busy:
                child.kill()
        self._running.clear()
        return pieces

    def close(self) -> None:
        """Hang up."""
        for end in (self._heard, self.told):
            end.close()


def tell(line: Connection) -> None:
    """First in a worker: from now on it says what it begins and ends."""
    _TOLD[:] = [line]


def timed(
    number: int,
    fn: Callable[Arguments, Answer],
    /,
    *args: Arguments.args,
    **kwargs: Arguments.kwargs,
) -> Answer:
    """Call a function in a worker, and say when it begins and ends."""
    if fn is answer:
        with suppress(Exception):  # raised again, and sent back, by the call
            unpacked(args[0])  # type: ignore[arg-type] # the function, packed
    _say(number, begins=True)
    try:
        return fn(*args, **kwargs)
    finally:
        _say(number, begins=False)


def _say(number: int, *, begins: bool) -> None:
    with suppress(OSError):  # nobody listens any more
        _TOLD[0].send_bytes(_WORD.pack(number, os.getpid(), begins))
