"""Tasks that hand out pieces of their own to the same workers."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest

from dpcalc.errors import InvalidInput, WorkersLost
from dpcalc.execution import Limited, Processes, in_order, side_by_side, workers_of


def powers(base: int, executor: Executor) -> list[int]:
    return list(in_order(partial(pow, base), [1, 2, 3], executor))


class ByHand(Executor):
    """Two workers that bring back a piece when they are told to."""

    def __init__(self) -> None:
        self.num_workers = 2
        self.given: list[tuple[Future[Any], Any]] = []
        self.came = threading.Condition()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self.came:
            self.given.append((future, partial(fn, *args, **kwargs)))
            self.came.notify_all()
        return future

    def wait_for(self, count: int) -> None:
        with self.came:
            assert self.came.wait_for(lambda: len(self.given) >= count, 60)

    def bring_back(self, number: int) -> None:
        future, work = self.given[number]
        future.set_result(work())


@pytest.mark.parametrize("width", [1, 2, 7])
def test_all_answers_come_with_their_number(width: int) -> None:
    bases = range(2, 9)
    with ThreadPoolExecutor(width) as executor:
        found = dict(side_by_side([partial(powers, base) for base in bases], executor))
    assert found == {k: [base, base**2, base**3] for k, base in enumerate(bases)}


def test_processes_and_their_limits_are_those_of_the_tasks() -> None:
    def widths(executor: Any) -> tuple[int | None, float, list[int]]:
        return workers_of(executor), executor.piece_timeout, powers(3, executor)

    with Processes(2, timeout=60) as executor:
        assert list(side_by_side([widths], executor)) == [(0, (2, 60, [3, 9, 27]))]
    with ThreadPoolExecutor(2) as pool:
        limited = Limited(pool, timeout=50)
        assert list(side_by_side([widths], limited)) == [(0, (2, 50, [3, 9, 27]))]


def test_the_next_begins_when_few_pieces_are_under_way() -> None:
    """Seven pieces for two workers: at most four may be left."""
    workers, begun = ByHand(), threading.Event()

    def first(executor: Executor) -> list[int]:
        return list(in_order(abs, range(7), executor))

    def second(executor: Executor) -> list[int]:
        begun.set()
        return list(in_order(abs, [-1], executor))

    found: list[Any] = []
    collecting = threading.Thread(
        target=lambda: found.extend(side_by_side([first, second], workers)), daemon=True
    )
    collecting.start()
    workers.wait_for(7)
    for number in (0, 1):
        workers.bring_back(number)
    assert not begun.wait(0.2)  # five are under way
    workers.bring_back(2)
    workers.wait_for(8)
    for number in (7, 3, 4, 5, 6):
        workers.bring_back(number)
    collecting.join(60)
    assert dict(found) == {0: list(range(7)), 1: [1]}


def test_an_executor_of_unknown_width_has_one_task_at_a_time() -> None:
    workers = ByHand()
    del workers.num_workers
    begun: list[int] = []

    def task(number: int, executor: Executor) -> int:
        begun.append(number)
        return next(in_order(abs, [-number], executor))

    each = side_by_side([partial(task, number) for number in (1, 2)], workers)
    bringing = threading.Thread(target=lambda: (workers.wait_for(1), workers.bring_back(0)))
    bringing.start()
    assert next(each) == (0, 1)
    workers.wait_for(2)
    assert begun == [1, 2]
    workers.bring_back(1)
    assert list(each) == [(1, 2)]


def test_an_error_is_raised_at_once_and_ends_the_other_tasks() -> None:
    ended: list[BaseException] = []
    failed, done = threading.Event(), threading.Event()

    def fails(executor: Executor) -> int:
        raise InvalidInput("expected something else")

    def goes_on(executor: Executor) -> int:
        assert list(in_order(abs, [-1], executor)) == [1]  # where the other begins
        assert failed.wait(60)
        try:
            return next(in_order(abs, [-1], executor))
        except WorkersLost as error:
            ended.append(error)
            raise
        finally:
            done.set()

    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(InvalidInput, match="something else"):
            list(side_by_side([goes_on, fails], pool))
        failed.set()
        assert done.wait(60)
    assert "nobody waits for" in str(ended[0])


def test_after_an_error_no_task_is_begun() -> None:
    begun: list[int] = []

    def task(number: int, executor: Executor) -> int:
        begun.append(number)
        raise InvalidInput(f"expected another than {number}")

    with ThreadPoolExecutor(2) as pool, pytest.raises(InvalidInput, match="another than 1"):
        list(side_by_side([partial(task, number) for number in (1, 2, 3)], pool))
    assert begun == [1]


def test_the_error_that_ends_the_others_is_the_one_that_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Others end because of it: not before it is there, however long that takes."""
    ready, ended = threading.Event(), threading.Event()

    class Slow(SimpleQueue[Any]):
        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
            if isinstance(item[1].exception(), InvalidInput):
                ended.wait(0.3)  # time enough for the other, if it knew by now
            super().put(item, block, timeout)
            ended.set()

    def goes_on(executor: Executor) -> int:
        list(in_order(abs, [-1], executor))
        ready.set()
        while True:
            list(in_order(abs, [-1], executor))

    def fails(executor: Executor) -> int:
        assert ready.wait(60)
        raise InvalidInput("expected something else")

    module = importlib.import_module("dpcalc.execution.side_by_side")
    monkeypatch.setattr(module, "SimpleQueue", Slow)
    with ThreadPoolExecutor(2) as pool, pytest.raises(InvalidInput, match="something else"):
        list(side_by_side([goes_on, fails], pool))


def test_a_task_that_cannot_be_begun_is_an_error_and_no_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[int] = []

    class Thread(threading.Thread):
        def start(self) -> None:
            begun.append(1)
            if len(begun) == 2:
                raise RuntimeError("can't start new thread")
            super().start()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(abs, [-1, -2])) == [1, 2]  # its threads are there
        monkeypatch.setattr(threading, "Thread", Thread)
        each = side_by_side([lambda _: 1, lambda _: 2, lambda _: 3], pool)
        assert next(each) == (0, 1)
        with pytest.raises(RuntimeError, match="start new thread"):
            next(each)
    assert len(begun) == 2


def test_a_task_is_begun_when_none_is_active_whatever_is_under_way() -> None:
    workers = ByHand()
    del workers.num_workers

    def leaves(executor: Executor) -> int:
        executor.submit(abs, -1)
        return 1

    assert list(side_by_side([leaves, leaves], workers)) == [(0, 1), (1, 1)]


def test_of_what_is_lost_when_nobody_waits_nothing_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An interruption ends the workers, and with them pieces that no longer matter."""
    workers, done = ByHand(), threading.Event()

    def task(executor: Executor) -> int:
        try:
            return next(in_order(abs, [-1], executor))
        finally:
            done.set()

    def fails(executor: Executor) -> int:
        workers.wait_for(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(side_by_side([task, fails], workers))
    workers.given[0][0].set_exception(BrokenExecutor("ended"))
    assert done.wait(60)
    assert len(workers.given) == 1
    assert not caplog.records


def test_what_takes_no_work_is_refused() -> None:
    each: Iterator[Any] = side_by_side([], None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="expected an executor"):
        next(each)
