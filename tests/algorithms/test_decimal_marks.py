"""Numbers whose points may set thousands apart have one reading, or are refused with both."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpcalc.errors import InvalidInput
from dpcalc.training.data import load
from dpcalc.training.out_of_core import stored_split
from dpcalc.training.schema import Schema, read_schema, schema_of_options

BUDGET = ("--epsilon", 1, "--delta", 1e-3)


def _table(tmp_path, cells, mark=";"):
    path = tmp_path / "d.csv"
    lines = [f"{cell}{mark}{k % 2}" for k, cell in enumerate(cells)]
    path.write_text("\n".join([f"rent{mark}y", *lines]) + "\n")
    return str(path)


def _column(path, schema=None, **given):
    return load(path, schema=schema, row_bound=None if schema else 9000, **given).features[:, 0]


@pytest.mark.parametrize(
    "cells", [["1.234", "2.500"], ["1.234", "12", "-7.001"], ["250", "", "1.000", "9.999", "NA"]]
)
def test_points_that_may_be_thousands_are_refused_with_both_readings(run, tmp_path, cells):
    path = _table(tmp_path, cells)
    first = next(cell for cell in cells if "." in cell)
    with pytest.raises(InvalidInput) as caught:
        _column(path)
    assert f"'rent' of {path!r} can be decimals or whole numbers" in str(caught.value)
    assert f"{first!r} can be {float(first)} or {first.replace('.', '')}" in str(caught.value)
    status, out, err = run("run", "dp-admm", "--data", path, "--scale", "*=0:9000", *BUDGET)
    assert (status, out) == (2, "")
    assert 'decimal = "." } if' not in err
    found = json.loads(run("schema", path, "--json")[1])
    assert found["columns"]["rent"] == "numbers whose points may set thousands apart"


@pytest.mark.parametrize(
    "cells",
    [["1.234", "0.500"], ["1.234", "2.5"], ["1.234", "1234"], ["1.234", "1e3"], ["5", "250"],
     ["0.125", "0.250"], ["1.234", "12.3456"]],
)  # fmt: skip
def test_one_number_that_can_only_be_read_in_one_way_is_enough(tmp_path, cells):
    assert _column(_table(tmp_path, cells)).tolist() == [float(cell) for cell in cells]


@pytest.mark.parametrize("mark", [",", "\t"])
def test_only_semicolons_go_with_decimal_commas(tmp_path, mark):
    assert _column(_table(tmp_path, ["1.234", "2.500"], mark)).tolist() == [1.234, 2.5]


def test_a_schema_says_which_mark_is_the_decimal_one(tmp_path):
    path = _table(tmp_path, ["1.234", "2.500"])
    (tmp_path / "s.toml").write_text('rent = {range = [0, 5000], decimal = ","}\n')
    assert _column(path, read_schema(tmp_path / "s.toml")).tolist() == [1234 / 2500 - 1, 0]
    for name in ("rent", "*"):
        points = Schema.of({name: {"range": [0, 5], "decimal": "."}})
        assert _column(path, points) == pytest.approx([1.234 / 2.5 - 1, 0])
    together = Schema.of({"rent": {"decimal": ","}}).joined(schema_of_options(["*=0:5000"], []))
    assert _column(path, together).tolist() == [1234 / 2500 - 1, 0]


def test_decimal_commas_are_read_where_they_were_said(tmp_path):
    cells = ["1.234,5", "1234,5", "0,25", "-1.234.567", "7", "+3,0"]
    found = load(
        _table(tmp_path, cells), schema=Schema.of({"rent": {"decimal": ","}}), row_bound=1e7
    )
    assert found.features[:, 0].tolist() == [1234.5, 1234.5, 0.25, -1234567, 7, 3]


@pytest.mark.parametrize("cell", ["1.5", "12.34", "1e3", "1,234.5", "1.23,4", "0.125", "x"])
def test_a_number_without_the_comma_that_was_said_is_refused(tmp_path, cell):
    path = _table(tmp_path, ["1,5", cell])
    with pytest.raises(InvalidInput, match="a number with a decimal comma in column 'rent'; got"):
        load(path, schema=Schema.of({"rent": {"decimal": ","}}), row_bound=9)


def test_a_number_to_predict_is_read_like_any_other(tmp_path):
    (tmp_path / "d.csv").write_text("a;rent\n1;1.234\n2;2.500\n3;1.000\n")
    with pytest.raises(InvalidInput, match=r"column 'rent' of .* can be decimals or whole numbers"):
        load(str(tmp_path / "d.csv"), row_bound=9)
    facts = {"a": [1, 3], "rent": {"range": [0, 5000], "decimal": ","}}
    found = load(str(tmp_path / "d.csv"), schema=Schema.of(facts))
    assert found.labels == pytest.approx([1234 / 2500 - 1, 0, -0.6])


@pytest.mark.parametrize(
    "fact",
    [{"decimal": ";"}, {"decimal": ",", "categories": ["A"]}, {"decimal": 1}, {"decimal": True}],
)
def test_what_is_no_decimal_mark_is_refused(fact):
    with pytest.raises(InvalidInput, match=r'where decimal is "," or'):
        Schema.of({"rent": fact})


def test_a_mark_of_no_column_and_of_no_text_is_refused(tmp_path):
    path = _table(tmp_path, ["1.234", "0.5"])
    for name in ("rant", "y"):
        facts = Schema.of({name: {"decimal": "."}})
        with pytest.raises(InvalidInput, match=f"column of numbers of .*{name}"):
            load(path, schema=facts, row_bound=9, positive="1")
    (tmp_path / "d.svm").write_text("+1 1:1\n-1 2:1\n")
    np.save(tmp_path / "d.npy", np.eye(3))
    marks = Schema.of({"1": {"decimal": "."}})
    for data in ("builtin", str(tmp_path / "d.svm"), str(tmp_path / "d.npy")):
        with pytest.raises(InvalidInput, match="expected a CSV file for numbers with a decimal"):
            load(data, schema=marks)
    with (
        pytest.raises(InvalidInput, match="expected a CSV file for numbers with a decimal"),
        stored_split(str(tmp_path / "d.npy"), memory=1e7, schema=marks),
    ):
        pass


def test_several_points_in_a_number_are_thousands_to_say_so(tmp_path):
    with pytest.raises(InvalidInput, match="whole numbers whose points set thousands apart"):
        _column(_table(tmp_path, ["1.234.567", "2.500"]))
