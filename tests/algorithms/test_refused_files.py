"""Files as other programs write them: read as what they are, or refused with what to do."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma

import numpy as np
import pandas as pd
import pytest

from dpcalc.algorithms.problems.data import entries, libsvm
from dpcalc.auditing.scores import read_scores
from dpcalc.errors import InvalidInput
from dpcalc.training.data import load
from dpcalc.training.schema import Schema

BUDGET = ("--epsilon", "1", "--delta", "1e-6")


def test_records_without_names_are_refused_by_schema_and_by_run(run, tmp_path, monkeypatch):
    """The first one is never printed as names of columns."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare.csv").write_text("52,10986.49,no\n31,9000.5,yes\n44,1200.25,no\n")
    status, out, err = run("schema", "bare.csv")
    assert (status, out) == (2, "")
    assert (
        "got '52,10986.49,no', which looks like a record; put the names of the columns above" in err
    )
    line = ("--data", "bare.csv", "--positive", "yes", "--scale", "*=0:99999", *BUDGET)
    assert "which looks like a record" in run("run", "dp-admm", *line)[2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            ",age,y\n0,52,1\n1,31,0\n",
            "row numbers, as pandas writes its index, or a feature; leave",
        ),
        ("age,y,\n52,1,\n31,0,\n", "a delimiter at the end of each line or the last column; take"),
        ("age,,y\n52,1,1\n31,0,0\n", "none in column 2; give it one, or take the column out; if"),
    ],
)
def test_a_column_without_a_name_is_read_in_no_way(run, tmp_path, text, said):
    """With ``*=LOW:HIGH`` row numbers were a feature, and what follows a last comma the label."""
    path = tmp_path / "d.csv"
    path.write_text(text)
    for line in (
        ("schema", path),
        ("run", "dp-admm", "--data", path, "--scale", "*=0:99", *BUDGET),
    ):
        status, out, err = run(*line)
        assert (status, out) == (2, "")
        assert said in " ".join(err.split())


@pytest.mark.parametrize("name", [None, "patient"])
@pytest.mark.parametrize("noted", [True, False])
def test_the_index_of_a_pandas_table_is_neither_label_nor_feature(run, tmp_path, name, noted):
    """It stands last in the file, where the label is looked for; a filtered table has one."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "y": [1, 0, 1, 0]})[lambda table: table["a"] != 2]
    table = pa.Table.from_pandas(frame.rename_axis(index=name))
    path = tmp_path / "filtered.parquet"
    parquet.write_table(table if noted else table.replace_schema_metadata(None), path)
    lines = (
        ("schema", path),
        ("schema", path, "--label", "y"),
        ("run", "dp-admm", "--data", path, "--label", "y", "--scale", "*=0:9", *BUDGET),
    )
    for line in lines:
        status, out, err = run(*line)
        if name and not noted:
            assert status == 0  # a column like any other
            continue
        assert (status, out) == (2, "")
        said = f"got {name or '__index_level_0__'!r}, the index of a pandas table, which can be row"
        assert said in " ".join(err.split())


def test_a_table_whose_index_is_no_column_is_read(run, tmp_path):
    import pandas as pd

    path = tmp_path / "plain.parquet"
    pd.DataFrame({"a": [1.0, 2, 3, 4], "y": [1, 0, 1, 0]}).to_parquet(path)
    assert run("schema", path)[0] == 0


@pytest.mark.parametrize(
    "name", ["D.CSV", "d.Csv.GZ", "D.TSV", "D.CSV.XZ", "d.csv.BZ2", "D.TSV.bz2"]
)
def test_names_of_files_may_be_in_capitals(run, tmp_path, name):
    mark = "\t" if ".tsv" in name.lower() else ","
    openers = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
    path = tmp_path / name
    text = f"age{mark}y\n" + "".join(f"{k}{mark}{'yes' if k % 3 else 'no'}\n" for k in range(30))
    with openers.get(path.suffix.lower(), open)(path, "wt") as file:
        file.write(text)
    assert run("schema", path)[1].splitlines()[2:] == [
        "age = []  # [LOWEST, HIGHEST]",
        "# y is the label; give it a range if it is a number to predict.",
    ]
    found = load(str(path), positive="yes", schema=Schema.of({"age": [0, 29]}))
    assert found.labels.tolist() == [1.0 if k % 3 else -1.0 for k in range(30)]


def test_scores_of_a_numpy_file_in_capitals(tmp_path):
    np.save(tmp_path / "s.npy", np.arange(3.0))
    path = (tmp_path / "s.npy").rename(tmp_path / "S.NPY")
    assert read_scores(path).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        (
            "d.txt",
            ("--positive", "yes"),
            "'; if this is CSV, give the file a name that ends in .csv",
        ),
        ("D.DATA", ("--label", "y"), "leave out --label, or, if this is CSV, give the file a name"),
        ("d.txt", (), "a numeric label; got 'age,y' in line 1 of"),
        ("d.txt", (), "'; if this is CSV, give the file a name that ends in .csv"),
        (
            "d.txt",
            ("--categories", "y=a|b"),
            "categories, or, if this is CSV, give the file a name",
        ),
    ],
)
def test_a_table_by_another_name_is_refused_with_the_name_to_give(
    run, tmp_path, name, options, said
):
    path = tmp_path / name
    path.write_text("age,y\n1,yes\n2,no\n" if "--categories" not in options else "1 1:1\n-1 1:2\n")
    status, _, err = run("run", "dp-admm", "--data", path, *options, *BUDGET)
    assert status == 2
    assert said in " ".join(err.split())


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            "+1 1:1 2000000000:1\n-1 2:1\n",
            (),
            "index 2000000000 in line 1 of 'd.svm' makes 2000000000 columns, whose names alone need 200 GB; "
            "this machine has 16 GB; number the features that occur from 1 on",
        ),
        (
            "+1 1:1\n-1 2:1\n",
            ("--features", "3000000000"),
            "features=3000000000 of 'd.svm' makes 3000000000 columns, whose names alone need 300 GB",
        ),
        (
            "+1 1:1 2000000000:1\n-1 2:1\n",
            ("--scale", "*=0:1"),
            "where rows are held with their zeros; index 2000000000 in line 1 of 'd.svm' makes 2000000000 "
            "columns of 2 records, which need 264 GB; this machine has 16 GB; number the features that "
            "occur from 1 on, or leave out ranges, with which no number stays 0",
        ),
        (
            "+1 1:1\n-1 3000000000:1\n",
            (),
            "expected indices up to 2147483647; got '3000000000:1' in line 2 of 'd.svm'",
        ),
        ("+1 1:1\n-1 " + "9" * 30 + ":1\n", (), "expected indices up to 2147483647; got '999"),
    ],
)
def test_an_index_beyond_memory_is_refused_with_its_line(
    run, tmp_path, monkeypatch, text, options, said
):
    """Before the table is made: it was an error of this program, which advised fewer rounds."""
    monkeypatch.setattr(libsvm, "_memory", lambda: 16e9)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.svm").write_text(text)
    status, out, err = run("run", "dp-admm", "--data", "d.svm", *options, *BUDGET)
    assert (status, out) == (2, "")
    assert said in " ".join(err.split())


def test_a_limit_of_the_process_is_told_like_that_of_the_machine(tmp_path, monkeypatch):
    def refuse(self, width):
        raise MemoryError(len(self), width)

    (tmp_path / "d.svm").write_text("+1 1:1\n-1 2:1\n")
    monkeypatch.setattr(libsvm, "_memory", lambda: np.inf)
    monkeypatch.setattr(entries.Entries, "array", refuse)
    with pytest.raises(InvalidInput, match=r"index 2 in line 2 of .* need 2.64e-07 GB; number the"):
        load(str(tmp_path / "d.svm"))


@pytest.mark.parametrize(
    ("labels", "positive", "found", "source"),
    [
        ("2 1 2", None, [1, -1, 1], "; +1 is 2, -1 is 1"),
        ("0 1 0", None, [-1, 1, -1], "; +1 is 1, -1 is 0"),
        ("2 1 2", "1", [-1, 1, -1], "; +1 is 1, -1 is any other"),
        ("2 1 7", "7.0", [-1, -1, 1], "; +1 is 7, -1 is any other"),
        ("-1 +1 -1", None, [-1, 1, -1], ""),
        ("2.5 1 7", None, [2.5, 1, 7], ""),
    ],
)
def test_a_libsvm_file_says_which_label_became_which(tmp_path, labels, positive, found, source):
    path = tmp_path / "d.svm"
    path.write_text("".join(f"{label} 1:1\n" for label in labels.split()))
    read = load(str(path), positive=positive)
    assert (read.labels.tolist(), read.source) == (found, str(path) + source)
    for missing in ("3", "yes", "nan"):
        with pytest.raises(InvalidInput, match=f"got positive='{missing}', which is not in"):
            load(str(path), positive=missing)


def test_numbers_to_predict_come_from_a_libsvm_file(run, tmp_path):
    """Their range is that of the column "label"; the same numbers in a CSV file make the same model."""
    rng = np.random.default_rng(0)
    x = rng.random((300, 2)).round(3)
    y = (150 + 20 * x[:, 0] - 5 * x[:, 1]).round(3)
    svm, table = tmp_path / "h.svm", tmp_path / "h.csv"
    svm.write_text("".join(f"{b} 1:{a[0]} 2:{a[1]}\n" for a, b in zip(x, y, strict=True)))
    lines = [f"{a[0]},{a[1]},{b}" for a, b in zip(x, y, strict=True)]
    table.write_text("\n".join(["first,second,label", *lines]) + "\n")
    line = (
        "run",
        "dp-admm",
        "--loss",
        "huber",
        "--epsilon",
        "50",
        "--delta",
        "1e-6",
        "--seed",
        "1",
    )
    schema = ("--scale", "*=0:1", "--scale", "label=140:175", "--json")
    found = [json.loads(run(*line, "--data", path, *schema)[1]) for path in (svm, table)]
    assert found[0]["weights"] == found[1]["weights"]
    assert found[0]["utility"] == found[1]["utility"]
    assert found[0]["data"]["label"] == "label"
    status, _, err = run(*line, "--data", svm, "--scale", "*=0:1")
    assert status == 2
    assert "say it, --scale label=LOW:HIGH, or, of classes, which one becomes +1" in err


@pytest.mark.parametrize("kind", ["npy", "parquet", "svm"])
def test_labels_that_differ_in_the_seventh_digit_are_two_classes(run, tmp_path, kind):
    x = np.random.default_rng(5).normal(size=(120, 2))
    y = np.where(x[:, 0] > 0, 1234568.0, 1234567.0)
    path = tmp_path / f"codes.{kind}"
    if kind == "npy":
        np.save(path, np.column_stack([x, y]))
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame({"0": x[:, 0], "1": x[:, 1], "2": y}).to_parquet(path)
    else:
        path.write_text("".join(f"{b:.0f} 1:{a[0]} 2:{a[1]}\n" for a, b in zip(x, y, strict=True)))
    line = ["run", "dp-admm", "--data", str(path), "--positive", "1234568", *BUDGET]
    line += ["--row-bound", "9"] if kind == "svm" else ["--label", "2", "--scale", "*=-9:9"]
    status, out, err = run(*line)
    assert status == 0, err
    assert "1234568" in out
    line[line.index("1234568")] = "1.23457e+06"
    status, _, err = run(*line)
    assert status == 2
    assert "1234567" in err
