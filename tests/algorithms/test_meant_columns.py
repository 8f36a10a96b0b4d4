"""Columns that were meant as numbers, tables of one column, and first lines that may be records."""

from __future__ import annotations

import pytest

from dpcalc.algorithms.problems.data.meant import is_comma_number, is_percentage, is_time, meant

BUDGET = ("--epsilon", 1, "--delta", 1e-3)
RANGE = ("--scale", "*=0:5")

TIMES = [
    "2024-01-05", "2024/1/5", "2024-01-05T10:00", "2024-01-05 10:00:00.25Z", "05.01.2024", "5/1/24",
    "01/05/2024 10:30 PM", "2024-01-05 10:00:00+01:00", "10:30", "10:30:05",
]  # fmt: skip
NO_TIMES = ["2024", "1.5", "12-34", "2024-01/05", "1:2:3:4", "192.168.0.1", "A-01-05", "10:3", ""]


def test_dates_and_times_are_told_from_words_and_numbers():
    assert [cell for cell in TIMES if not is_time(cell)] == []
    assert [cell for cell in NO_TIMES if is_time(cell)] == []


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("2024-01-05 10:00:00", "looks like dates or times: take it out, or write it as a number"),
        ("1,5", "looks like numbers with a decimal comma: write them with a decimal point"),
        ("10.986,49", "looks like numbers with a decimal comma"),
        ("1,000", "can be decimals or set thousands apart"),
        ("79%", "looks like numbers with percent signs: write them without the sign"),
        ("-0.5 %", "looks like numbers with percent signs"),
        ("1,000,000.5", "can be decimals or set thousands apart"),
    ],
)
def test_a_refusal_says_what_the_column_looks_like(run, tmp_path, cell, said):
    assert said in meant(cell)
    (tmp_path / "d.csv").write_text(f"a;b;y\n{cell};2;0\n{cell};3;1\n")
    status, _, err = run("run", "dp-admm", "--data", tmp_path / "d.csv", *RANGE, *BUDGET)
    assert status == 2
    told = " ".join(err.split())
    assert f"a number in column 'a'; got {cell!r} in line 2" in told
    assert said in told
    marks = "percent signs" if is_percentage(cell) else "commas"
    kind = "dates or times" if is_time(cell) else f"numbers with {marks}"
    assert f'"a": "{kind}"' in run("schema", tmp_path / "d.csv", "--json")[1]
    assert is_time(cell) + is_comma_number(cell) + is_percentage(cell) == 1


def test_a_column_of_several_kinds_is_one_of_words(run, tmp_path):
    (tmp_path / "d.csv").write_text('a,y\n2024-01-05,0\n"1,5",1\n')
    assert '"a": "words"' in run("schema", tmp_path / "d.csv", "--json")[1]


def test_timestamps_of_a_parquet_file_are_refused_as_such(run, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "d.parquet"
    pd.DataFrame({"when": pd.to_datetime(["2024-01-05", "2024-01-06"]), "y": [0, 1]}).to_parquet(
        path
    )
    status, _, err = run("run", "dp-admm", "--data", path, *RANGE, *BUDGET)
    assert status == 2
    assert "take it out, or write it as a number" in " ".join(err.split())
    assert '"when": "dates or times"' in run("schema", path, "--json")[1]


@pytest.mark.parametrize("label", [("--label", "y"), ()])
def test_a_label_alone_is_refused_as_such(run, tmp_path, label):
    (tmp_path / "d.csv").write_text("y\n0\n1\n1\n")
    for line in (("run", "dp-admm", *RANGE, *BUDGET, "--data"), ("schema",)):
        status, out, err = run(*line, tmp_path / "d.csv", *label)
        assert (status, out) == (2, "")
        assert "got one column, 'y'; put a comma, semicolon, tab or bar" in " ".join(err.split())


def test_a_first_line_with_numbers_is_a_record_or_names_and_nothing_is_read(run, tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("52,10986.49,Klaus\n31,2000.0,Maria\n22,1.0,Otto\n")
    for line in (
        ("run", "dp-admm", "--data", path, *RANGE, *BUDGET, "--positive", "Maria"),
        ("schema", path),
    ):
        status, out, err = run(*line)
        assert (status, out) == (2, "")
        told = " ".join(err.split())
        assert "which looks like a record; put the names of the columns above it, or, if" in told
        assert "say which one is the label: --label Klaus" in told
    path.write_text("2019,2020,y\n1,2,0\n3,4,1\n")
    assert run("schema", path)[0] == 2
    status, out, _ = run("schema", path, "--label", "y")
    assert (status, "2019 = []" in out) == (0, True)


def test_a_name_that_is_a_value_of_its_column_is_no_name(run, tmp_path):
    (tmp_path / "d.csv").write_text("Bonn,Klaus\nUlm,Maria\nBonn,Otto\n")
    status, out, err = run("schema", tmp_path / "d.csv")
    assert (status, out) == (2, "")
    assert "if the first line is a record, put the names" in " ".join(err.split())
