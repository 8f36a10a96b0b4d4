"""Training on your own table: scaled by public facts alone, and told what is at fault."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from dpcalc.errors import InvalidInput
from dpcalc.training.data import load, split
from dpcalc.training.schema import Range, Schema, schema_of_options
from dpcalc.training.template import template_of

SCHEMA = 'age = [18, 90]\ncity = ["Bonn", "Ulm"]\nincome = [0, 200_000]\n'
BUDGET = "--epsilon 1 --delta 1e-6 --seed 1".split()


@pytest.fixture
def table(tmp_path):
    """Age decides, 5 % of the labels are wrong; income is four orders of magnitude larger."""
    rng = np.random.default_rng(5)
    age, city = rng.uniform(18, 90, 3000), rng.choice(["Bonn", "Ulm"], 3000)
    income, wrong = np.exp(rng.normal(10, 0.5, 3000)), rng.random(3000) < 0.05
    lines = [
        f"{a:.0f},{c},{i:.2f},{'yes' if (a > 54) != w else 'no'}"
        for a, c, i, w in zip(age, city, income, wrong, strict=True)
    ]
    path = tmp_path / "own.csv"
    path.write_text("\n".join(["age,city,income,bought", *lines]) + "\n")
    (tmp_path / "own.toml").write_text(SCHEMA)
    return path


@pytest.mark.parametrize(
    "method",
    "dp-admm dp-acc-admm private-dual-averaging dual-variable-perturbation penalty-perturbation "
    "private-r-admm private-mr-admm gaussian-mr-admm".split(),
)
def test_three_lines_of_public_facts_are_enough(run, table, method):
    """Of this file's held-out labels 6.8 % are wrong; the best model errs there."""
    schema = table.with_suffix(".toml")
    line = ["run", method, "--data", table, "--schema", schema, "--positive", "yes", *BUDGET]
    status, out, err = run(*line, "--json")
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert found["utility"]["test_error"][0] <= 0.08
    assert found["diagnosis"] is None
    assert found["data"]["features"] == 5  # age, two cities, income, the constant


@pytest.mark.parametrize(
    ("scaling", "keys"),
    [
        (("--schema", "own.toml"), ["public-ranges"]),
        (("--schema", "own.toml", "--row-bound", "1"), ["public-ranges", "public-row-bound"]),
        (("--row-bound", "5", "--categories", "city=Bonn|Ulm"), ["public-row-bound"]),
    ],
)
def test_public_facts_are_among_the_promises(run, table, monkeypatch, scaling, keys):
    """What is clipped is said as a rule; the answer does not depend on how much there was of it."""
    monkeypatch.chdir(table.parent)
    line = ["run", "dual-variable-perturbation", "--data", table, *scaling, "--positive", "yes"]
    line += [*BUDGET, "--nodes", "2", "--rounds", "1"]
    found = json.loads(run(*line, "--json")[1])
    made = [a for a in found["assumptions"] if a["key"].startswith("public-r")]
    assert [a["key"] for a in made] == keys
    assert {a["state"] for a in made} == {"not attested"}
    assert found["provided"][-len(keys) :] == keys
    shown = " ".join(run(*line)[1].split())
    assert all(f"? {key}: " in shown for key in keys)
    assert ("outside their range are clipped" in shown) == ("public-ranges" in keys)
    table.write_text(re.sub(r",\d+\.\d\d,", ",1e9,", table.read_text()))
    assert json.loads(run(*line, "--json")[1])["assumptions"] == found["assumptions"]


def test_what_nobody_scaled_needs_no_promise_on_scaling(run):
    found = json.loads(run("run", "dp-admm", *BUDGET, "--json")[1])
    assert not any(a["key"].startswith("public-r") for a in found["assumptions"])
    refuted = json.loads(run("run", "dp-admm", *BUDGET, "--scale", "*=-9:9", "--json")[1])
    assert (refuted["verdict"], refuted["provided"]) == ("REFUTED", [])
    assert refuted["assumptions"][-1]["key"] == "public-ranges"


def test_coefficients_are_in_the_units_of_the_file(table):
    data = split(load(str(table), positive="yes", schema=Schema.of(_facts())), intercept=True)
    weights = np.arange(1.0, 6.0)
    found = data.coefficients(weights)
    raw = load(str(table), positive="yes", schema=Schema.of(_facts(city_only=True)), row_bound=9)
    scores = raw.features @ [found[name] for name in raw.names] + found["(intercept)"]
    np.testing.assert_allclose(scores[data.order[0]], data.train[0] @ weights, atol=1e-9)


def _facts(*, city_only=False):
    facts = {"age": (18, 90), "city": ("Bonn", "Ulm"), "income": (0, 2e6)}
    return {"city": facts["city"]} if city_only else facts


def test_a_row_does_not_depend_on_the_other_rows(table):
    """Nothing is read off the data: other records, other extremes, the same first row."""
    schema = Schema.of({**_facts(), "income": (0, 30_000)})
    data = load(str(table), positive="yes", schema=schema)
    lines = table.read_text().splitlines()
    extreme = [f"{age},Ulm,{income},no" for age, income in ((-1e9, 1e12), (1e300, -5), (54, 15000))]
    table.write_text("\n".join([*lines[:2], *extreme]) + "\n")
    other = load(str(table), positive="yes", schema=schema)
    np.testing.assert_array_equal(other.features[0], data.features[0])
    np.testing.assert_array_equal(other.features[1:, 0], [-1, 1, 0])
    np.testing.assert_array_equal(other.features[1:, 3], [1, -1, 0])
    assert other.row_bound == data.row_bound == math.sqrt(3)
    assert np.linalg.norm(other.features, axis=1).max() <= math.sqrt(3)
    assert np.linalg.norm(split(data, intercept=True).train[0], axis=1).max() <= 1 + 1e-15


def test_numbers_to_predict_are_measured_in_their_own_unit(run, tmp_path):
    rng = np.random.default_rng(2)
    area = rng.uniform(20, 200, 4000)
    price = 3000 * area + rng.normal(0, 20_000, 4000)
    path = tmp_path / "flats.csv"
    rows = [f"{a:.1f},{p:.0f}" for a, p in zip(area, price, strict=True)]
    path.write_text("\n".join(["area,price", *rows]) + "\n")
    line = ["run", "dp-acc-admm", "--data", path, "--scale", "area=0:250", "--loss", "huber"]
    line += ["--step-size", "1", *BUDGET, "--json"]
    status, _, err = run(*line)
    assert (status, "'price'" in err) == (2, True)
    found = json.loads(run(*line, "--scale", "price=0:1e6")[1])
    assert 20_000 < found["utility"]["test_error"][0] < 60_000
    assert found["utility"]["test_error_of_a_constant"][0] == pytest.approx(157_000, rel=0.05)
    (model,) = found["coefficients"]
    assert model["area"] == pytest.approx(3000, rel=0.3)


@pytest.mark.parametrize(
    ("line", "fault", "word"),
    [
        ("dp-admm --schema own.toml --epsilon 1e-4", "noise", "the noise drowns"),
        ("private-dual-averaging --schema own.toml --epsilon 1e6 --rounds 1", "rounds", "twenty"),
        ("dp-admm --categories city=Bonn|Ulm --row-bound 1 --epsilon 1e6", "scaling", "--schema"),
        (
            "dp-admm --schema own.toml --epsilon 1e6 --l1 9 --output last",
            "settings",
            "steps, penalties",
        ),
    ],
)
def test_the_message_names_what_is_at_fault(run, table, monkeypatch, line, fault, word):
    monkeypatch.chdir(table.parent)
    line = ["run", *line.split(), "--data", table.name, "--positive", "yes"]
    line += ["--delta", "1e-6", "--seed", "3"]
    found = json.loads(run(*line, "--json")[1])
    assert found["diagnosis"] is not None, found["utility"]
    assert found["diagnosis"]["fault"] == fault
    assert word in " ".join(run(*line)[1].split())


def test_data_with_nothing_to_learn_are_not_blamed_on_the_noise(run, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "coin.csv"
    rows = [f"{x:.3f},{y}" for x, y in zip(rng.random(400), rng.integers(0, 2, 400), strict=True)]
    path.write_text("\n".join(["x,y", *rows]) + "\n")
    out = run("run", "dp-admm", "--data", path, "--scale", "x=0:1", *BUDGET)[1]
    assert "noise and budget are not to blame" in " ".join(out.split())


def test_the_schema_to_fill_in_holds_no_value_and_is_refused_as_it_is(run, table, tmp_path):
    status, out, _ = run("schema", table)
    assert status == 0
    entries = {cell for line in table.read_text().splitlines()[1:] for cell in line.split(",")}
    assert not entries & set(out.replace(",", " ").split())
    assert template_of(table).kinds == {"age": "number", "city": "words", "income": "number"}
    target = tmp_path / "new.toml"
    assert [run("schema", table, "--out", target)[0] for _ in range(2)] == [0, 0]
    status, _, err = run("run", "dp-admm", "--data", table, "--schema", target, *BUDGET)
    assert status == 2
    assert "'age' needs its public range" in err
    assert "got nothing yet" in err
    filled = target.read_text().replace("age = []   ", "age = [18, 90]", 1)
    filled = filled.replace("city = []", 'city = ["Bonn", "Ulm"]').replace(
        "income = []", "income = [0, 2e5]"
    )
    target.write_text(filled)
    line = ["run", "dp-admm", "--data", table, "--positive", "yes", "--rounds", "3", *BUDGET]
    assert run(*line, "--schema", target)[0] == 0
    status, _, err = run("schema", table, "--out", target)
    assert (status, target.read_text()) == (2, filled)
    assert "exists and may be filled in; name another" in err


@pytest.mark.parametrize(
    "facts",
    [
        {"a": [1]},
        {"a": [1, 2, 3]},
        {"a": [2, 1]},
        {"a": [1, 1]},
        {"a": [0, math.inf]},
        {"a": [math.nan, 1]},
        {"a": ["x", "x"]},
        {"a": ["x", 1]},
        {"a": "x"},
        {"a": [True, False]},
        {"a": {"low": 1}},
        {"a": [0, 5e-324]},
        {"a": [0, 10**400]},
    ],
)
def test_what_is_no_public_fact_is_refused(facts):
    with pytest.raises(InvalidInput, match="'a'"):
        Schema.of(facts)


@pytest.mark.parametrize(
    ("name", "text", "line", "said"),
    [
        (
            "spaces.csv",
            "a b y\n1 2 0\n3 4 1\n",
            ["run", "dp-admm", *BUDGET, "--data"],
            "expected columns and a label in the first line of 'spaces.csv'; got one column, 'a b y'; "
            "put a comma, semicolon, tab or bar between columns",
        ),
        (
            "commas.tsv",
            "a,b,y\n1,2,0\n3,4,1\n",
            ["schema"],
            "expected columns and a label in the first line of 'commas.tsv'; got one column, 'a,b,y'; "
            "put a tab, as .tsv says, between columns",
        ),
        (
            "grades.csv",
            "a,grade\n1,0\n2,1\n3,2\n",
            ["run", "dp-admm", *BUDGET, "--scale", "a=0:9", "--data"],
            "expected a public range of the numbers to predict; got none for 'grade' of 'grades.csv'; "
            "say it, --scale grade=LOW:HIGH, or, of classes, which one becomes +1: --positive VALUE",
        ),
        (
            "cities.csv",
            "city,y\nUlm,0\nRom,1\n",
            ["run", "dp-admm", *BUDGET, "--categories", "city=Bonn|Ulm", "--data"],
            "expected one of the categories of 'city'; got 'Rom' in line 3 of 'cities.csv'; list "
            "every value that the column may have, or make all others one category: with *, such "
            "as A|B|*, or in a schema: {categories = [...], other = true}",
        ),
        (
            "first.csv",
            "cls,age,bmi\nno,30,20\nyes,50,30\n",
            ["run", "dp-admm", *BUDGET, "--scale", "*=0:99", "--positive", "yes", "--data"],
            "expected a number in column 'cls'; got 'no' in line 2 of 'first.csv'; if 'cls' is the "
            "label, say so: --label cls; else list the values that it may have: --categories "
            "'cls=A|B|C', or a schema, which dpcalc schema prints to fill in",
        ),
        (
            "first.csv",
            "cls,age,smoker\nyes,30,no\nno,50,yes\n",
            ["run", "dp-admm", *BUDGET, "--scale", "*=0:99", "--positive", "yes", "--data"],
            "expected a number in column 'cls'; got 'yes' in line 2 of 'first.csv'; if 'cls' is the "
            "label, say so: --label cls; else list the values that it may have: --categories "
            "'cls=A|B|C', or a schema, which dpcalc schema prints to fill in",
        ),
        (
            "grades.svm",
            "0 1:1\n1 1:2\n2 1:1\n",
            ["run", "dp-admm", *BUDGET, "--data"],
            "expected labels +1 or -1 by loss='logistic' of dp-admm; got 2 different labels from 0 to 1; "
            "for numbers to predict try --loss huber, for classes name the one that becomes +1: "
            "--positive VALUE",
        ),
        (
            "costs.csv",
            "a,cost\n1,-256\n2,700\n1,2679\n3,900\n",
            [
                "run",
                "dp-admm",
                *BUDGET,
                *"--held-out 0 --scale *=0:9 --scale cost=0:3000 --data".split(),
            ],
            "expected labels +1 or -1 by loss='logistic' of dp-admm; got 4 different labels from 0 to "
            "2679 once clipped to their range; for numbers to predict try --loss huber, for classes "
            "name the one that becomes +1: --positive VALUE",
        ),
        (
            "alike.svm",
            "1 1:1\n1 1:2\n",
            ["run", "dp-admm", *BUDGET, "--data"],
            "expected two classes; got 1 for every record in alike.svm; one class alone leaves nothing "
            "to learn",
        ),
        (
            "spelt.csv",
            "a,y\n1,yes\n2,no\n",
            ["run", "dp-admm", *BUDGET, "--scale", "a=0:9", "--positive", "Yes", "--data"],
            "expected a label that occurs; got positive='Yes', which is not in column 'y' of "
            "'spelt.csv'; known: 'no', 'yes'; take one of these, spelt as in the file, or name the "
            "label column: --label",
        ),
        (
            "twice.csv",
            "a,a,y\n1,2,0\n",
            ["schema"],
            "expected every column name once; 'twice.csv' has 'a' in columns 1 and 2; rename all but "
            "one, or take them out",
        ),
        (
            "empty.csv",
            "",
            ["schema", "--label", "y"],
            "expected a header line; got an empty file 'empty.csv'; put the names of the columns in "
            "its first line, and a record in each line below",
        ),
    ],
)
def test_a_refusal_says_in_a_line_what_to_do(run, tmp_path, monkeypatch, name, text, line, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    assert run(*line, name) == (2, "", f"dpcalc: {said}\n")


def test_options_and_file_may_not_contradict():
    one = schema_of_options(["a=0:1"], ["k=x|y"])
    assert one == Schema({"a": Range(0, 1)}, {"k": ("x", "y")})
    for other in (schema_of_options(["a=0:2"], []), schema_of_options([], ["a=u|v"])):
        with pytest.raises(InvalidInput, match="two for 'a'"):
            one.joined(other)


def test_a_range_is_mapped_without_overflow():
    wide = Range(-1.5e308, 1.5e308)
    np.testing.assert_array_equal(wide.scaled(np.array([-1.7e308, 0, 1.7e308])), [-1, 0, 1])


@pytest.mark.parametrize("line", ["--label y", "--positive 1", "--features 5"])
def test_what_is_said_of_another_kind_of_file_is_refused(run, line):
    status, _, err = run("run", "dp-admm", *line.split(), "--epsilon", "1", "--delta", "1e-6")
    assert status == 2
    assert line.split()[0] in err


def test_features_are_not_said_of_a_table_nor_labels_of_libsvm(tmp_path, table):
    with pytest.raises(InvalidInput, match="--features"):
        load(str(table), features=5)
    numbered = tmp_path / "rows.libsvm"
    numbered.write_text("+1 1:0.5\n-1 2:0.5\n" * 4)
    with pytest.raises(InvalidInput, match="--label"):
        load(str(numbered), label="y")
    assert load(str(numbered), features=2).features.shape == (8, 2)


def test_a_row_bound_above_what_the_ranges_allow_is_refused(run, table):
    line = ("--schema", table.with_suffix(".toml"), *BUDGET, "--positive", "yes")
    status, _, err = run("run", "dp-admm", "--data", table, *line, "--row-bound", "1e3")
    assert status == 2
    assert "--row-bound" in err


MESSY = (
    "Größe (cm);Raucher;Alter;Kündigt\r\n168,5;NA;33;Ja\r\n170,0;ja;;Nein\r\n181,5;;41;ja\r\n"
    "175,5;nein;52;Nein\r\n"
)
"""A table as a spreadsheet of another country saves it: semicolons, decimal commas, a mark first."""


def test_decimal_commas_are_told_from_words_and_never_read(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(MESSY.encode("utf-8-sig"))
    kinds = template_of(path).kinds
    assert kinds == {"Größe (cm)": "numbers with commas", "Raucher": "words", "Alter": "number"}
    assert "once its numbers have decimal points" in run("schema", path)[1]
    facts = {"Größe (cm)": [140, 210], "Raucher": ["ja", "nein", "NA", ""], "Alter": [18, 90]}
    with pytest.raises(InvalidInput, match=r"got '168,5' in line 2 .*with a decimal point"):
        load(str(path), positive="Ja", schema=Schema.of(facts))


def test_an_entry_that_is_a_category_is_not_missing(tmp_path):
    """Of four records one has no age; NA and the empty cell count where they are categories."""
    path = tmp_path / "t.csv"
    path.write_text(re.sub(r"(\d),(\d)", r"\1.\2", MESSY).replace("\r", ""), encoding="utf-8")
    ranges = {"Größe (cm)": [140, 210], "Alter": [18, 90]}
    for words, complete in ((["ja", "nein"], 1), (["ja", "nein", "NA", ""], 3)):
        schema = Schema.of({**ranges, "Raucher": words})
        if complete == 1:
            with pytest.raises(InvalidInput, match="for every record"):
                load(str(path), positive="Nein", schema=schema)
        else:
            found = load(str(path), positive="Ja", schema=schema)
            assert (len(found.labels), found.left_out) == (complete, 1)
            assert found.features[:, 1:5].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]]
            assert "+1 is 'Ja', -1 any other ('Nein', 'ja'); 1 incomplete" in found.source


def test_a_positive_label_is_a_value_whatever_it_is_called(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,NA\n2,EU\n3,NA\nNA,EU\n")
    found = load(str(path), positive="NA", schema=Schema.of({"a": [0, 4]}))
    assert (found.labels.tolist(), found.left_out) == ([1, -1, 1], 1)
