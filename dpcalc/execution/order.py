"""Answers in the order of their questions, whoever computed them and when.

Statement
    `in_order` yields function(item) for every item, in the items' order. What the function raises
    is raised when its turn comes, as without workers. A piece whose worker was lost is made again,
    a few times at most, and said so in the log; then, or when nobody takes work any more,
    `WorkersLost` is raised: no answer is ever left out. Nobody can tell a worker that hangs from a
    long piece: where none comes back for long, the log says what is waited for. Where the executor
    has a limit (``piece_timeout``), a piece that takes longer is ended, if its process can be
    (``end_late``), and made again once; of other executors nothing more is waited for once none
    came back for so long. Then `WorkersLost` is raised, too.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from typing import Generic, TypeVar

from dpcalc.execution.executors import check_executor, workers_of
from dpcalc.execution.line import Line, told_if_long
from dpcalc.execution.pieces import packed

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_AHEAD = 4
"""Pieces sent ahead for each worker, so that none waits."""

_UNKNOWN = 16
"""Workers that an executor is taken to have where it does not say."""


def in_order(
    function: Callable[[Item], Answer],
    items: Iterable[Item],
    executor: Executor | None = None,
    *,
    what: str = "piece",
    finished: Callable[[int, Answer], None] | None = None,
) -> Generator[Answer, None, None]:
    """The function's answers, in the order of the items.

    Example::

        from dpcalc.execution import in_order
        print(list(in_order(abs, [-1, 2, -3])))

    Args:
        function: pure; it and the items are packed by cloudpickle for an executor.
        items: what it is applied to; taken one after the other, a few for each worker ahead.
        executor: anything with the ``submit`` of `concurrent.futures.Executor`; without one,
            everything is done here, item by item as answers are asked for.
        what: what a piece is called when it has to be made again.
        finished: called with number and answer as soon as a piece is finished, in any order.

    Returns:
        An iterator over the answers; each is made when it is asked for, or before.

    Raises:
        InvalidInput: if the executor is none, or the work cannot be sent.
        WorkersLost: if a piece cannot be brought to its end.
    """
    if executor is None:
        for number, item in enumerate(items):
            value = function(item)
            if finished is not None:
                finished(number, value)
            yield value
        return
    check_executor(executor)
    with closing(Line(executor, packed(function), what, finished)) as line:
        source, upcoming = enumerate(items), 0
        ahead = _AHEAD * (workers_of(executor) or _UNKNOWN)
        while True:
            while len(line.sent) + len(line.back) < ahead:
                following = next(source, None)
                if following is None:
                    ahead = 0
                    break
                line.send(*following)
            if upcoming in line.back:
                yield line.turn(upcoming)
                upcoming += 1
            elif line.sent:
                line.collect()
            else:
                return


class Handed(Generic[Answer]):
    """Answers, in order, of pieces that were all handed out at once."""

    def __init__(self, here: Iterator[Answer], line: Line | None, count: int) -> None:
        """Of pieces that are made here, or in a line of so many."""
        self._here, self._line, self._count = here, line, count

    def __iter__(self) -> Iterator[Answer]:
        if self._line is None:
            yield from self._here
            return
        for number in range(self._count):
            while number not in self._line.back:
                self._line.collect()
            yield self._line.turn(number)

    def come_down_to(self, most: int | None) -> bool:
        """Wait until at most so many are not finished; whether none of the others raised an error."""
        line = self._line
        while line is not None and most is not None and len(line.sent) > most:
            line.collect()
            if not all(done for done, _ in line.back.values()):
                return False
        return True


@contextmanager
def handed_out(
    function: Callable[[Item], Answer],
    items: Sequence[Item],
    executor: Executor | None = None,
    *,
    what: str = "piece",
) -> Iterator[Handed[Answer]]:
    """`in_order` for a few pieces that are handed out at once, before all that follows in the block.

    Whoever is free takes them, while other work is waited for; without an executor they are made
    here when their answers are asked for.

    Args:
        function: pure; see `in_order`.
        items: what it is applied to.
        executor: who does the work; this process if left out.
        what: what a piece is called when it has to be made again.
    """
    if executor is None or not items:
        yield Handed(map(function, items), None, len(items))
        return
    check_executor(executor)
    with closing(Line(executor, packed(function), what)) as line:
        for number, item in enumerate(items):
            line.send(number, item)
        yield Handed(iter(()), line, len(items))


def where_it_can_be_ended(
    function: Callable[[], Answer], executor: Executor | None, *, what: str
) -> Answer:
    """The function's answer: from a worker if the executor has a limit of time, else made here."""
    if getattr(executor, "piece_timeout", None) is None:
        with told_if_long(what):
            return function()
    with closing(in_order(_call, [function], executor, what=what)) as made:
        return next(made)


def _call(function: Callable[[], Answer]) -> Answer:
    return function()
