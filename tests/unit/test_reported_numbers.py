"""Sentences that sum up a result: they must agree with its numbers."""

from __future__ import annotations

import json
import math
import re

import pytest

import dpcalc
from dpcalc.guarantees import GDP, ApproxDP
from dpcalc.report import records
from dpcalc.report.records import attack_accuracy
from dpcalc.report.text import ratio_line, same_text
from dpcalc.theorems.catalogue import privacy_result


def _options(key):
    example = privacy_result(key).example
    return [w for name, v in example.items() for w in ("--" + name.replace("_", "-"), v)]


def _share(out):
    return float(re.search(r"at most ([\d.]+) % of the time", " ".join(out.split())).group(1))


@pytest.mark.parametrize("delta", [("--delta", "0.3"), ("--delta", "1e-5")])
def test_the_risk_sentence_is_what_convert_says(run, delta):
    """Whatever δ the answer is for."""
    options = ["noisy-gd", *_options("noisy-gd"), *delta]
    _, out, _ = run("epsilon", *options)
    certified = json.loads(run("epsilon", *options, "--json")[1])["certified"]
    risk = json.loads(run("convert", "--gdp", certified["mu"], "--to", "risk", "--json")[1])[
        "certified"
    ]
    assert certified["attack_accuracy"] == risk["attack_accuracy"]
    assert 0 <= _share(out) - 100 * risk["attack_accuracy"] < 0.01
    assert "From even odds" in out


def test_a_verdict_does_not_wait_for_the_accuracy_of_an_attack(monkeypatch):
    """δ(0) may cost more than ε; it is asked for where it is shown."""
    asked = []

    def watched(*arguments):
        asked.append(arguments)
        return attack_accuracy(*arguments)

    monkeypatch.setattr(records, "attack_accuracy", watched)
    found = dpcalc.epsilon("noisy-gd", delta=1e-5, **privacy_result("noisy-gd").example)
    assert "verdict" in str(found)
    assert found.claimed >= found.certified
    assert not asked
    assert found.record()["certified"]["attack_accuracy"] >= 0.5
    assert found.record()["certified"]["attack_accuracy"] >= 0.5
    assert len(asked) == 1


def test_compose_uses_the_whole_curve(run, tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('[[release]]\nmechanism = "gaussian"\nnoise_multiplier = 1\ncount = 4\n')
    _, out, _ = run("compose", path, "--delta", "1e-5")
    assert 0 <= _share(out) - 100 * GDP(2.0).attack_accuracy() < 0.01


def test_a_run_says_the_same(run):
    _, out, _ = run("run", "dp-admm", "--epsilon", 1, "--delta", 1e-5, "--rounds", 2, "--seed", 1)
    assert 50 < _share(out) < 60  # the point (1, 1e-5) alone would give 73 %


def test_a_point_helps_where_the_curve_is_loose_at_zero():
    """At ε = 0 a bare pair says nothing better than its own formula."""
    pair = ApproxDP(1.0, 1e-5)
    assert attack_accuracy(pair, 1.0, 1e-5) == pair.attack_accuracy()
    assert attack_accuracy(GDP(1.0), 0.5, 0.0) == ApproxDP(0.5, 0.0).attack_accuracy()
    assert attack_accuracy(GDP(1.0), float("inf"), 0.0) == GDP(1.0).attack_accuracy()


@pytest.mark.parametrize(
    ("claimed", "certified", "verdict", "words"),
    [
        (10.0588, 10.0471, "LOOSE", "is about the certified"),
        (2.0, 2.0, "HOLDS", "is about the certified"),
        (3.0, 2.0, "LOOSE", "1.5 times the certified"),
        (10.0471, 10.0588, "REFUTED", "too small: the certified ε is slightly larger"),
        (2.0, 3.0, "UNSUPPORTED", "1.5 times as large"),
    ],
)
def test_ratios_near_one_are_not_printed_as_one(claimed, certified, verdict, words):
    line = ratio_line(
        {"claimed": {"epsilon": claimed}, "certified": {"epsilon": certified}, "verdict": verdict}
    )
    assert words in line
    assert "1 times" not in line


def test_alike_is_half_a_percent():
    assert same_text(1.0049, 1.0)
    assert not same_text(1.0051, 1.0)
    assert not same_text(1.0, 1.0051)


def _plan(tmp_path, *releases):
    path = tmp_path / "plan.toml"
    path.write_text("".join(f"[[release]]\n{release}\n" for release in releases))
    return path


POISSON = 'mechanism = "poisson-subsampled-gaussian"\nnoise_multiplier = 1\nrate = 0.01\n'


def test_compose_without_delta_says_what_to_try(run, tmp_path):
    path = tmp_path / "rounds.csv"
    path.write_text("mechanism,noise_multiplier,count\ngaussian,2,5\n")
    assert "try --delta 1e-6" in run("compose", path)[2]
    assert "try --delta" not in run("compose", path, "--delta", "1e-5")[1]
    assert "try --delta" not in run("compose", _plan(tmp_path, "pure = 0.1"))[1]


@pytest.mark.parametrize(
    ("releases", "words"),
    [
        (("zcdp = 0.1", "pure = 0.1"), "Rényi"),
        (("zcdp = 0.1", "approx = [0.1, 1e-7]"), "Rényi"),
        (("gdp = 0.1", "gdp = 0.2"), "exact"),
        ((f"{POISSON}count = 9",), "at least"),
    ],
)
def test_compose_says_how_every_total_was_found(run, tmp_path, releases, words):
    assert words in run("compose", _plan(tmp_path, *releases), "--delta", "1e-5")[1]


def test_mixed_neighbours_are_named(run, tmp_path):
    named = f'name = "second"\n{POISSON}adjacency = "replace-one"'
    _, _, err = run("compose", _plan(tmp_path, POISSON, "pure = 0.1", named), "--delta", "1e-5")
    assert "add-remove (release 1, poisson-subsampled-gaussian, by default)" in err
    assert "replace-one (release 3 (second))" in err


def test_calibrate_takes_one_round_where_another_field_is_open(run):
    budget = ("--epsilon", "1", "--delta", "1e-5", "--json")
    once = json.loads(run("calibrate", "gaussian", *budget)[1])
    assert once == json.loads(run("calibrate", "gaussian", *budget, "--rounds", "1")[1])
    assert once["solved_for"] == "noise_multiplier"
    rounds = json.loads(run("calibrate", "gaussian", *budget, "--noise-multiplier", "8")[1])
    assert rounds["solved_for"] == "rounds"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("poisson-subsampled-gaussian", "got --noise-multiplier, --rate open"),
        ("gaussian --rounds 2 --noise-multiplier 2", "got all; leave one out"),
        ("randomised-response --rounds 2 --each 1", "one of --each, --rounds"),
    ],
)
def test_calibrate_names_its_options(run, line, words):
    status, out, err = run("calibrate", *line.split(), "--epsilon", "1", "--delta", "1e-5")
    assert (status, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(("ratio", "digits"), [("1/3", 0.33333333333333337), ("0.3", 0.3)])
def test_a_ratio_is_reported_by_digits_that_are_not_below_it(run, tmp_path, ratio, digits):
    """The checker, which reads them as decimals, agrees; the budget is the ratio itself."""
    plan, certificate = tmp_path / "plan.toml", tmp_path / "certificate.json"
    plan.write_text(f'epsilon = "{ratio}"\n[[release]]\npure = "{ratio}"\n')
    status, out, _ = run("compose", plan, "--certify", certificate, "--json")
    record = json.loads(out)
    assert (status, record["certified"]["epsilon"], record["within_budget"]) == (0, digits, True)
    assert record["certificate"]["upper"] == record["certificate"]["lower"] == "certified"
    assert run("check", certificate)[0] == 0
    convert = run("convert", "--pure", ratio, "--to", "approx", "--delta", "0", "--json")[1]
    assert json.loads(convert)["certified"]["epsilon"] == digits


def test_the_lower_end_of_a_ratio_is_not_above_it(run, tmp_path):
    """5/7 is below its double."""
    plan = tmp_path / "plan.toml"
    plan.write_text('[[release]]\npure = "5/7"\n')
    record = json.loads(run("compose", plan, "--json")[1])
    assert record["certified"]["epsilon_lower"] == math.nextafter(5 / 7, 0)
