"""Every answer says what it is about: neighbouring relation, release, unit, δ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpcalc.cli.main import main
from dpcalc.guarantees.composition import Composition
from dpcalc.report.setting import risk_line
from dpcalc.vocabulary import Adjacency

DP_ADMM = "dp-admm --n-records 1000 --rounds 10 --gradient-bound 1 --dual-start zero"
PNSGD = "pnsgd --step-size .1 --smoothness 2 --sigma 2 --lipschitz 1 --n-records 1000"
DEFAULT = "replace-one, one record exchanged for another (the default; --adjacency add-remove"
STATED = "add-remove, one record more or less"
ONLY = "replace-one, one record exchanged for another (the only one here)"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(line: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            main(line.split())
        captured = capsys.readouterr()
        assert stopped.value.code in (None, 0, 1), captured.err
        return captured.out

    return call


@pytest.mark.parametrize(
    ("line", "text", "relation", "basis"),
    [
        (f"epsilon {DP_ADMM} --sigma .1 --delta 1e-5", DEFAULT, "replace-one", "default"),
        (
            f"epsilon {DP_ADMM} --sigma .1 --delta 1e-5 --adjacency add-remove",
            STATED,
            "add-remove",
            "stated",
        ),
        (f"epsilon {PNSGD} --delta 1e-5", ONLY, "replace-one", "only"),
        (f"noise {DP_ADMM} --epsilon 1 --delta 1e-5", DEFAULT, "replace-one", "default"),
        (
            f"noise {DP_ADMM} --epsilon 1 --delta 1e-5 --adjacency add-remove",
            STATED,
            "add-remove",
            "stated",
        ),
        (
            "calibrate poisson-subsampled-gaussian --rate .01 --noise-multiplier 2 --epsilon 1 "
            "--delta 1e-5",
            "add-remove, one record more or less (the default; --adjacency replace-one for the other)",
            "add-remove",
            "default",
        ),
        ("calibrate randomised-response --epsilon 1", "none was said", None, "none"),
    ],
)
def test_the_relation_stands_in_text_and_json(
    run: Any, line: str, text: str, relation: str | None, basis: str
) -> None:
    assert text in " ".join(run(line).split())
    record = json.loads(run(f"{line} --json"))
    assert (record["adjacency"], record["adjacency_basis"]) == (relation, basis)
    assert record["unit"] == (None if relation is None else "record")


def test_release_and_delta_stand_next_to_it(run: Any) -> None:
    for line in (f"epsilon {DP_ADMM} --sigma .1 --delta 1e-5", f"noise {DP_ADMM} --epsilon 1 --delta 1e-5"):  # fmt: skip
        out = run(line)
        assert "release: every iterate" in out
        assert "1e-5" in out
        assert json.loads(run(f"{line} --json"))["release"] == "every iterate"


CLAIM = """
[[claim]]
name = "{name}"
theorem = "dp-admm"
epsilon = 1
delta = 1e-5
[claim.parameters]
n_records = 1000
rounds = 10
gradient_bound = 1
dual_start = "zero"
sigma = 1
"""
CLAIMS = CLAIM.format(name="silent") + CLAIM.format(name="said") + 'adjacency = "add-remove"\n'


def test_every_verdict_says_its_relation_and_release(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(CLAIMS)
    records = json.loads(run(f"verify {file} --json"))["claims"]
    assert [r["adjacency"] for r in records] == ["replace-one", "add-remove"]
    assert [r["adjacency_basis"] for r in records] == ["default", "stated"]
    assert {r["release"] for r in records} == {"every iterate"}
    words = " ".join(run(f"verify {file}").split())
    assert "neighbouring relation: replace-one (1); add-remove (2); by default in 1" in words
    assert "release: every iterate (1-2)" in words


def test_a_bare_notion_says_that_it_has_no_relation(run: Any) -> None:
    assert "that of the guarantee given" in run("convert --gdp 1 --to risk")
    assert json.loads(run("convert --gdp 1 --to risk --json"))["adjacency"] is None


@pytest.mark.parametrize(
    ("adjacency", "guess"),
    [
        ("add-remove", "whether a given record was used"),
        ("replace-one", "which of two given records was used"),
        ("neighbouring-functions", "which of two neighbouring functions a user has"),
        ("", "which of two neighbours was used"),
    ],
)
def test_an_attacker_guesses_what_the_relation_hides(adjacency: str, guess: str) -> None:
    line = risk_line(0.51234, adjacency)
    assert line == f"From even odds, an attacker who guesses {guess} is right at most 51.24 % of the time."  # fmt: skip
    assert risk_line(1.0, adjacency) == ""


def test_every_relation_has_words() -> None:
    assert {a.unit for a in Adjacency} == {"record", "user"}
    assert len({a.difference for a in Adjacency}) == len(Adjacency)


def test_the_risk_of_what_tells_everything_is_answered_without_its_curve(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,000 rounds of ε = .65: the curve takes half a minute, and its value rounds down to 0."""
    monkeypatch.setattr(Composition, "tradeoff", None)
    found = json.loads(run("convert --approx 0.65:1.59e-12 --to risk --rounds 1955 --json"))[
        "certified"
    ]
    assert (found["advantage"], found["missed_at_5_percent_false_alarms"]) == (1.0, 0.0)
