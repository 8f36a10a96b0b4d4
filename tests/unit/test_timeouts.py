"""Pieces that take too long: ended, made again once, given up by name; and what cannot be ended.

What hangs would hang for minutes, and what does not is done at once: no limit here is a close one.
"""

from __future__ import annotations

import ctypes
import json
import logging
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput, WorkersLost
from dpcalc.execution import Limited, Processes, handed_out, in_order, workers_of

_LONG = 600


def hangs(number: int) -> int:
    if number == 3:
        time.sleep(_LONG)
    return number


def hangs_once(place: tuple[str, int]) -> int:
    folder, number = place
    mark = Path(folder) / "hung"
    if number == 3 and not mark.exists():
        mark.touch()
        time.sleep(_LONG)
    return number


def hangs_with_the_lock(number: int) -> int:
    """As compiled code does that never returns: no thread of its process runs any more."""
    if number == 1:
        ctypes.PyDLL(None).sleep(_LONG)
    return number


def test_a_piece_that_hangs_is_ended_twice_and_named() -> None:
    finished: list[int] = []
    with Processes(2, timeout=3) as executor:
        found = in_order(
            hangs, range(8), executor, what="run", finished=lambda n, _: finished.append(n)
        )
        with pytest.raises(WorkersLost, match=r"run 4 to end within 3 s .* ended 2 times"):
            list(found)
        assert {0, 1, 2} <= set(finished)
        assert 3 not in finished
        assert list(in_order(abs, [-1, -2], executor)) == [1, 2]


def test_a_piece_that_hung_once_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Processes(2, timeout=3) as executor, caplog.at_level(logging.WARNING):
        places = [(str(tmp_path), n) for n in range(20)]
        assert list(in_order(hangs_once, places, executor, what="run")) == list(range(20))
    told = [r.getMessage() for r in caplog.records]
    assert told == ["run 4 took longer than 3 s and was ended with its worker; it is made again"]


def test_a_piece_that_hangs_beside_other_work_is_named_and_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Who waits for other pieces ends it too, and nothing counts against those."""
    with Processes(2, timeout=3) as executor, caplog.at_level(logging.WARNING):
        with handed_out(hangs, [3], executor, what="table") as found:
            assert list(in_order(abs, [-n for n in range(8)], executor)) == list(range(8))
            with pytest.raises(WorkersLost, match=r"table 1 to end within 3 s .* ended 2 times"):
                list(found)
        with handed_out(abs, [-1], executor, what="table") as found:
            with pytest.raises(WorkersLost, match=r"run 1 to end within 3 s .* ended 2 times"):
                list(in_order(hangs, [3], executor, what="run"))
            assert list(found) == [1]
    assert not any("was lost" in r.getMessage() for r in caplog.records)


def test_a_piece_waits_for_others_beyond_the_limit_of_threads() -> None:
    """What is limited is a silence, of all that share the threads."""
    with ThreadPoolExecutor(1) as pool:
        executor = Limited(pool, timeout=4)
        with handed_out(time.sleep, [1.5] * 4, executor) as slept:
            assert list(in_order(abs, [-1], executor)) == [1]
            assert list(slept) == [None] * 4


@pytest.mark.skipif(sys.platform == "win32", reason="sleep is a function of POSIX")
def test_compiled_code_that_never_returns_is_ended() -> None:
    with Processes(1, timeout=3) as executor, pytest.raises(WorkersLost, match="piece 2 to end"):
        list(in_order(hangs_with_the_lock, range(3), executor))


def test_of_threads_nothing_is_waited_for_once_nothing_came_for_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leave = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        executor = Limited(pool, timeout=2)
        assert workers_of(executor) == 2
        found = in_order(lambda n: n, range(3), executor, what="run")
        assert list(found) == [0, 1, 2]
        hung.append(leave)
        try:
            with pytest.raises(WorkersLost, match=r"run 2 .* cannot be ended from here"):
                list(in_order(_waits, range(3), executor, what="run"))
            assert not leave.is_set()  # said before the pool is left, which waits
            (said,) = (record.getMessage() for record in caplog.records)
            assert said.startswith("run 2 did not come back within 2 s")
            assert "leaving a pool of threads still waits" in said
        finally:
            leave.set()


hung: list[threading.Event] = []


def _waits(number: int) -> int:
    if number == 1:
        hung[-1].wait(_LONG)
    return number


def test_what_is_no_limit_is_refused() -> None:
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match="timeout"):
            Processes(2, timeout=wrong)
    with Processes(2) as executor, pytest.raises(InvalidInput, match=r"Processes\(2, timeout=5\)"):
        Limited(executor, timeout=5)
    with pytest.raises(InvalidInput, match="expected an executor"):
        Limited(4, timeout=5)  # type: ignore[arg-type]


HANGING = """
import os, time
from dpcalc.auditing import mechanism

def release(data, generator, runs):
    noise = generator.laplace(size=runs)
    if os.environ.get("DPCALC_HANGS") and runs > 100 and data and noise.max() > {rare}:
        time.sleep(600)
    return data + noise

target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="mine")
"""


def _status(words: list[str]) -> object:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    return stopped.value.code


def test_an_audit_that_hangs_ends_and_resumes_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hanging.py").write_text(HANGING.format(rare=8), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ["audit", "hanging:target", "--claim", "eps=1", "--runs", "20000", "--seed", "1"]
    words += ["--no-early-stop", "--no-controls", "--json"]
    kept = ["--checkpoint", "kept.sqlite"]
    monkeypatch.setenv("DPCALC_HANGS", "1")
    assert _status([*words, *kept, "--timeout", "5"]) == 75
    told = json.loads(capsys.readouterr().out)["error"]
    assert "counted piece" in told["message"]
    assert "was ended 2 times" in told["message"]
    monkeypatch.delenv("DPCALC_HANGS")
    found = []
    for more in ([*kept, "--resume", "--timeout", "300"], []):
        assert _status([*words, *more]) == 0
        record = json.loads(capsys.readouterr().out)
        del record["results"][0]["seconds"]
        found.append(record)
    assert found[0] == found[1]
    sys.modules.pop("hanging", None)


def test_a_mechanism_that_always_hangs_is_ended_before_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = HANGING.format(rare=-1e9).replace("runs > 100", "runs > 0")
    (tmp_path / "always.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("DPCALC_HANGS", "1")
    assert _status(["audit", "always:target", "--claim", "eps=1", "--timeout", "2"]) == 75
    assert "set of checks 1 to end within 2 s" in capsys.readouterr().err
    sys.modules.pop("always", None)


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["verify", "--timeout", "5"], "--timeout goes with --audit"),
        (
            ["run", "dp-admm", "--epsilon", "1", "--delta", "1e-6", "--timeout", "5"],
            "--timeout goes",
        ),
        (["audit", "dp-admm", "--timeout", "0"], "--timeout needs a number above 0"),
    ],
)
def test_a_limit_of_nothing_is_refused(
    words: list[str], needed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _status(words) == 2
    assert needed in capsys.readouterr().err


def test_a_sweep_and_a_training_have_the_same_bits_under_a_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text(
        'mechanism = "gaussian"\ndelta = 1e-6\n[parameters]\nnoise_multiplier = [2, 4, 8]\n'
        'adjacency = "add-remove"\n',
        encoding="utf-8",
    )
    run = ["run", "dp-admm", "--epsilon", "1", "--delta", "1e-6", "--rounds", "3", "--seed", "1"]
    for words in (["sweep", str(grid)], [*run, "--runs", "4", "--runs-at-once", "2"]):
        told = []
        for more in ([], ["--timeout", "300"]):
            main_status = _status([*words, "--json", *more])
            told.append((main_status, capsys.readouterr().out))
        assert told[0] == told[1]
        assert told[0][0] == 0
