"""Pieces of work on executors: order, faults, and who is told what."""

from __future__ import annotations

import logging
import os
import pickle
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dpcalc.errors import InvalidInput, WorkersLost
from dpcalc.execution import Processes, handed_out, in_order, where_it_can_be_ended, workers_of
from dpcalc.execution.line import ATTEMPTS
from dpcalc.execution.processes import THREADS


class Shuffled(Executor):
    """Carries out what it was given in random order, and loses the given share of it."""

    def __init__(self, seed: int, lost: float = 0.0) -> None:
        self.random, self.lost = random.Random(seed), lost
        self.pending: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = []
        self.more, self.stopped = threading.Condition(), False
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self.more:
            self.pending.append((future, fn, args))
            self.more.notify()
        return future

    def work(self) -> None:
        while True:
            with self.more:
                while not self.pending and not self.stopped:
                    self.more.wait()
                if self.stopped:
                    return
                while len(self.pending) < 8 and self.more.wait(0.01):
                    pass  # gather some, to have a choice
                chosen = self.pending.pop(self.random.randrange(len(self.pending)))
            future, function, args = chosen
            if not future.set_running_or_notify_cancel():
                continue
            if self.random.random() < self.lost:
                future.set_exception(BrokenExecutor("a worker was killed"))
            else:
                future.set_result(function(*args))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self.more:
            self.stopped = True
            self.more.notify()
        self.thread.join()


def square(number: int) -> int:
    return number * number


def failing(number: int) -> int:
    if number == 5:
        raise ZeroDivisionError("five")
    return number


@pytest.mark.parametrize("seed", range(5))
def test_answers_come_in_order_whatever_order_they_are_made_in(seed: int) -> None:
    with Shuffled(seed) as executor:
        finished: list[int] = []
        found = list(
            in_order(square, range(100), executor, finished=lambda n, _: finished.append(n))
        )
    assert found == [n * n for n in range(100)]
    assert sorted(finished) == list(range(100))
    assert finished != sorted(finished)


def test_lost_pieces_are_made_again_and_told(caplog: pytest.LogCaptureFixture) -> None:
    # A piece is given up with probability 0.05³; among 40 pieces that is 0.005, at this seed never.
    with Shuffled(3, lost=0.05) as executor, caplog.at_level(logging.WARNING):
        assert list(in_order(square, range(40), executor, what="run")) == [n * n for n in range(40)]
    told = [r.getMessage() for r in caplog.records]
    assert told
    assert all("lost with its worker (BrokenExecutor: a worker was killed)" in t for t in told)


def test_a_piece_that_is_always_lost_ends_it_by_name() -> None:
    with (
        Shuffled(0, lost=1.0) as executor,
        pytest.raises(WorkersLost, match=r"run [123] was lost 3 times"),
    ):
        list(in_order(square, range(3), executor, what="run"))
    assert ATTEMPTS == 3


def test_what_a_function_raises_is_raised_in_its_turn() -> None:
    with Shuffled(1) as executor:
        found = in_order(failing, range(10), executor)
        assert [next(found) for _ in range(5)] == [0, 1, 2, 3, 4]
        with pytest.raises(ZeroDivisionError, match="five"):
            next(found)


def test_who_stops_early_takes_back_what_was_not_begun() -> None:
    begun: list[int] = []

    class Waiting(Executor):
        _max_workers = 5

        def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
            future: Future[Any] = Future()
            begun.append(1)
            if len(begun) == 1:
                future.set_result(fn(*args))
            futures.append(future)
            return future

    futures: list[Future[Any]] = []
    found = in_order(square, range(1000), Waiting())
    assert next(found) == 0
    found.close()
    assert len(futures) <= 21
    assert all(f.cancelled() for f in futures[1:])


def test_what_is_handed_out_is_sent_before_all_else() -> None:
    sent: list[int] = []

    class Noting(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **_: Any) -> Future[Any]:
            sent.append(pickle.loads(args[1]))  # noqa: S301 - packed here
            return super().submit(fn, *args)

    with Noting(2) as executor, handed_out(square, range(30), executor) as found:
        assert list(in_order(square, [50, 51], executor)) == [2500, 2601]
        assert sent == [*range(30), 50, 51]
        assert found.come_down_to(2)
        assert list(found) == [n * n for n in range(30)]
    with handed_out(square, range(3)) as found:
        assert found.come_down_to(2)
        assert list(found) == [0, 1, 4]
    with Noting(2) as executor, handed_out(failing, range(10), executor) as numbers:
        assert not numbers.come_down_to(0)
        with pytest.raises(ZeroDivisionError, match="five"):
            list(numbers)


class Job:
    """A future of its own kind, as those of batch systems are."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.made, self.asked = make, 0

    def done(self) -> bool:
        self.asked += 1
        return self.asked > 3

    def result(self) -> Any:
        return self.made()


def test_futures_of_other_kinds_are_asked() -> None:
    class Queue:
        def submit(self, fn: Callable[..., Any], *args: Any) -> Job:
            return Job(lambda: fn(*args))

    assert list(in_order(square, range(6), Queue())) == [n * n for n in range(6)]  # type: ignore[arg-type]


def test_what_is_no_executor_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected an executor"):
        list(in_order(square, [1], 4))  # type: ignore[arg-type]


def test_what_cannot_travel_is_refused_before_anything_is_sent() -> None:
    lock = threading.Lock()
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(InvalidInput, match="leave the workers out"),
    ):
        list(in_order(lambda n: (lock, n), [1], executor))


def test_threads_share_no_object_of_the_function() -> None:
    class Counting:
        busy = 0

        def __call__(self, number: int) -> int:
            self.busy += 1
            time.sleep(0.001)
            alone = self.busy == 1
            self.busy -= 1
            return number if alone else -1

    with ThreadPoolExecutor(4) as executor:
        assert list(in_order(Counting(), range(60), executor)) == list(range(60))


def test_the_number_of_workers_is_read_where_it_is_said() -> None:
    with ThreadPoolExecutor(3) as executor:
        assert workers_of(executor) == 3
    with Processes(4) as processes:
        assert workers_of(processes) == 4
    with Shuffled(0) as shuffled:
        assert workers_of(shuffled) is None


def dies_once(place: tuple[str, int]) -> int:
    """Kills its process the first time that it is asked for 3."""
    folder, number = place
    mark = Path(folder) / "died"
    if number == 3 and not mark.exists():
        mark.touch()
        os._exit(9)
    return number


def environment(_: int) -> tuple[int, dict[str, str | None]]:
    return os.getpid(), {name: os.environ.get(name) for name in THREADS}


@pytest.fixture(scope="module")
def two() -> Iterator[Processes]:
    with Processes(2) as executor:
        yield executor


def test_a_process_that_dies_is_replaced(
    two: Processes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places = [(str(tmp_path), n) for n in range(20)]
    assert list(in_order(dies_once, places, two, what="run")) == list(range(20))
    assert any("run 4 was lost with its worker" in r.getMessage() for r in caplog.records)


def test_a_process_that_always_dies_ends_it(two: Processes) -> None:
    with pytest.raises(WorkersLost, match="lost 3 times"):
        list(in_order(os._exit, [9], two))
    assert list(in_order(square, [2], two)) == [4]


def test_processes_have_one_thread_of_linear_algebra(
    two: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dict(os.environ)
    for pid, found in in_order(environment, range(4), two):
        assert pid != os.getpid()
        assert {n: v for n, v in found.items() if n not in before} == {
            n: "1" for n in THREADS if n not in before
        }
    assert dict(os.environ) == before


ORPHANS = """
import os, sys, time
from dpcalc.execution import Processes, in_order

def told(number):
    with open(sys.argv[1], "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(60)

if __name__ == "__main__":
    with Processes(2) as executor:
        list(in_order(told, range(4), executor))
"""


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.skipif(sys.platform == "win32", reason="processes are looked up as POSIX does")
def test_processes_end_with_the_one_that_made_them(tmp_path: Path) -> None:
    script, told = tmp_path / "script.py", tmp_path / "pids"
    script.write_text(ORPHANS, encoding="utf-8")
    parent = subprocess.Popen([sys.executable, str(script), str(told)])
    try:
        while not told.exists() or len(told.read_text().split()) < 2:
            assert parent.poll() is None
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
    pids = [int(pid) for pid in told.read_text().split()]
    end = time.monotonic() + 120
    while any(_alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(_alive(pid) for pid in pids)


def test_what_was_shut_down_takes_nothing_more() -> None:
    executor = Processes(1)
    executor.shutdown()
    with pytest.raises(WorkersLost, match="shut down"):
        list(in_order(square, [1], executor))


def _is_imported(module: str) -> bool:
    return module in sys.modules


def test_processes_that_are_started_early_import_what_they_can() -> None:
    with Processes(1) as executor:
        executor.start("no.such.module", "colorsys")
        assert executor.submit(_is_imported, "colorsys").result()


def test_more_processes_than_anybody_has_processors_for_are_refused() -> None:
    for workers in (10**6, 16 * (os.cpu_count() or 1) + 65):
        with pytest.raises(InvalidInput, match=r"at most \d+: this process may use \d+ processor"):
            Processes(workers)


def test_what_this_process_does_itself_is_told_and_told_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    line = in_order.__globals__["Line"]
    monkeypatch.setitem(line.collect.__globals__, "_SILENT", 0.02)

    def slow() -> int:
        for _ in range(6000):
            if len(caplog.records) > 1:
                return 5
            time.sleep(0.01)
        raise TimeoutError

    for executor in (None, Shuffled(0)):
        caplog.clear()
        assert where_it_can_be_ended(slow, executor, what="set of checks") == 5
        said = [record.getMessage() for record in caplog.records]
        assert all("waiting for the set of checks, made in this process" in s for s in said)
        if executor is not None:
            executor.shutdown()
    before, after = (record.args[0] for record in caplog.records[:2])  # type: ignore[index]
    assert after >= 2 * before


def test_what_hangs_is_told_and_told_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The piece ends once it has been told three times, however slow the machine is."""
    # Not by the module's name: other tests import the library a second time.
    line = in_order.__globals__["Line"]
    monkeypatch.setitem(line.collect.__globals__, "_SILENT", 0.02)
    told: list[logging.LogRecord] = []
    enough = tmp_path / "told"

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "waiting for batch 2:" in record.getMessage():  # alone, and in one wait
                told.append(record)
            if len(told) == 3:
                enough.touch()

    def slow(number: int) -> int:
        for _ in range(6000):
            if number != 1 or enough.exists():
                return number
            time.sleep(0.01)
        raise TimeoutError

    log, listener = logging.getLogger("dpcalc.execution"), Listener()
    log.addHandler(listener)
    try:
        with ThreadPoolExecutor(2) as executor:
            assert list(in_order(slow, range(3), executor, what="batch")) == [0, 1, 2]
    finally:
        log.removeHandler(listener)
    said = [record.getMessage() for record in told[-3:]]
    assert all("nothing was finished for" in line for line in said)
    assert "--resume" in said[-1]
    before, after = (record.args[0] for record in told[-2:])  # type: ignore[index]
    assert after >= 2 * before  # whenever the silence has doubled
