"""What a run that learns nothing says of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("numba")

BUDGET = "--epsilon 1e-4 --delta 1e-6 --seed 3".split()


@pytest.fixture
def seldom(tmp_path, monkeypatch):
    """A table of which one record in seven is positive."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1500, 2))
    ill = x @ [1, 2] + 0.3 * rng.normal(size=1500) > 2.4
    lines = [f"{a:.3f},{b:.3f},{'ill' if y else 'well'}" for (a, b), y in zip(x, ill, strict=True)]
    (tmp_path / "seldom.csv").write_text("a,b,state\n" + "\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return "--data seldom.csv --label state --positive ill --scale a=-4:4 --scale b=-4:4".split()


@pytest.mark.parametrize(("records", "blamed"), [(1, False), (40, True)])
def test_a_record_more_than_a_constant_has_right_is_not_learning(
    run, seldom, monkeypatch, records, blamed
):
    """Of 300 records one alone would be right by chance as well."""
    line = ["run", "dp-admm", *seldom, *BUDGET, "--json"]
    constant = json.loads(run(*line)[1])["utility"]["test_error_of_a_constant"][0]
    assert 0.1 < constant < 0.2
    monkeypatch.setattr(
        "dpcalc.training.diagnosis.without_noise", lambda *_: constant - records / 300
    )
    found = json.loads(run(*line)[1])["diagnosis"]
    assert found["tried"][0] == {"fault": "noise", "error": constant - records / 300}
    assert (found["fault"] == "noise") is blamed


def test_fewer_rounds_are_offered_where_rounds_are_chosen(run, seldom, monkeypatch):
    monkeypatch.setattr("dpcalc.training.diagnosis.without_noise", lambda *_: 0.01)
    for method, offered in (("gradient-admm", False), ("dp-admm", True)):
        told = " ".join(run("run", method, *seldom, *BUDGET)[1].split())
        assert "the noise drowns" in told
        assert ("fewer rounds" in told) is offered


@pytest.mark.parametrize(("records", "told"), [(1, True), (4, True), (8, False), (0, False)])
def test_a_run_that_is_hardly_ahead_of_a_constant_says_by_how_many(
    run, seldom, monkeypatch, records, told
):
    """Of 300 records of which one in seven is positive, a deviation of a constant's errors is six."""
    from dpcalc.training import metrics

    def measured(*given):
        found = metrics.utility(*given)
        (constant,) = found["test_error_of_a_constant"]
        return found | {"test_error": [constant - records / 300]}

    monkeypatch.setattr("dpcalc.training.outcome.utility", measured)
    found = json.loads(run("run", "dp-admm", *seldom, *BUDGET, "--json")[1])
    said = [note for note in found["notes"] if "is ahead of" in note]
    assert len(said) == told
    if told:
        assert said[0].startswith(
            f"It is ahead of the best constant answer by {records} of 300 held-out records"
        )
        assert found["diagnosis"] is None


def test_a_narrower_range_is_offered_where_a_number_is_predicted(run, tmp_path):
    """What noise moves the answer by is a share of the label's range."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 2))
    y = x @ [1, -0.5] + rng.normal(size=400) / 10
    lines = [f"{a:.3f},{b:.3f},{c:.3f}" for (a, b), c in zip(x, y, strict=True)]
    (tmp_path / "own.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    line = ["run", "dp-acc-admm", "--loss", "huber", "--data", tmp_path / "own.csv"]
    line += ["--scale", "*=-1:1", *BUDGET]
    errors = []
    for most in (2, 20):
        found = json.loads(run(*line, "--scale", f"y=-{most}:{most}", "--json")[1])
        errors.append(found["utility"]["test_error"][0])
    assert errors[1] > 4 * errors[0]
    told = " ".join(run(*line, "--scale", "y=-20:20")[1].split())
    assert "fewer rounds or a narrower public range of the label, in proportion" in told
