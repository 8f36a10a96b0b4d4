"""Tasks that each hand out pieces of their own, one beginning where the one before leaves workers idle.

Statement
    `side_by_side` yields every task's answer as soon as it is there. A task has a thread, in which it
    hands out its pieces and waits for them; the next one begins when a task waits and few pieces are
    under way (`_FEW` for each worker). So the pieces of the first come first, and no worker waits for
    the last of them while there is something else to do. An executor that does not say how many workers
    it has is given a task when no piece is under way. After an error no task is begun any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from typing import Any, Generic, ParamSpec, TypeVar

from dpcalc.execution.executors import check_executor, workers_of

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Task = Callable[[Executor], Answer]

_FEW = 2
"""Pieces under way for each worker from which on the next task begins; it has to get ready first."""

_PAUSE = 1.0
"""Seconds after which whoever waits can be interrupted, where a system does not do so at once."""


def side_by_side(
    tasks: Sequence[Callable[[Executor], Answer]], executor: Executor
) -> Generator[tuple[int, Answer], None, None]:
    """Every task's number and answer, as soon as it is there.

    Example::

        from concurrent.futures import ThreadPoolExecutor
        from functools import partial
        from dpcalc.execution import in_order, side_by_side
        def powers(base, executor):
            return list(in_order(partial(pow, base), [1, 2], executor))
        with ThreadPoolExecutor(2) as pool:
            print(sorted(side_by_side([partial(powers, 2), partial(powers, 3)], pool)))

    Args:
        tasks: called with an executor for their pieces, each in a thread of its own.
        executor: who does the pieces.

    Raises:
        InvalidInput: if the executor is none.
        Exception: what a task raises, as soon as it does; no other answer follows.
    """
    check_executor(executor)
    shared = _Shared(executor, tasks)
    try:
        shared.begin_another()
        for _ in tasks:
            number, answered = shared.next_answer()
            yield number, answered.result()
    finally:
        shared.closed = True


class _Shared(Generic[Answer]):
    """What the tasks have in common: who does the pieces, and which tasks are to be begun."""

    def __init__(self, executor: Executor, tasks: Sequence[Task[Answer]]) -> None:
        self.executor = executor
        self.closed = False
        self._few = _FEW * (workers_of(executor) or 0)
        self._lock = threading.Lock()
        self._active = 0
        self._under_way: list[Future[Any]] = []
        self._upcoming = iter(enumerate(tasks))
        self._answers: SimpleQueue[tuple[int, Future[Answer]]] = SimpleQueue()

    def given(self, future: Future[Any]) -> None:
        """A piece is under way."""
        with self._lock:
            self._under_way.append(future)

    def begin_another(self) -> None:
        """Begin a task, if there is one, and few pieces are under way or no task is."""
        with self._lock:
            self._under_way = [future for future in self._under_way if not future.done()]
            if self.closed or (self._active and len(self._under_way) > self._few):
                return
            number, task = next(self._upcoming, (0, None))
            self._active += task is not None
        if task is not None:
            try:
                threading.Thread(target=self._do, args=(number, task), daemon=True).start()
            except BaseException as error:  # noqa: BLE001 - such as no room for a thread
                self._ended(number, _failed(error))

    def _do(self, number: int, task: Task[Answer]) -> None:
        made: Future[Answer] = Future()
        try:
            made.set_result(task(_Handing(self)))
        except BaseException as error:  # noqa: BLE001 - raised by whoever asks for the answer
            made = _failed(error)
        self._ended(number, made)

    def _ended(self, number: int, made: Future[Answer]) -> None:
        """Hand over an answer; after an error, which is the next to be seen, nothing more is begun."""
        with self._lock:
            self._active -= 1
            self._answers.put((number, made))
            self.closed = self.closed or made.exception() is not None
        self.begin_another()

    def next_answer(self) -> tuple[int, Future[Answer]]:
        """Of the task that ends next."""
        while True:
            try:
                return self._answers.get(timeout=_PAUSE)
            except Empty:
                continue


def _failed(error: BaseException) -> Future[Any]:
    """What raises an error when it is asked for."""
    made: Future[Any] = Future()
    made.set_exception(error)
    return made


class _Handing(Executor):
    """The executor as a task sees it."""

    def __init__(self, shared: _Shared[Any]) -> None:
        self._shared = shared

    def submit(
        self, fn: Callable[Arguments, Answer], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Answer]:
        """As that of the executor, until nobody wants the answers any more."""
        if self._shared.closed:
            raise RuntimeError("work was given to workers whose answers nobody waits for")
        future = self._shared.executor.submit(fn, *args, **kwargs)
        self._shared.given(future)
        return future

    @property
    def abandoned(self) -> bool:
        """Whether nobody waits for the answers any more."""
        return self._shared.closed

    def waits(self) -> None:
        """A task has handed out what it can, and waits."""
        self._shared.begin_another()

    def __getattr__(self, name: str) -> Any:
        """What the executor says of itself: its width, its limits."""
        return getattr(self._shared.executor, name)
