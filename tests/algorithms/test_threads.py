"""Parts shared among threads: bits, errors, what is left behind, and how many threads there are."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from dpcalc.algorithms.problems.threads import VARIABLES, Team, available
from dpcalc.errors import InvalidInput
from dpcalc.execution import Processes, in_order

PARTS = 23


def sums(number_of_threads: int | None) -> bytes:
    """Sums whose last digits depend on their order: part by part they are the same."""
    found = np.zeros(PARTS)

    def add(part: int) -> None:
        found[part] = np.random.default_rng(part).standard_normal(1000 + 100 * part).sum()

    with Team(number_of_threads) as team:
        team.share(add, PARTS)
        team.share(add, PARTS)
    return found.tobytes()


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("number", [2, 7, None])
def test_the_bits_are_those_of_one_thread(number: int | None) -> None:
    assert sums(number) == sums(1)


@pytest.mark.parametrize("parts", [0, 1, 2, 3, 100])
@pytest.mark.parametrize("number", [1, 2, 7])
def test_every_part_is_worked_on_once(number: int, parts: int) -> None:
    seen: list[int] = []
    with Team(number) as team:
        team.share(seen.append, parts)
    assert sorted(seen) == list(range(parts))


def test_threads_work_at_the_same_time() -> None:
    """Each waits for the other: one thread alone would wait in vain."""
    both, met = threading.Barrier(2, timeout=60), []
    with Team(2) as team:
        team.share(lambda _: met.append(both.wait()), 2)
    assert sorted(met) == [0, 1]


@pytest.mark.parametrize("number", [1, 2, 7])
def test_no_thread_is_left_behind(number: int) -> None:
    def there() -> set[str]:
        return {thread.name for thread in threading.enumerate() if thread.name.startswith("dpcalc")}

    during: set[str] = set()

    def look(_: int) -> None:
        time.sleep(0.001)
        during.update(there())

    def fail(_: int) -> None:
        raise ZeroDivisionError

    for work in (look, fail):
        with suppress(ZeroDivisionError), Team(number) as team:
            team.share(work, 50)
        assert not there()
    assert len(during) == number - 1


@pytest.mark.parametrize("number", [1, 2, 7])
def test_the_first_part_that_fails_is_the_one_that_is_told(number: int) -> None:
    """Part 5 fails early, part 3 late; on one thread it is 3."""
    early, ended = threading.Event(), []

    def work(part: int) -> None:
        if part == 3:
            if number > 1:
                assert early.wait(60)
            raise ValueError("part 3")
        if part == 5:
            early.set()
            raise ValueError("part 5")
        ended.append(part)

    with Team(number) as team:
        with pytest.raises(ValueError, match="part 3"):
            team.share(work, 1000)
        assert len(ended) < 900  # the rest is not begun
        ended.clear()
        team.share(ended.append, 10)  # and the team is as good as before
    assert sorted(ended) == list(range(10))


def test_what_is_no_error_ends_it_too() -> None:
    def leave(part: int) -> None:
        raise SystemExit(part)

    with Team(3) as team, pytest.raises(SystemExit) as found:
        team.share(leave, 9)
    assert found.value.code == 0


def test_an_interruption_while_a_thread_is_started_leaves_no_part_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C may come when a thread has begun and nobody holds what it will return."""
    begun, told, ended = threading.Event(), threading.Event(), []
    submit = ThreadPoolExecutor.submit

    def interrupted(*arguments: Any) -> None:
        submit(*arguments)
        assert begun.wait(60)
        threading.Timer(0.2, told.set).start()
        raise KeyboardInterrupt

    def work(part: int) -> None:
        begun.set()
        assert told.wait(60)
        ended.append(part)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with Team(3) as team:
        with pytest.raises(KeyboardInterrupt):
            team.share(work, 9)
        assert ended == [0]


def test_parts_see_the_callers_settings_of_numpy() -> None:
    both = threading.Barrier(2, timeout=60)

    def divide(_: int) -> None:
        both.wait()
        np.ones(1) / np.zeros(1)

    with Team(2) as team, np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        team.share(divide, 2)
    with Team(2) as team, np.errstate(divide="ignore"):
        team.share(divide, 2)


# ---- how many


def test_one_thread_for_each_processor_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert available() == Team().threads == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 9)
    assert available() == 9
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available() == 1


def test_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", " 4, 2")
    assert available() == 4
    monkeypatch.setenv("NUMBA_NUM_THREADS", "6")
    assert available() == 6
    monkeypatch.setenv("NUMBA_NUM_THREADS", "")
    assert available() == 4


@pytest.mark.parametrize("said", ["0", "-1", "two", "1.5", "²", ",", "2;"])
@pytest.mark.parametrize("name", VARIABLES)
def test_no_number_of_threads_is_refused(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, said)
    with pytest.raises(InvalidInput, match=f"{name} needs a whole number of threads.*unset it"):
        available()
    with pytest.raises(InvalidInput, match=name):
        Team()


@pytest.mark.parametrize("number", [0, -1, 1.5])
def test_a_team_needs_someone(number: float) -> None:
    with pytest.raises(InvalidInput, match="threads"):
        Team(number)  # type: ignore[arg-type]


def told(number: int) -> tuple[int, int, bytes]:
    """From a worker: its process, its threads, and what they make."""
    return os.getpid(), available(), sums(number)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork next to threads
@pytest.mark.parametrize("how", ["fork", "spawn", "workers"])
def test_workers_have_one_thread_each_and_may_have_more(how: str) -> None:
    if how == "fork" and sys.platform == "win32":
        pytest.skip("no fork")
    expected = sums(1)
    if how == "workers":
        with Processes(2) as executor:
            answers = list(in_order(told, [1, 2, 7], executor))
    else:
        context = multiprocessing.get_context(how)
        with Team(2) as team, ProcessPoolExecutor(1, mp_context=context) as pool:
            team.share(lambda _: None, 2)  # threads of this process are not those of a copy
            answers = list(pool.map(told, [1, 2, 7]))
    for process, threads_there, found in answers:
        assert process != os.getpid()
        assert threads_there == 1
        assert found == expected


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_workers_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(told, 1).result()[1] == 3
