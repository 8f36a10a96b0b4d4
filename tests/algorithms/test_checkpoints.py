"""Checkpoints and archives: of these versions, unchanged, held by one process, and gone on from as planned."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcalc.algorithms.dp_admm import DPADMM
from dpcalc.algorithms.engine.state import SAVED
from dpcalc.archive import checksum, read_arrays, write_arrays
from dpcalc.auditing import AuditDesign, audit, mechanism
from dpcalc.auditing.claim import Claim
from dpcalc.errors import InvalidInput
from dpcalc.files import held_alone
from dpcalc.store import Store, open_store, plan_of

_HOLD = """
import sys, time
from dpcalc.files import held_alone
with held_alone(sys.argv[1], "checkpoint"):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """A run of which two rounds are done."""
    path = tmp_path / "at.sqlite"

    def stop(done: int, _: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        DPADMM.example().run(3, checkpoint=path, checkpoint_every=1, progress=stop)
    return path


def _rewritten(path: Path, key: str = SAVED, **changes: Any) -> None:
    """The file with another header of a piece, its checksum made to fit."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (text, packed) = connection.execute(
            "SELECT header, arrays FROM pieces WHERE key = ?", (key,)
        ).fetchone()
        header = json.loads(text) | changes
        header = {name: value for name, value in header.items() if value != "left out"}
        arrays = {}
        if packed:
            with np.load(io.BytesIO(packed)) as file:
                arrays = dict(file)
        row = (json.dumps(header), checksum(header, arrays), key)
        connection.execute("UPDATE pieces SET header = ?, sha256 = ? WHERE key = ?", row)


def test_it_goes_on(interrupted: Path) -> None:
    whole = DPADMM.example().run(3)
    assert DPADMM.example().run(3, checkpoint=interrupted).released == whole.released


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """A transcript in a file."""
    path = tmp_path / "whole.npz"
    DPADMM.example().run(3).save(path)
    return path


def test_every_changed_byte_is_found(archived: Path) -> None:
    content = archived.read_bytes()
    rng = np.random.default_rng(0)
    before, arrays = read_arrays(archived)
    for place in rng.choice(len(content), 60, replace=False):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        archived.write_bytes(changed)
        try:
            header, found = read_arrays(archived)
        except InvalidInput:
            continue
        assert header == before  # a byte of the archive that says nothing, such as a date
        assert all(found[name].tobytes() == arrays[name].tobytes() for name in arrays)
    for length in rng.choice(len(content), 20, replace=False):
        archived.write_bytes(content[:length])
        with pytest.raises(InvalidInput, match="written by dpcalc"):
            read_arrays(archived)


def test_an_edited_array_is_found(archived: Path) -> None:
    with np.load(archived) as file:
        arrays = dict(file)
    name = next(n for n in arrays if n.startswith("released/"))
    arrays[name] = np.nextafter(arrays[name], np.inf)
    np.savez(archived, **arrays)
    with pytest.raises(InvalidInput, match="checksum does not fit"):
        read_arrays(archived)


@pytest.mark.parametrize(
    "changes",
    [
        {"round": "5"},
        {"round": 10**6},
        {"round": -1},
        {"round": "left out"},
        {"entropy": "no number"},
        {"entropy": 7},
        {"runs": 0},
        {"first_run": None},
        {"cryptographic": "left out"},
    ],
    ids=str,
)
def test_wrong_headers_are_refused(interrupted: Path, changes: dict[str, Any]) -> None:
    _rewritten(interrupted, **changes)
    with pytest.raises(InvalidInput):
        DPADMM.example().run(checkpoint=interrupted)


@pytest.mark.parametrize("layout", [0, None])
def test_another_layout_is_refused(interrupted: Path, layout: int | None) -> None:
    _rewritten(interrupted, "plan", layout=layout)
    with pytest.raises(InvalidInput, match="of layout"):
        DPADMM.example().run(checkpoint=interrupted)


@pytest.mark.parametrize("header", ['"text"', "[1, 2]", "7", "null", "{", "{}"])
def test_headers_that_are_none_are_refused(tmp_path: Path, header: str) -> None:
    path = tmp_path / "at.npz"
    np.savez(path, header=np.array(header))
    with pytest.raises(InvalidInput, match="written by dpcalc"):
        read_arrays(path)


def test_compressed_files_are_refused(tmp_path: Path) -> None:
    """A small file must not unpack into a memory full of zeros."""
    path = tmp_path / "at.npz"
    np.savez_compressed(path, header=np.array("{}"), zeros=np.zeros(10**6))
    with pytest.raises(InvalidInput, match="written by dpcalc"):
        read_arrays(path)


@pytest.mark.parametrize(
    ("changes", "goes_on"),
    [
        ({"dpcalc": "0.0.1"}, False),
        ({"numpy": "1.0.0"}, False),
        ({"numba": "0.1.0"}, False),
        ({"numpy": ".".join(np.__version__.split(".")[:2]) + ".99"}, True),
    ],
)
def test_another_version_is_refused_where_it_may_change_bits(
    interrupted: Path, changes: dict[str, str], goes_on: bool
) -> None:
    _rewritten(interrupted, "plan", **changes)
    if goes_on:
        DPADMM.example().run(3, checkpoint=interrupted)
        return
    with pytest.raises(InvalidInput, match="versions that began"):
        DPADMM.example().run(3, checkpoint=interrupted)


def test_an_experiment_never_becomes_a_private_release(tmp_path: Path) -> None:
    path = tmp_path / "at.sqlite"
    assert DPADMM.example().run(3, checkpoint=path).experiment
    assert DPADMM.example().run(checkpoint=path).experiment
    real = tmp_path / "real.sqlite"
    assert not DPADMM.example().run(checkpoint=real).experiment
    with open_store(real, plan_of(real) or {}) as store:
        seed = int((store.read(SAVED) or ({},))[0]["entropy"], 16)
    with pytest.raises(InvalidInput, match="the seed that"):
        DPADMM.example().run(seed, checkpoint=real)


def test_the_second_process_is_refused_and_a_killed_one_blocks_nobody(tmp_path: Path) -> None:
    path = tmp_path / "at.sqlite"
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InvalidInput, match="no other process holds"):
            DPADMM.example().run(checkpoint=path)
        holder.kill()
    DPADMM.example().run(checkpoint=path)


def test_one_process_holds_it_once(tmp_path: Path) -> None:
    path = tmp_path / "at.sqlite"
    with (
        held_alone(path, "checkpoint"),
        pytest.raises(InvalidInput, match="is held by another"),
        held_alone(path, "checkpoint"),
    ):
        pass
    with held_alone(path, "checkpoint"):
        pass


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL")
def test_a_killed_run_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from dpcalc.algorithms.dp_admm import DPADMM\n"
        "stop = lambda done, _: done < 2 or os.kill(os.getpid(), signal.SIGKILL)\n"
        "DPADMM.example().run(3, checkpoint=sys.argv[1], checkpoint_every=1, progress=stop)"
    )
    path = tmp_path / "at.sqlite"
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    rounds: list[int] = []
    found = DPADMM.example().run(3, checkpoint=path, progress=lambda done, _: rounds.append(done))
    assert rounds[0] == 3
    assert found.released == DPADMM.example().run(3).released


def test_the_disk_is_waited_for_now_and_then_and_an_interruption_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves: list[int] = []
    write = Store.write

    def counted(store: Store, key: str, header: Any, *arrays: Any) -> None:
        if key == SAVED:
            saves.append(header["round"])
        write(store, key, header, *arrays)

    monkeypatch.setattr(Store, "write", counted)
    pace: dict[str, Any] = {"checkpoint_every": 1, "checkpoint_seconds": 1e9}
    DPADMM.example().run(3, checkpoint=tmp_path / "whole", **pace)
    assert saves == [3]

    def stop(done: int, _: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        DPADMM.example().run(3, checkpoint=tmp_path / "begun", progress=stop, **pace)
    assert saves == [3, 2]
    rounds: list[int] = []
    DPADMM.example().run(
        3, checkpoint=tmp_path / "begun", progress=lambda done, _: rounds.append(done)
    )
    assert rounds == [3]


@pytest.mark.skipif(os.name != "posix", reason="permissions of Unix")
def test_nobody_else_reads_it(interrupted: Path) -> None:
    assert interrupted.stat().st_mode & 0o077 == 0


def _audited(path: Path, runs: int, *, seconds: float | None = None) -> int:
    made: list[int] = []

    def release(data: float, generator: np.random.Generator, count: int) -> Any:
        made.append(count)
        return data + generator.laplace(size=count)

    target = mechanism(release, 1.0, 0.0, adjacency="add-remove", score=lambda x: x)
    claim = Claim.of(epsilon=1.0, adjacency="add-remove")
    plan = AuditDesign.for_claim(target, claim, runs=runs)
    audit(target, claim, design=plan, seed=5, controls=False, checkpoint=path, seconds=seconds)
    return sum(made)


def test_the_planned_number_of_runs_stays(tmp_path: Path) -> None:
    path = tmp_path / "kept.npz"
    _audited(path, 3000)
    for other in (5000, 1000):
        with pytest.raises(InvalidInput, match="who looks and then adds runs tests more than once"):
            _audited(path, other)
    _audited(path, 3000)


def test_runs_judged_when_the_time_was_over_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "kept.npz"
    begun = _audited(path, 20_000, seconds=1e-9)
    assert begun < 20_000
    looked_at = _audited(path, 20_000)  # what is looked at is made every time, what counts is kept
    assert looked_at < begun
    assert _audited(path, 20_000) == looked_at


def test_a_header_written_is_the_header_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    arrays = {"b": np.arange(3.0), "a": np.array([True])}
    write_arrays(path, {"x": [1, None, "δ"]}, arrays)
    header, found = read_arrays(path)
    assert header["x"] == [1, None, "δ"]
    assert {name: values.tolist() for name, values in found.items()} == {
        "a": [True],
        "b": [0.0, 1.0, 2.0],
    }
