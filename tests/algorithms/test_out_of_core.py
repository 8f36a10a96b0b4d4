"""Data larger than memory: the same rows, the same bits, and no more memory than was given."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcalc.algorithms.engine.fingerprint import parts_of
from dpcalc.algorithms.problems import consensus, smooth
from dpcalc.algorithms.problems.data.row_files import reordered, written
from dpcalc.algorithms.problems.stored_rows import StoredRows
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.numerals import size
from dpcalc.training.catalogue import method
from dpcalc.training.data import Split, load, split
from dpcalc.training.graph import network
from dpcalc.training.method import Budget
from dpcalc.training.out_of_core import stored_split
from dpcalc.training.prepared_run import prepare
from dpcalc.training.row_folders import row_folder
from dpcalc.training.schema import Schema

COUNT, WIDTH = 1500, 20


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A .npy file of two classes; 252 kB."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(COUNT, WIDTH + 1))
    rows[:, -1] = np.where(rows[:, 0] > 0.2 * rows[:, -1], 1, -1)
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    np.save(path, rows)
    return path


def same_split(found: Split, wanted: Split) -> None:
    for part in ("train", "test"):
        rows, labels = getattr(found, part)
        assert isinstance(rows, StoredRows)
        assert rows.block < len(rows)
        np.testing.assert_array_equal(np.concatenate(list(rows.blocks())), getattr(wanted, part)[0])
        np.testing.assert_array_equal(labels, getattr(wanted, part)[1])
    assert (found.names, found.row_bound, found.intercept) == (
        wanted.names, wanted.row_bound, wanted.intercept
    )  # fmt: skip
    assert (found.source, found.table.classes) == (wanted.source, wanted.table.classes)
    model = np.linspace(-1, 1, len(found.names))
    assert found.coefficients(model) == wanted.coefficients(model)


@pytest.mark.parametrize("scaled", [True, False])
def test_an_array_is_split_as_in_memory(table: Path, scaled: bool) -> None:
    schema = Schema.of({"*": [-2, 2]}) if scaled else None
    said: dict[str, Any] = {"row_bound": None if scaled else 5.0}
    whole = load(str(table), schema=schema, **said)
    wanted = split(whole, intercept=scaled, seed=3, **said)
    with stored_split(str(table), memory=300e3, schema=schema, seed=3, **said) as found:
        same_split(found, wanted)
        folder = found.train[0].path.parent
        assert {file.name for file in folder.iterdir()} == {"shuffled", ".lock"}
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_columns_of_words_and_incomplete_rows_are_too(tmp_path: Path, suffix: str) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra scale is not installed")
    from pyarrow import feather, parquet

    rng, path = np.random.default_rng(1), tmp_path / f"own{suffix}"
    ages = [None if k % 50 == 7 else float(age) for k, age in enumerate(rng.normal(50, 20, COUNT))]
    cities = rng.choice(["Bonn", "Ulm"], COUNT).tolist()
    told = pa.table({"age": ages, "city": cities, "bought": rng.choice(["yes", "no"], COUNT)})
    if suffix == ".parquet":
        parquet.write_table(told, path, row_group_size=400)
    else:
        feather.write_feather(told, path, chunksize=400)
    schema = Schema.of({"age": [18, 90], "city": ["Bonn", "Ulm"]})
    whole = load(str(path), positive="yes", schema=schema)
    assert whole.left_out == COUNT // 50
    with stored_split(str(path), memory=100e3, positive="yes", schema=schema) as found:
        same_split(found, split(whole, intercept=True))
    large = pa.concat_tables([told] * 20).combine_chunks()
    large = large.set_column(0, "age", pa.array(rng.normal(50, 20, 20 * COUNT)))
    if suffix == ".parquet":
        parquet.write_table(large, path)
    else:
        feather.write_feather(large, path)
    with (
        pytest.raises(InvalidInput, match="to read the largest group of rows in"),
        stored_split(str(path), memory=1.35e6, positive="yes", schema=schema),
    ):
        pass


@given(st.integers(1, 60), st.integers(1, 20), st.randoms(use_true_random=False))
def test_rows_are_brought_into_any_order(count: int, block: int, draw: Any) -> None:
    rows, order = np.arange(3.0 * count).reshape(count, 3), list(range(count))
    draw.shuffle(order)
    with tempfile.TemporaryDirectory() as place:
        stored = written(Path(place) / "a", [rows[:7], rows[7:]], width=3, block=block)
        found = reordered(stored, np.array(order), Path(place) / "b")
        np.testing.assert_array_equal(np.concatenate(list(found.blocks())), rows[order])


def answer(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([*words.split(), "--json"])
    assert stopped.value.code == 0, capsys.readouterr().err
    found = json.loads(capsys.readouterr().out)
    found.pop("diagnosis")  # nobody makes one of rows in a file
    return json.dumps(found)


BUDGET = "--epsilon 1 --delta 1e-6"


@pytest.mark.parametrize(
    "what",
    [f"dp-admm {BUDGET}", f"dp-acc-admm {BUDGET} --runs 3 --runs-at-once 2", "acc-admm",
     f"private-dual-averaging --nodes 3 {BUDGET}", "dual-averaging --nodes 3 --runs 2"],
)  # fmt: skip
def test_a_run_has_the_bits_of_memory_where_its_blocks_are_as_large(
    what: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"run {what} --rounds 4 --seed 1 --row-bound 6 --data {table}"
    assert answer(f"{words} --memory 100MB", capsys) == answer(words, capsys)


PRIVATE = ["penalty-perturbation", "dual-variable-perturbation", "private-r-admm",
           "private-mr-admm", "gaussian-mr-admm"]  # fmt: skip


@pytest.mark.parametrize("name", [*PRIVATE, "decentralised-admm", "m-admm", "r-admm", "mr-admm"])
@pytest.mark.few(4)
def test_exact_minimisers_have_the_bits_of_large_records_in_memory(
    name: str, table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer than eight runs make no copy of large rows in single precision or another form."""
    monkeypatch.setattr(consensus, "_LARGE", 0)
    budget = BUDGET if name in PRIVATE else ""
    words = f"run {name} {budget} --rounds 4 --nodes 3 --seed 1 --row-bound 6 --data {table}"
    assert answer(f"{words} --runs 2 --memory 100MB", capsys) == answer(f"{words} --runs 2", capsys)


@pytest.mark.parametrize("name", ["admm", "admm --fused chain", "fixed-point-admm"])
def test_other_coordinates_are_found_block_by_block(
    name: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The models of memory: gradients of both are below 1e-13, curvature is above 1e-3."""
    budget = BUDGET if name == "fixed-point-admm" else ""
    words = f"run {name} {budget} --rounds 6 --runs 2 --seed 1 --row-bound 6 --data {table}"
    stored, whole = (
        json.loads(answer(f"{words}{more}", capsys)) for more in (" --memory 300kB", "")
    )
    for found in (stored, whole):
        assert max(found["utility"]["largest_gradient_norm"]) < 1e-13
    np.testing.assert_allclose(stored["weights"], whole["weights"], rtol=0, atol=1e-9)
    assert stored["utility"]["test_error"] == whole["utility"]["test_error"]


def test_rows_in_other_coordinates(tmp_path: Path) -> None:
    """Any part of them, with factors, twice, and what tells checkpoints apart."""
    rng = np.random.default_rng(2)
    rows, factors = rng.normal(size=(30, 4)), rng.normal(size=30)
    first, second = (np.tril(rng.normal(size=(4, 4))) + 3 * np.eye(4) for _ in range(2))
    plain = written(tmp_path / "rows", [rows], width=4, block=7)
    moved = plain.times(factors).solved(first).solved(second)
    truth = (rows * factors[:, None]) @ np.linalg.inv(first).T @ np.linalg.inv(second).T
    np.testing.assert_allclose(np.concatenate(list(moved.blocks())), truth, rtol=1e-12)
    np.testing.assert_allclose(moved[5:20].read(), truth[5:20], rtol=1e-12)
    np.testing.assert_allclose(moved.take(np.array([3, 29])), truth[[3, 29]], rtol=1e-12)
    assert parts_of(moved) != parts_of(plain.times(factors))
    np.testing.assert_array_equal(np.concatenate(list(plain.blocks())), rows)


def test_small_blocks_have_the_bits_of_the_same_blocks_in_memory(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = method("dp-admm").from_parameters({"rounds": 5})

    def released(data: Split) -> bytes:
        prepared = prepare(chosen, data.records(), budget=Budget(1.0, 1e-6))
        return np.asarray(prepared.run(1)["x"]).tobytes()

    with stored_split(str(table), memory=300e3, row_bound=6.0) as stored:
        block, found = stored.train[0].block, released(stored)
    assert block < COUNT / 4
    data = split(load(str(table), row_bound=6.0), row_bound=6.0)
    whole = released(data)
    monkeypatch.setattr(smooth, "_TILE", block)
    assert released(data) == found
    assert found != whole  # the last digits of a sum depend on its parts


def test_workers_read_the_same_file(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        f"run dp-admm --epsilon 1 --delta 1e-6 --rounds 2 --seed 1 --row-bound 6 --data {table} "
    )
    words += "--memory 1MB --runs 4 --runs-at-once 2"
    assert answer(f"{words} --workers 2", capsys) == answer(words, capsys)


PEAK = """
import sys
from dpcalc.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as stopped:
    assert not stopped.code, stopped.code
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel says how much memory was in use")
@pytest.mark.parametrize("what", ["dp-admm", "gaussian-mr-admm --nodes 2", "fixed-point-admm"])
@pytest.mark.few(2)
def test_no_more_memory_is_in_use_than_was_given(what: str, tmp_path: Path) -> None:
    """Beside what a run on a few records takes: 41 MB of rows within 12 MB."""
    peaks = []
    for count in (2000, 100_000):
        path = tmp_path / f"{count}.npy"
        rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(count, 51))
        rows[:] = np.random.default_rng(0).normal(size=rows.shape)
        rows[::2, -1], rows[1::2, -1] = 1, -1
        del rows
        words = f"run {what} {BUDGET} --rounds 2 --seed 1 --row-bound 9 --data {path}"
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *words.split(), "--memory", "12MB", "--json"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        peaks.append(int(done.stdout.split()[-1]) * 1024)
    assert path.stat().st_size > 40e6
    assert peaks[1] - peaks[0] < 12e6, peaks


def test_too_little_memory_is_refused_with_what_would_do(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, np.tile([[0.5, 1], [0.5, -1]], (500, 1)))
    asked = re.compile(r"for 64 rows, (\S+ kB); got 2 kB$")
    with pytest.raises(InvalidInput, match=asked) as caught:
        stored_split(str(path), memory=2e3, row_bound=1.0).__enter__()
    enough = size("memory", asked.findall(str(caught.value))[0])
    with stored_split(str(path), memory=enough, row_bound=1.0) as data:
        assert len(data.train[1]) == 800


@pytest.mark.parametrize("runs", [1, 32])
def test_exact_minimisers_keep_to_the_memory(runs: int, tmp_path: Path) -> None:
    """As NumPy counts it: 8 MB of rows within 2.5 MB, however many runs go together."""
    rows = np.random.default_rng(0).normal(size=(20_000, 51))
    rows[:, -1] = np.where(rows[:, 0] > 0, 1, -1)
    np.save(tmp_path / "rows.npy", rows)
    chosen = method("private-r-admm").from_parameters({"rounds": 2})
    with stored_split(str(tmp_path / "rows.npy"), memory=2.5e6, row_bound=9.0) as data:
        records, nodes = data.records(2), network("complete", 2, 0)
        prepared = prepare(chosen, records, network=nodes, budget=Budget(1.0, 0.0))
        tracemalloc.start()
        try:
            prepared.run(1, runs=runs)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 2.5e6 < rows.nbytes / 3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("dp-admm", "memory (--memory) needs a file that can be read in blocks"),
        ("dp-admm --data {}.csv", "memory (--memory) needs a file that can be read in blocks"),
        ("private-dual-averaging --nodes 3 --apart --data {}", "got --apart too"),
        ("dp-admm --scheduler tcp://127.0.0.1:9 --data {}", "got --scheduler too"),
        ("dp-admm --data {}", "public range"),
        ("dp-admm --row-bound 6 --data {}", "64 rows, 142 kB; got 100 kB"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    words: str, told: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["run", *words.format(table).split(), *BUDGET.split(), "--memory", "0.1MB"])
    assert stopped.value.code == 2
    shown = capsys.readouterr().err
    assert told in " ".join(shown.split())


def test_a_method_that_needs_all_rows_is_refused_with_those_that_do_not(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(method("acc-admm"), "in_blocks", False)
    with pytest.raises(SystemExit) as stopped:
        main(["run", "acc-admm", "--data", str(table), "--memory", "1MB"])
    assert stopped.value.code == 2
    assert "gradient-admm-noisy-oracle" in (shown := capsys.readouterr().err)
    assert "acc-admm does not; leave out --memory" in shown


def test_another_memory_is_another_plan(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        f"run dp-admm --epsilon 1 --delta 1e-6 --rounds 2 --seed 1 --row-bound 6 --data {table} "
    )
    words += f"--runs 2 --runs-at-once 1 --checkpoint {tmp_path / 'kept'}"
    first = answer(f"{words} --memory 1MB", capsys)
    assert answer(f"{words} --memory 1MB --resume", capsys) == first
    with pytest.raises(SystemExit) as stopped:
        main([*words.split(), "--memory", "2MB"])
    assert stopped.value.code == 2
    assert "memory" in capsys.readouterr().err


def test_a_mapped_file_is_taken_as_it_is(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32) / 3
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for part in (mapped, mapped[10:30], mapped[5:][5:]):
        np.testing.assert_array_equal(StoredRows.of_mapped(part).read(), part.astype(np.float64))
    stored = StoredRows.of_mapped(mapped)[4:].times(np.full(36, -1.0))
    chosen = np.array([[3, 0], [35, 1]])
    np.testing.assert_array_equal(stored.take(chosen), -rows[4:][chosen].astype(np.float64))
    for wrong in (mapped[:, :2], rows, np.load(tmp_path / "rows.npy", mmap_mode="c"), mapped[0]):
        with pytest.raises(InvalidInput, match="expected a mapped table of numbers, row after row"):
            StoredRows.of_mapped(wrong)


def test_what_needs_all_rows_at_once_says_so(table: Path) -> None:
    rows = StoredRows.of_mapped(np.load(table, mmap_mode="r"))
    for use in (np.asarray, lambda r: r.T, lambda r: r @ np.ones(21), lambda r: r[::2]):
        with pytest.raises(InvalidInput, match="expected rows in memory"):
            use(rows)
    (table.parent / "short").write_bytes(table.read_bytes()[:2000])
    gone = StoredRows(path=table.parent / "short", shape=rows.shape, block=10)
    with pytest.raises(InvalidInput, match="the file is shorter than it was"):
        gone.read()


KILLED = """
import os, signal
from dpcalc.training.row_folders import row_folder
with row_folder() as folder:
    (folder / "rows").write_bytes(b"rows")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_rows_of_a_killed_process_are_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    subprocess.run([sys.executable, "-c", KILLED], env={**os.environ, "TMPDIR": str(tmp_path)})
    (left,) = tmp_path.iterdir()
    assert (left / "rows").read_bytes() == b"rows"
    (tmp_path / "dpcalc-rows-mine").mkdir()  # nobody's lock is in it
    with row_folder() as used:
        assert not left.exists()
        with row_folder() as other:
            assert used.exists()
            assert other != used
        assert not other.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["dpcalc-rows-mine"]
