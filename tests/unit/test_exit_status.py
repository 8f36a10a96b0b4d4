"""Exit statuses: the page lists what every verb really ends with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from dpcalc.certificates.certify import certify
from dpcalc.cli.main import group, main
from dpcalc.guarantees import PureDP

PAGE = Path(__file__).parents[2] / "docs" / "exit-status.md"

DP_ADMM = "--n-records 100 --rounds 5 --gradient-bound 1 --dual-start zero --adjacency add-remove"

ENDS: dict[tuple[str, int], str] = {
    (
        "audit",
        0,
    ): "--counts 60000 60000 60000 60000 --claim eps=1,delta=1e-5 --adjacency replace-one",
    ("audit", 1): "--counts 900 1000 10 1000 --claim eps=0.1,delta=0 --adjacency replace-one",
    ("audit", 3): "--counts 5 10 5 10 --claim eps=5,delta=1e-5 --adjacency replace-one",
    ("calibrate", 0): "gaussian --epsilon 1 --delta 1e-5 --adjacency add-remove",
    ("check", 0): "true.json",
    ("check", 1): "edited.json",
    (
        "calibrate",
        3,
    ): "exponential-norm --dimension 20000 --rounds 3 --epsilon 2 --delta 1e-5 --certify out.json",
    ("compose", 0): "plan.toml",
    ("compose", 1): "over.toml",
    ("compose", 3): "network.toml --certify out.json",
    ("convert", 0): "--pure 1 --to approx --delta 1e-5",
    ("epsilon", 0): f"dp-admm {DP_ADMM} --sigma 1 --delta 1e-5",
    (
        "epsilon",
        3,
    ): "penalty-perturbation --n-records 8000 --n-nodes 5 --degree 3 --loss-weight 1750 "
    "--regularization 0.22 --penalty 1 --noise-rate 1 --rounds 25 --dimension 2500 --delta 1e-6 "
    "--certify out.json",
    ("noise", 0): f"dp-admm {DP_ADMM} --epsilon 1 --delta 1e-5",
    ("noise", 3): "penalty-perturbation --n-records 8000 --n-nodes 5 --degree 3 --loss-weight 1750 "
    "--regularization 0.22 --penalty 1 --rounds 25 --dimension 2500 --epsilon 2 --delta 1e-6 "
    "--certify out.json",
    ("new", 0): "plan fresh",
    ("rate", 0): "dual-averaging-rate --help",
    ("plot", 0): "dp-admm --help",
    ("reproduce", 0): "",
    ("run", 0): "--help",
    ("schema", 0): "table.csv",
    ("selftest", 0): "",
    ("sweep", 0): "grid.toml",
    ("theorems", 0): "dp-admm",
    ("verify", 0): "true.toml",
    ("verify", 1): "false.toml",
    ("verify", 3): "objective.toml --certify out.json",
}
"""A command for every status of every verb that takes no run of minutes."""

PLAN = """
delta = 1e-5
epsilon = {epsilon}
adjacency = "replace-one"
[[release]]
pure = 1
"""

PARAMETERS = """
n_records = 8000
n_nodes = 5
degree = 3
loss_weight = 1750
regularization = 0.22
penalty = 1
noise_rate = 1
rounds = 25
dimension = 2500
"""
"""Certificates reach 2,000 dimensions."""

NETWORK = f"""
delta = 1e-6
[[release]]
theorem = "penalty-perturbation"
[release.parameters]{PARAMETERS}"""

CLAIM = """
[[claim]]
name = "{name}"
theorem = "dp-admm"
epsilon = {epsilon}
delta = 1e-5
attest = {attest}
[claim.parameters]
n_records = 100
rounds = 5
gradient_bound = 1
sigma = 0.1
dual_start = "zero"
adjacency = "add-remove"
"""


CERTIFICATE = json.dumps(certify([(PureDP(1.0), 1)], "replace-one", 1e-5, 1.0).certificate)


OBJECTIVE = f"""
[[claim]]
theorem = "penalty-perturbation"
epsilon = 50
delta = 1e-6
attest = "all"
[claim.parameters]{PARAMETERS}"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "table.csv": "a,b\n1,2\n",
        "plan.toml": PLAN.format(epsilon=9),
        "over.toml": PLAN.format(epsilon=0.1),
        "true.toml": CLAIM.format(name="true", epsilon=50, attest='"all"'),
        "false.toml": CLAIM.format(name="false", epsilon=0.01, attest='"all"'),
        "network.toml": NETWORK,
        "objective.toml": OBJECTIVE,
        "true.json": CERTIFICATE,
        "edited.json": CERTIFICATE.replace('"1.0"', '"0.5"'),
        "grid.toml": 'mechanism = "gaussian"\ndelta = [1e-6, 1e-5]\n[parameters]\nnoise_multiplier = 2\n',
        "bare.toml": CLAIM.format(name="bare", epsilon=50, attest="[]"),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def ended(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


def documented() -> dict[str, set[int]]:
    rows = re.findall(r"^\| `(\w+)` \| ([\d, ]+) \|", PAGE.read_text(), re.MULTILINE)
    return {verb: {int(n) for n in numbers.split(",")} for verb, numbers in rows}


def test_the_page_lists_every_verb() -> None:
    import click

    assert set(documented()) == set(group.list_commands(click.Context(group)))


def test_every_status_on_the_page_but_that_of_a_broken_mechanism_is_reached_here() -> None:
    listed = {(verb, status) for verb, statuses in documented().items() for status in statuses}
    # The tests of planted bugs, and those of selftest with a broken function, reach these.
    assert listed - set(ENDS) == {("audit", 4), ("selftest", 1)}
    assert set(ENDS) <= listed


@pytest.mark.parametrize(("verb", "status"), list(ENDS))
def test_a_verb_ends_as_the_page_says(folder: Path, verb: str, status: int) -> None:
    assert ended(verb, *ENDS[verb, status].split()) == status


@pytest.mark.parametrize("verb", sorted(documented()))
def test_bad_use_is_two_for_every_verb(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(verb, "--no-such-option") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_strict_fails_where_nothing_is_proved(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("verify", "bare.toml") == 0
    assert ended("verify", "bare.toml", "--strict") == 1
    assert ended("verify", "true.toml", "--strict") == 0


@pytest.mark.parametrize(("strict", "kind"), [([], "skipped"), (["--strict"], "failure")])
def test_junit_shows_an_unsupported_claim_as_strictly_as_asked(
    folder: Path, strict: list[str], kind: str
) -> None:
    ended("verify", "bare.toml", "--junit", "out.xml", *strict)
    suite = ET.parse("out.xml").getroot()[0]  # noqa: S314 - what was just written
    assert [child.tag for child in suite[0]] == [kind, "system-out"]
    assert suite.get({"skipped": "skipped", "failure": "failures"}[kind]) == "1"
    assert suite.get({"skipped": "failures", "failure": "skipped"}[kind]) == "0"


def test_what_all_promises_is_spelt_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended("verify", "true.toml")
    text = " ".join(capsys.readouterr().out.split())
    assert "gradient-bound: gradient_bound bounds the norm of every possible record's" in text
    assert "public-parameters: The starting point" in text
    ended("verify", "true.toml", "--json")
    (record,) = json.loads(capsys.readouterr().out)["claims"]
    assert set(record["attested"]) == {"gradient-bound", "public-parameters"}
    ended("verify", "bare.toml", "--json")
    (record,) = json.loads(capsys.readouterr().out)["claims"]
    assert record["attested"] == {}


def test_values_that_are_no_ones_but_ours_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    from dpcalc.report.claim_notes import print_notes
    from dpcalc.report.text import console

    noted: Any = _Noted({"rounds": "not given; 100"})
    print_notes(console(), [noted, noted], in_full=True)
    assert "1-2 rounds: not given; 100" in " ".join(capsys.readouterr().out.split())
    print_notes(console(), [noted], in_full=False)
    out = " ".join(capsys.readouterr().out.split())
    assert "1 rounds" in out
    assert "not given" not in out


class _Noted:
    """A claim of which only the notes are looked at."""

    def __init__(self, ours: dict[str, str]) -> None:
        self.ours = ours
        self.theorem = self

    def promised(self) -> dict[str, str]:
        return {}


@pytest.mark.parametrize("verb", ["verify", "compose"])
def test_a_name_that_no_file_can_have_is_a_refusal(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('delta = 1e-6\nrounds = "a\\u0000b.csv"\n')
    for name in ("x" * 100_000, *([str(plan)] if verb == "compose" else [])):
        with pytest.raises(SystemExit) as stopped:
            main([verb, name])
        assert stopped.value.code == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert len(err) < 1000
