"""dpcalc audit and dpcalc verify --audit as users run them: exit status, output, reports."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpcalc.auditing import Progress
from dpcalc.auditing.suite.case import Case
from dpcalc.auditing.suite.run import carry_out
from dpcalc.audits.suite.catalogue import audit_of
from dpcalc.store import open_store, plan_of
from tests.audits.user_mechanisms import QUICK, run


def test_without_a_target_the_audits_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit") == 0
    assert "dp-admm" in capsys.readouterr().out


def test_the_printed_start_is_refuted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", "dp-admm", "--case", "as-printed", *QUICK) == 1
    assert "REFUTED" in capsys.readouterr().out


def test_a_twin_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", "dp-admm", "--case", "zero-start", "--json", *QUICK) == 0
    found = json.loads(capsys.readouterr().out)
    (result,) = found["results"]
    assert result["verdict"]["outcome"] == "NOT REFUTED"
    certified, attack = (result[name]["epsilon"] for name in ("certified", "attack"))
    assert 0.85 * certified < attack <= certified


def test_the_same_seed_gives_the_same_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "gradient-admm-noisy-oracle", "--case", "local", "--json", *QUICK]
    found = []
    for _ in range(2):
        run(*words)
        record = json.loads(capsys.readouterr().out)["results"][0]
        found.append(record["verdict"])
    assert found[0] == found[1]


def test_a_claim_of_ones_own_is_held_against_the_twin() -> None:
    assert run("audit", "dp-admm", "--claim", "eps=0.3,delta=1e-3", *QUICK) == 1


def test_a_theorems_claim() -> None:
    settings = ["n_records=10", "rounds=5", "gradient_bound=1", "sigma=3", "dual_start=zero"]
    words = [w for s in [*settings, "adjacency=add-remove"] for w in ("--set", s)]
    theorem = ["--theorem", "dp-admm", "--certified", "--delta", "1e-3"]
    assert run("audit", "dp-admm", *theorem, *words, *QUICK) == 1


def test_ones_own_mechanism(here: Path) -> None:
    assert here.is_dir()
    words = ["audit", "my_mechanism:target", "--claim", "eps=1", "--runs", "4000", *QUICK]
    assert run(*words) in (0, 3)
    assert run("audit", "my_mechanism:claimed", "--runs", "4000", *QUICK) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_mechanism_prints_and_sets_is_kept_from_the_answer(
    here: Path, capfd: pytest.CaptureFixture[str], workers: int
) -> None:
    assert here.is_dir()
    words = ["my_mechanism:loud_target", "--runs", "4000", "--workers", str(workers), *QUICK]
    assert run("audit", *words, "--json") in (0, 3)
    said = capfd.readouterr()
    assert json.loads(said.out)["results"][0]["verdict"]["runs"] > 4000
    assert "hello" in said.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["my_mechanism:target"], "expected a claim"),
        (["my_mechanism:nothing"], "module:object"),
        (["my_mechanism:number"], "a Target"),
        (["my_mechanism.py:target"], "; write my_mechanism:target"),
        (["./my_mechanism.py"], "; write my_mechanism:NAME"),
        (["folder/mine.py:target"], "; write folder.mine:target"),
        (["../mine.py:target"], "; write mine:target, from the folder of the file"),
        (["my_mechanism:once"], "dpcalc.auditing.mechanism(once, WITH_RECORD, WITHOUT_RECORD"),
        (
            ["my_mechanism:once_a_call"],
            "lambda data, generator, runs: np.stack([once(data, generator) for _ in range(runs)])",
        ),
        (["dp-adm"], "did you mean 'dp-admm'"),
        (["dp-admm", "--case", "zero-stat"], "did you mean"),
        (["dp-admm", "--claim", "eps=1,mu=2"], "one of eps"),
        (["dp-admm", "--claim", "mu=2"], "try --claim mu=2,delta=1e-5"),
        (["dp-admm", "--claim", "eps=1,epsilon=2"], "each part once; got epsilon again"),
        (["dp-admm", "--claim", "eps=x"], "needs a number"),
        (["dp-admm", "--set", "rounds=3"], "--theorem"),
        (["dp-admm", "--report", "report.pdf"], ".html"),
        (["--counts", "1", "2", "3", "4"], "--claim and --adjacency"),
    ],
)
def test_bad_use_is_one_line_and_status_two(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert here.is_dir()
    assert run("audit", *words) == 2
    said = capsys.readouterr().err
    assert text in said
    assert said.count("\n") == 1


def test_counts_and_scores_recorded_elsewhere(here: Path) -> None:
    claim = ["--claim", "eps=1,delta=1e-5", "--adjacency", "add-remove"]
    assert run("audit", "--counts", "990", "10", "10", "990", *claim) == 1
    assert run("audit", "--counts", "6", "4", "5", "5", *claim) == 3
    generator = np.random.default_rng(1)
    for name, shift in (("in", 5.0), ("out", 0.0)):
        np.savetxt(here / f"{name}.csv", generator.standard_normal(4000) + shift)
    assert run("audit", "--scores", "in.csv", "out.csv", *claim) == 1


def test_interrupted_runs_go_on(tmp_path: Path) -> None:
    """Stopped after the first of four batches and started again: the verdict of one go."""
    case = audit_of("dp-admm").case("half-the-noise")
    case = replace(case, runs=2000, batch=500)
    kept = tmp_path / "kept.sqlite"

    def interrupt(_: Case, seen: Progress) -> None:
        if seen.runs == 500:
            raise KeyboardInterrupt

    options = {"seed": 3, "controls": False}
    with pytest.raises(KeyboardInterrupt), open_store(kept, {"seed": 3}) as store:
        carry_out([case], checkpoint=store, progress=interrupt, **options)
    made: list[int] = []
    with open_store(kept, {"seed": 3}) as store:
        names = store.section("half-the-noise").names()
        assert not any(name.startswith("counted/0/in") for name in names)
        (resumed,) = carry_out(
            [case], checkpoint=store, progress=lambda _, seen: made.append(seen.runs), **options
        )
    (at_once,) = carry_out([case], **options)
    assert made == [500, 1000, 1500, 2000]
    assert resumed.verdict.record() == at_once.verdict.record()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("broken_target", "could not release (RuntimeError: out of paper)"),
        ("nothing_target", "numbers with runs as the first axis"),
        ("words_target", "numbers that are doubles"),
    ],
)
def test_a_mechanism_that_fails_is_the_users(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    assert run("audit", f"my_mechanism:{name}", *QUICK) == 2
    assert text in capsys.readouterr().err


def test_a_module_that_fails_is_the_users(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "badly.py").write_text("1 / 0")
    assert run("audit", "badly:target", *QUICK) == 2
    assert "division by zero" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import sys; sys.exit(0)", "the code ends the program: exit 0"),
        ("def target(): raise ValueError('boom')", "got 'ending:target' (ValueError: boom)"),
        ("def target(): raise SystemExit", "the code ends the program: exit None"),
    ],
)
def test_code_that_ends_or_fails_gives_no_verdict(
    here: Path, capsys: pytest.CaptureFixture[str], code: str, text: str
) -> None:
    """Status 0 would read as not refuted, 70 as a defect of dpcalc."""
    (here / "ending.py").write_text(code)
    sys.modules.pop("ending", None)
    assert run("audit", "ending:target", *QUICK) == 2
    assert text in capsys.readouterr().err


def test_a_release_that_ends_the_program_gives_no_verdict(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "leaving.py").write_text(
        "from dpcalc.auditing import Claim, mechanism\n"
        "def release(data, generator, runs): raise SystemExit(0)\n"
        "target = mechanism(release, 1.0, 0.0, adjacency='add-remove', name='leaving')\n"
        "pair = target, Claim.of(epsilon=1, adjacency='add-remove')\n"
    )
    assert run("audit", "leaving:pair", *QUICK) == 2
    assert "could not release (the code ends the program: exit 0)" in capsys.readouterr().err


def test_checkpoints_of_targets_with_any_name(here: Path) -> None:
    words = ["my_mechanism:fine", "--runs", "200", "--checkpoint", "kept", *QUICK]
    assert run("audit", *words) in (0, 3)
    assert plan_of(here / "kept") is not None
    assert run("audit", *words, "--resume") in (0, 3)
