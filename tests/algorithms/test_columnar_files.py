"""Parquet and Arrow files of other programs: their types, and what is no such file or damaged."""

from __future__ import annotations

import datetime as dt
import gzip

import numpy as np
import pytest

from dpcalc.algorithms.problems.data.columnar import columnar_parts
from dpcalc.errors import InvalidInput
from dpcalc.training.data import load

pa = pytest.importorskip("pyarrow")

BUDGET = ("--epsilon", "1", "--delta", "1e-3", "--scale", "*=0:9")
Y = [0, 1, 0, 1, 1, 0]


def _written(table, path):
    if path.suffix == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, path, use_dictionary=False)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)
    return path


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("memory", [(), ("--memory", "1GB")])
def test_a_damaged_file_is_refused_and_nothing_else_is_said_to_be_wrong(
    run, tmp_path, kind, memory
):
    """It was an output that could not be written, or a lack of room for rows."""
    table = pa.table({"a": np.random.default_rng(0).random(5000), "y": np.arange(5000) % 2})
    path = tmp_path / f"own.{kind}"
    if kind == "parquet":
        _written(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file:
            how = pa.ipc.IpcWriteOptions(compression="zstd")
            with pa.ipc.new_file(file, table.schema, options=how) as out:
                out.write_table(table)
    content = bytearray(path.read_bytes())
    for k in range(20, 2000):
        content[k] ^= 255
    path.write_bytes(content)
    status, out, err = run("run", "dp-admm", "--data", path, *memory, *BUDGET)
    assert (status, out) == (2, "")
    assert f"expected a whole file; '{path}' is cut or damaged (" in " ".join(err.split())


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_values_are_those_of_their_dictionary_and_views_those_of_words(tmp_path, kind):
    """Numbers that few values have are kept as a dictionary by pandas, words as views by Polars."""
    none = pa.DictionaryArray.from_arrays([0, 1, 0, 1, 0, 1], pa.array([4, None]))
    table = pa.table(
        {
            "a": pa.array([1.5, 2, 1.5, None, 2, 1.5]).dictionary_encode(),
            "b": none if kind == "arrow" else none.dictionary_decode().dictionary_encode(),
            "y": pa.array(Y).dictionary_encode(),
        }
    )
    found = load(str(_written(table, tmp_path / f"own.{kind}")), row_bound=5)
    assert found.features.tolist() == [[1.5, 4], [1.5, 4], [2, 4]]
    assert found.labels.tolist() == [-1, -1, 1]
    assert found.left_out == 3
    if not hasattr(pa, "string_view"):
        pytest.skip("no views in this version")
    words = pa.array(["u", "v", None, "u", "v", "u"], pa.string_view())
    path = _written(pa.table({"a": Y, "y": words}), tmp_path / f"views.{kind}")
    found = load(str(path), row_bound=5, positive="v")
    assert found.labels.tolist() == [-1, 1, -1, 1, -1]
    assert found.features[:, 0].tolist() == [0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (pa.array(list("123456")), "--categories a=A|B|C, or, if they are numbers, write them in"),
        (pa.array([None] * 6), "it has no value in any row: take it out"),
        (pa.array([[1, 2]] * 6), "take it out, or make a column of every number in it"),
        (pa.array([{"p": 1}] * 6), "take it out, or make a column of every number in it"),
        (pa.array([dt.time(1)] * 6), "take it out, or write it as a number, such as days"),
    ],
)
def test_what_is_no_number_is_refused_with_what_fits_its_type(tmp_path, values, said):
    path = _written(pa.table({"a": values, "b": Y, "y": Y}), tmp_path / "own.parquet")
    with pytest.raises(InvalidInput, match="expected a number in column 'a'; got values of") as it:
        load(str(path), row_bound=5)
    assert str(it.value).endswith(said) or said in str(it.value)


def test_what_a_file_that_is_no_such_file_may_be_is_said(tmp_path):
    table = pa.table({"a": Y, "y": Y})
    whole = _written(table, tmp_path / "whole.parquet").read_bytes()
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as out:
        out.write_table(table)
    for name, content, said in (
        ("cut.parquet", whole[: len(whole) // 2], "; it is cut or damaged: write it anew"),
        ("text.parquet", b"a,y\n1,0\n", "; if this is CSV, give the file a name that ends in .csv"),
        ("empty.parquet", b"", r"0 bytes\)"),
        ("s.arrow", stream.getvalue().to_pybytes(), "Arrow stream: write it as a file, by pyarrow"),
        ("old.feather", b"FEA1" + bytes(99), "Feather of version 1: write it with version 2"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInput, match=f"expected an? (Arrow|Parquet) file; got .*{said}"):
            load(str(tmp_path / name), row_bound=5)


def test_a_file_whose_name_says_something_else_is_told_its_name(run, tmp_path):
    """It was to be saved as CSV, or to be unpickled."""
    own = _written(pa.table({"a": Y, "y": Y}), tmp_path / "own.parquet").read_bytes()
    arrow = _written(pa.table({"a": Y, "y": Y}), tmp_path / "own.arrow").read_bytes()
    np.save(tmp_path / "own.npy", np.eye(3))
    numbers = (tmp_path / "own.npy").read_bytes()
    for name, content, said in (
        ("a.csv", own, "a Parquet table; give it a name that ends in .parquet"),
        ("a.svm", own, "a Parquet table; give it a name that ends in .parquet"),
        ("a.npy", own, "a Parquet table; give it a name that ends in .parquet"),
        ("a.arrow", own, "a Parquet table; give it a name that ends in .parquet"),
        ("a.parquet.gz", gzip.compress(own), "a Parquet table; unpack it, and give it a name that"),
        ("a.pq", arrow, "an Arrow table; give it a name that ends in .arrow"),
        ("b.csv", numbers, "a NumPy array; give it a name that ends in .npy"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInput, match=f"says what is in the file; .* has {said}"):
            load(str(tmp_path / name), row_bound=5)
    for line in (("schema", tmp_path / "a.csv"), ("run", "dp-admm", "--data", tmp_path / "a.npy")):
        status, out, err = run(*line, *(BUDGET if line[0] == "run" else ()))
        assert (status, out) == (2, "")
        assert "give it a name that ends in .parquet" in " ".join(err.split())


def test_a_folder_of_parts_is_told_how_it_becomes_one_file(run, tmp_path):
    for name in ("all.parquet", "all"):
        (tmp_path / name / "y=1").mkdir(parents=True)
        _written(pa.table({"a": Y}), tmp_path / name / "y=1" / "part-0.parquet")
        status, out, err = run("run", "dp-admm", "--data", tmp_path / name, *BUDGET)
        assert (status, out) == (2, "")
        assert "of Parquet files; write them as one: pyarrow" in " ".join(err.split())


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_label_alone_is_told_of_no_commas(tmp_path, kind):
    """Columns of such a file stand apart as they are."""
    path = _written(pa.table({"y": Y}), tmp_path / f"own.{kind}")
    with pytest.raises(InvalidInput, match="got one column, 'y'; add those that the label is"):
        columnar_parts(path)
