"""Values beyond a column's categories: refused, or, where that was said, one category more."""

from __future__ import annotations

import json
import math

import pytest

from dpcalc.errors import InvalidInput
from dpcalc.training.data import load
from dpcalc.training.out_of_core import stored_split
from dpcalc.training.schema import Schema, read_schema, schema_of_options

TEXT = "city,age,y\nBonn,20,0\nUlm,30,1\nKiel,40,1\n,50,0\n?,30,1\n"
SCHEMA = 'city = {categories = ["Bonn"], other = true}\nage = [20, 40]\n'
COLUMNS = [[1, 0, -1], [0, 1, 0], [0, 1, 1]]


@pytest.fixture
def schema(tmp_path):
    (tmp_path / "s.toml").write_text(SCHEMA)
    return read_schema(tmp_path / "s.toml")


def test_all_other_values_are_one_category_and_no_value_is_none(tmp_path, schema):
    (tmp_path / "d.csv").write_text(TEXT)
    found = load(str(tmp_path / "d.csv"), schema=schema)
    assert found.names == ("city=Bonn", "city=(other)", "age")
    assert found.features.tolist() == COLUMNS
    assert found.left_out == 2
    assert found.row_bound == math.sqrt(2)
    refused = Schema.of({"city": ["Bonn"], "age": [20, 40]})
    with pytest.raises(
        InvalidInput, match=r"got 'Ulm' in line 3 .*\{categories = \[...\], other = true"
    ):
        load(str(tmp_path / "d.csv"), schema=refused)


def test_the_column_is_there_where_no_record_needs_it(tmp_path, schema):
    (tmp_path / "d.csv").write_text("city,age,y\nBonn,20,0\nBonn,30,1\n")
    assert load(str(tmp_path / "d.csv"), schema=schema).features.tolist() == [[1, 0, -1], [1, 0, 0]]


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_the_same_of_tables_of_numbers_in_memory_and_in_blocks(tmp_path, schema, suffix):
    pd = pytest.importorskip("pandas")
    path = tmp_path / f"d{suffix}"
    frame = pd.DataFrame(
        {"city": ["Bonn", "Ulm", "Kiel", None], "age": [20, 30, 40, 50], "y": [0, 1, 1, 0]}
    )
    getattr(frame, "to_parquet" if suffix == ".parquet" else "to_feather")(path)
    found = load(str(path), schema=schema)
    assert found.names == ("city=Bonn", "city=(other)", "age")
    assert found.features.tolist() == COLUMNS
    with stored_split(str(path), memory=1e7, schema=schema, held_out=0) as split:
        assert split.names[:3] == found.names


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ({"categories": ["A"], "others": True}, "needs {categories = "),
        ({"categories": ["A"], "other": 1}, "needs {categories = "),
        ({"categories": "A", "other": True}, "needs {categories = "),
        ({"categories": [], "other": True}, "needs {categories = "),
        ({"other": True}, "needs {categories = "),
        ({"categories": ["A", "A"]}, "every category once"),
        ({"categories": ["A", "(other)"], "other": True}, "categories other than '(other)'"),
    ],
)  # fmt: skip
def test_what_is_no_list_with_others_is_refused(fact, said):
    with pytest.raises(InvalidInput) as caught:
        Schema.of({"city": fact})
    assert said in str(caught.value)


def test_a_list_without_others_is_the_plain_list():
    assert Schema.of({"c": {"categories": ["A"], "other": False}}) == Schema.of({"c": ["A"]})
    joined = Schema.of({"c": {"categories": ["A"], "other": True}}).joined(Schema.of({"d": ["B"]}))
    assert joined.other == {"c"}


def test_a_run_names_the_category_among_its_coefficients(run, tmp_path):
    (tmp_path / "d.csv").write_text("city,y\n" + "Bonn,0\nUlm,1\nKiel,1\nBonn,1\n" * 10)
    (tmp_path / "s.toml").write_text('city = {categories = ["Bonn"], other = true}\n')
    data = ("--data", tmp_path / "d.csv", "--schema", tmp_path / "s.toml", "--seed", 1)
    status, out, err = run("run", "dp-admm", *data, "--epsilon", 1, "--delta", 1e-3, "--json")
    assert status == 0, err
    assert "city=(other)" in json.dumps(json.loads(out))
    assert "other = true" in run("schema", tmp_path / "d.csv")[1]


@pytest.mark.parametrize(
    ("listed", "cell", "said"),
    [
        ("Bonn", "bonn", "can be 'Bonn' written in another way or another value"),
        ("Bonn ", "Bonn", "can be 'Bonn ' written in another way"),
        ("New York", "New  York", "can be 'New York' written in another way"),
        ("1", "1.0", "can be '1' written in another way"),
        ("Bonn", "null", "can be another value or mean that there is none"),
        ("Bonn", "nan", "can be another value or mean that there is none"),
        ("Bonn", "-", "can be another value or mean that there is none"),
    ],
)
def test_a_value_that_may_be_a_category_or_none_is_refused(tmp_path, listed, cell, said):
    (tmp_path / "d.csv").write_text(f"c,y\n{listed},0\nUlm,1\n{cell},1\n")
    facts = {"categories": [listed], "other": True}
    with pytest.raises(InvalidInput) as caught:
        load(str(tmp_path / "d.csv"), schema=Schema.of({"c": facts}))
    assert said in str(caught.value)
    both = Schema.of({"c": {"categories": sorted({listed.strip(), cell}), "other": True}})
    assert load(str(tmp_path / "d.csv"), schema=both).features[2, -1] == 0


def test_codes_of_seven_digits_in_a_column_with_gaps_keep_their_digits(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"code": [1234567.0, 1234568.0, 0.25, None], "y": [0, 1, 1, 0]})
    frame.to_parquet(tmp_path / "d.parquet")
    facts = {"code": {"categories": ["1234567", "0.25"], "other": True}}
    found = load(str(tmp_path / "d.parquet"), schema=Schema.of(facts))
    assert found.features.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_a_row_that_may_be_a_category_is_named_in_tables_of_numbers(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"city": ["Ulm", None, "Kiel", "bonn"], "y": [0, 1, 1, 0]})
    frame.to_parquet(tmp_path / "d.parquet")
    facts = {"city": {"categories": ["Bonn"], "other": True}}
    with pytest.raises(InvalidInput, match=r"got 'bonn' in row 4 .*can be 'Bonn' written"):
        load(str(tmp_path / "d.parquet"), schema=Schema.of(facts))


def test_the_command_line_makes_all_others_one_category_with_a_star(run, tmp_path):
    """What the schema says with other = true."""
    (tmp_path / "d.csv").write_text("city,y\n" + "Bonn,0\nUlm,1\nKiel,1\nBonn,1\n" * 10)
    said = schema_of_options([], ["city=Bonn|*"])
    assert said == Schema.of({"city": {"categories": ["Bonn"], "other": True}})
    assert schema_of_options([], ["city = * | Bonn"]) == said
    data = ("--data", tmp_path / "d.csv", "--seed", 1, "--epsilon", 1, "--delta", 1e-3, "--json")
    status, out, err = run("run", "dp-admm", *data, "--categories", "city=Bonn|*")
    assert status == 0, err
    assert "city=(other)" in json.dumps(json.loads(out))
    status, _, err = run("run", "dp-admm", *data, "--categories", "city=Bonn")
    assert status == 2
    assert "with *, such as A|B|*" in " ".join(err.split())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("city=Bonn|(other)", "can be all values that are not listed or one that is called so"),
        ("city=*", "needs a value to tell from all others"),
        ("city=Bonn|*|*", "for these once"),
    ],
)
def test_others_that_can_be_read_in_two_ways_are_refused(given, said):
    with pytest.raises(InvalidInput) as caught:
        schema_of_options([], [given])
    assert said in str(caught.value)


def test_a_value_called_like_all_others_is_listed_as_such_or_refused(tmp_path):
    """By a plain list, which has no others, and in the file, where others are one category."""
    with pytest.raises(InvalidInput, match="can be all values that are not listed or one that is"):
        Schema.of({"city": ["Bonn", "*"]})
    (tmp_path / "d.csv").write_text("city,y\nBonn,0\nUlm,1\n*,1\n")
    with pytest.raises(InvalidInput, match=r"got '\*' in line 4 .*another value or stand for all"):
        load(str(tmp_path / "d.csv"), schema=schema_of_options([], ["city=Bonn|*"]))
    for other, columns in ((True, 3), (False, 3)):
        words = ["Bonn", "*"] if other else ["Bonn", "Ulm", "*"]
        facts = {"city": {"categories": words, "other": other}}
        found = load(str(tmp_path / "d.csv"), schema=Schema.of(facts))
        assert found.features.tolist()[2][words.index("*")] == 1
        assert len(found.names) == columns
