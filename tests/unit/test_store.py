"""Finished work in a file: whole pieces or none, whoever is killed and whatever is full."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcalc
from dpcalc.errors import InvalidInput
from dpcalc.store import Store, open_store, plan_of

PLAN = {"work": "test", "seed": 3}

WRITER = """
import sys
import numpy as np
from dpcalc.store import open_store

with open_store(sys.argv[1], {"work": "test", "seed": 3}) as store:
    number = len(store.names())
    while True:
        values = np.random.default_rng(number).standard_normal(20_000)
        store.write(f"{number:06d}", {"number": number}, {"values": values})
        print(number, flush=True)
        number += 1
"""


def _killed(script: Path, file: Path, seconds: float) -> int:
    """The last number whose piece the writer said was finished, when it was killed."""
    writer = subprocess.Popen(
        [sys.executable, str(script), str(file)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    last = int(writer.stdout.readline())
    time.sleep(seconds)
    writer.kill()
    rest = [line for line in writer.stdout.read().split("\n") if line]
    writer.wait()
    writer.stdout.close()
    return int(rest[-1]) if rest else last


def _kill_again_and_again(folder: Path, times: int) -> None:
    script, file = folder / "writer.py", folder / "pieces.sqlite"
    script.write_text(WRITER, encoding="utf-8")
    draw = random.Random(1)
    for _ in range(times):
        last = _killed(script, file, draw.random() * 0.05)
        with open_store(file, PLAN) as store:
            pieces = [key for key in store.names() if key != "plan"]
            assert pieces == [f"{n:06d}" for n in range(1, len(pieces) + 1)]
            assert last <= len(pieces) <= last + 1  # nothing that was told is lost
            for key in (pieces[0], pieces[-1]):
                found = store.read(key)
                assert found is not None
                values = np.random.default_rng(int(key)).standard_normal(20_000)
                assert np.array_equal(found[1]["values"], values)


def test_whoever_is_killed_leaves_whole_pieces(tmp_path: Path) -> None:
    _kill_again_and_again(tmp_path, 3)


@pytest.mark.campaign
def test_a_hundred_kills_leave_whole_pieces(tmp_path: Path) -> None:
    _kill_again_and_again(tmp_path, 100)


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "pieces"
    arrays = {"a": np.array([np.nan, -0.0, np.inf]), "b": np.arange(6, dtype=np.int8).reshape(2, 3)}
    with open_store(file, PLAN) as store:
        store.section("one").write("x", {"text": "ε"}, arrays)
        store.section("one").write("empty", {})
        assert store.section("one").names() == ["empty", "x"]
        assert store.section("on").names() == []
        assert store.section("two").read("x") is None
        store.section("a").section("b").write("x", {})
        assert store.section("a/b").names() == []
    with open_store(file, PLAN) as store:
        found = store.section("one").read("x")
        assert found is not None
        assert found[0] == {"text": "ε"}
        for name, values in arrays.items():
            assert found[1][name].dtype == values.dtype
            assert found[1][name].tobytes() == values.tobytes()
        assert store.section("one").read("empty") == ({}, {})
    assert plan_of(file) == PLAN


def test_two_writers_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "pieces"
    with open_store(file, PLAN), pytest.raises(InvalidInput, match="is held by another"):  # noqa: SIM117
        with open_store(file, PLAN):
            pass
    with open_store(file, PLAN):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
@pytest.mark.parametrize("begun", [True, False])
def test_a_second_writer_by_a_link_is_refused(
    tmp_path: Path, link: Callable[[Path, Path], None], begun: bool
) -> None:
    file, other = tmp_path / "pieces", tmp_path / "elsewhere" / "link"
    other.parent.mkdir()
    if begun:
        with open_store(file, PLAN):
            pass
    with open_store(file, PLAN):
        link(other, file)
        with pytest.raises(InvalidInput, match="is held by another"), open_store(other, PLAN):
            pass
    with open_store(other, PLAN) as store:
        store.write("x", {})


@pytest.mark.skipif(sys.platform == "win32", reason="locks of files are those of POSIX")
def test_a_lock_of_all_names_ends_with_its_process(tmp_path: Path) -> None:
    file, other = tmp_path / "pieces", tmp_path / "link"
    code = (
        "import sys, time\nfrom dpcalc.store import open_store\n"
        f"with open_store({str(file)!r}, {PLAN!r}):\n"
        "    print('held', flush=True)\n    time.sleep(600)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        other.hardlink_to(file)
        with pytest.raises(InvalidInput, match="is held by another"), open_store(other, PLAN):
            pass
    finally:
        holder.kill()
        holder.communicate()
    with open_store(other, PLAN):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="locks of files are those of POSIX")
def test_where_not_all_names_can_be_held_there_may_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl: Any = pytest.importorskip("fcntl")
    lock, file = fcntl.flock, tmp_path / "pieces"

    def flock(descriptor: int, how: int) -> None:
        if os.path.sameopenfile(descriptor, held.fileno()):
            raise OSError(errno.ENOTSUP, "not supported")
        lock(descriptor, how)

    file.touch()
    with file.open("rb") as held:
        monkeypatch.setattr(fcntl, "flock", flock)
        with open_store(file, PLAN):
            pass
        (tmp_path / "link").hardlink_to(file)
        with pytest.raises(InvalidInput, match=r"has 2 \(hard links\)"), open_store(file, PLAN):
            pass


@pytest.mark.skipif(sys.platform == "win32", reason="no names of files there")
@pytest.mark.parametrize("name", [":memory:", "file:pieces?mode=memory"])
def test_every_name_is_that_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store(name, PLAN) as store:
        store.write("one", {"number": 1})
    with open_store(name, PLAN, resume=True) as store:
        assert store.read("one") == ({"number": 1}, {})
    assert (tmp_path / name).stat().st_size


def test_a_database_of_others_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "others"
    for statement in ("CREATE TABLE mine (a)", "CREATE TABLE pieces (a)"):
        _changed(file, statement)
        before = file.read_bytes()
        with pytest.raises(InvalidInput, match="expected a file of finished work"):  # noqa: SIM117
            with open_store(file, PLAN):
                pass
        assert file.read_bytes() == before


def _changed(file: Path, statement: str) -> None:
    connection = sqlite3.connect(file)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_piece_that_was_edited_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pieces"
    with open_store(file, PLAN) as store:
        store.write("x", {"epsilon": 1}, {"values": np.ones(3)})
    _changed(file, "UPDATE pieces SET header = '{\"epsilon\": 2}' WHERE key = 'x'")
    with (
        open_store(file, PLAN) as store,
        pytest.raises(InvalidInput, match="checksum of its piece 'x'"),
    ):
        store.read("x")
    _changed(file, "UPDATE pieces SET arrays = x'00' WHERE key = 'x'")
    with open_store(file, PLAN) as store, pytest.raises(InvalidInput, match="piece 'x' is damaged"):
        store.read("x")


def test_another_plan_or_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pieces"
    with open_store(file, PLAN):
        pass
    with pytest.raises(InvalidInput, match="holds others: seed 3 instead of 4"):  # noqa: SIM117
        with open_store(file, PLAN | {"seed": 4}):
            pass
    with pytest.raises(InvalidInput, match="data null instead of adult"):  # noqa: SIM117
        with open_store(file, PLAN | {"data": "adult"}):
            pass
    monkeypatch.setattr("dpcalc.__version__", "99.0")
    with pytest.raises(InvalidInput, match=r"expected the versions that began .*"):  # noqa: SIM117
        with open_store(file, PLAN):
            pass


@pytest.mark.parametrize("at_first", [None, "0.61.2"])
def test_what_numba_began_goes_on_with_numba_alone(
    at_first: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sums are rounded in another order than numpy's, and a patch changes no rounding."""
    from dpcalc import store as module

    versions = {"dpcalc": dpcalc.__version__, "numpy": np.__version__}
    file = tmp_path / "pieces"
    monkeypatch.setattr(module, "_versions", lambda: versions | {"numba": at_first})
    with open_store(file, PLAN):
        pass
    patched = at_first and "0.61.9"
    monkeypatch.setattr(module, "_versions", lambda: versions | {"numba": patched})
    with open_store(file, PLAN):
        pass
    later = "0.61.2" if at_first is None else None
    monkeypatch.setattr(module, "_versions", lambda: versions | {"numba": later})
    message = "no numba; got .* numba 0.61.2" if later else "numba 0.61.2; got .* no numba"
    with pytest.raises(InvalidInput, match=message), open_store(file, PLAN):
        pass


def test_the_numba_that_is_noted_is_the_one_that_compiles() -> None:
    from dpcalc.algorithms.problems.compiled import is_there
    from dpcalc.store import _versions

    assert (_versions()["numba"] is not None) == is_there()


@pytest.mark.parametrize(
    "content", [b"nothing of the kind" * 50, b"SQLite format 3\0" + b"x" * 900]
)
def test_what_is_no_store_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "other"
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match="expected a file of finished work"):
        plan_of(file)
    with pytest.raises(InvalidInput, match="expected a file of finished work"):  # noqa: SIM117
        with open_store(file, PLAN):
            pass
    assert file.read_bytes() == content


FULL = """
import resource, sys
import numpy as np
from dpcalc.errors import OutputFailed
from dpcalc.store import open_store

resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
with open_store(sys.argv[1], {"work": "test", "seed": 3}) as store:
    for number in range(1000):
        try:
            store.write(f"{number:06d}", {}, {"values": np.full(5_000, number)})
        except OutputFailed as error:
            print(number, error)
            break
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of POSIX")
def test_a_full_disk_keeps_what_was_finished(tmp_path: Path) -> None:
    script, file = tmp_path / "full.py", tmp_path / "pieces"
    script.write_text(FULL, encoding="utf-8")
    found = subprocess.run(
        [sys.executable, str(script), str(file)], capture_output=True, text=True, check=True
    )
    number, _, said = found.stdout.partition(" ")
    assert "could not be written" in said
    assert int(number) > 2
    with open_store(file, PLAN) as store:
        pieces = [key for key in store.names() if key != "plan"]
        assert len(pieces) == int(number)
        assert all(store.read(key) is not None for key in pieces)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of POSIX")
def test_a_store_that_cannot_be_begun_is_not_called_damaged(tmp_path: Path) -> None:
    script, file = tmp_path / "full.py", tmp_path / "pieces"
    small = FULL.replace("400_000", "1024").replace("with open", "try:\n  with open", 1)
    head = small[: small.index("    for number")]
    script.write_text(head + "    pass\nexcept OutputFailed as error:\n  print(error)\n", "utf-8")
    found = subprocess.run(
        [sys.executable, str(script), str(file)], capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith(f"{str(file)!r} could not be written")


@pytest.mark.skipif(sys.platform == "win32", reason="owners are those of POSIX")
def test_a_secret_store_is_for_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "pieces"
    with open_store(file, PLAN, secret=True) as store:
        store.write("x", {})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_resume_needs_what_was_begun(tmp_path: Path) -> None:
    file = tmp_path / "pieces"
    with pytest.raises(InvalidInput, match="leave --resume out"):  # noqa: SIM117
        with open_store(file, PLAN, resume=True):
            pass
    assert not file.exists()


def test_a_store_that_was_only_begun_is_begun_again(tmp_path: Path) -> None:
    """Killed between making the file and noting the plan."""
    file = tmp_path / "pieces"
    file.touch()
    assert plan_of(file) is None
    with open_store(file, PLAN) as store:
        assert isinstance(store, Store)


def test_an_interruption_before_any_piece_says_what_the_file_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dpcalc.cli._kept import kept_work

    file = tmp_path / "kept"
    with pytest.raises(KeyboardInterrupt), kept_work(file, PLAN, resume=False):
        raise KeyboardInterrupt
    assert f"{file} holds the question alone" in capsys.readouterr().err
    assert plan_of(file) == PLAN
    with kept_work(file, PLAN, resume=True) as store:
        assert store is not None
        assert store.finished() == 0


def test_what_holds_no_work_is_not_resumed(tmp_path: Path) -> None:
    """An emptied store is closed, not empty; without ``--resume`` a file that is made ahead begins."""
    file = tmp_path / "kept"
    file.touch()
    with pytest.raises(InvalidInput, match="there is none in"), open_store(file, PLAN, resume=True):
        pass
    with open_store(file, PLAN) as store:
        store.write("one", {})
    with open_store(file, PLAN, resume=True) as store:
        assert store.finished() == 1
