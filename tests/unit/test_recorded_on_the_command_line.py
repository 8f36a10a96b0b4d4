"""``dpcalc audit`` without a target: the verdict that Python gives, or the sentence of the refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcalc.auditing import Claim, Counts
from dpcalc.auditing.recorded import audit_canaries, audit_counts, audit_scores
from dpcalc.auditing.transcripts import audit_transcripts
from dpcalc.auditing.verdict import Verdict
from dpcalc.report.records import to_json
from dpcalc.transcript import Series, Transcript
from dpcalc.vocabulary import Release

Run = Callable[..., tuple[int, str, str]]

CLAIM = ("--claim", "eps=1", "--adjacency", "add-remove")
COUNTS = ("--counts", 60, 40, 35, 65)
PURE = Claim.of(epsilon=1.0, adjacency="add-remove", release="every message")
TERMS: tuple[object, ...] = ("--alpha", "0.02", "--detectable-ratio", "3")
SAME_TERMS: Any = {"alpha": 0.02, "detectable_ratio": 3.0}
MEMBER = "--member goes with one file of --scores; got two"
RNG = np.random.default_rng(0)
IN, OUT = RNG.normal(1, 1, 120).round(1), RNG.normal(0, 1, 120).round(1)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Scores in two files and in one, the numbers beside a column of nothing."""
    monkeypatch.chdir(tmp_path)
    for name, scores in (("in.csv", IN), ("out.csv", OUT)):
        rows = "".join(f"{score},{k}\n" for k, score in enumerate(scores))
        Path(name).write_text(f"score,place\n{rows}")
    rows = "".join(f"{s},1,0\n" for s in IN) + "".join(f"{s},0,1\n" for s in OUT)
    Path("runs.csv").write_text(f"score,member,control\n{rows}")
    return tmp_path


def _verdict(run: Run, *words: object) -> dict[str, Any]:
    status, out, err = run("audit", *words, "--json")
    assert not err
    (found,) = json.loads(out)["results"]
    assert (found["key"], found["role"], found["expected"]) == ("recorded", "own", [])
    assert (status == 1) == (found["verdict"]["outcome"] == "REFUTED")
    verdict: dict[str, Any] = found["verdict"]
    return {"title": found["title"], **verdict}


def _same(title: str, verdict: Verdict) -> dict[str, Any]:
    return {"title": title, **json.loads(to_json(verdict.record()))}


@pytest.mark.parametrize("coins", [False, True])
def test_counts_are_judged_as_in_python(run: Run, coins: bool) -> None:
    flag = ("--fair-coins",) if coins else ()
    found = _verdict(run, *COUNTS, *CLAIM, *TERMS, *flag, "--release", "every message")
    counts = Counts.of(60, 40, 35, 65)
    made = audit_counts(PURE, counts, fair_coins=coins, **SAME_TERMS)
    assert found == _same("counts of right and wrong answers", made)
    for terms in ({}, {"alpha": 0.02}, {"detectable_ratio": 3.0}, {"fair_coins": not coins}):
        kept = {"fair_coins": coins, **SAME_TERMS} if "fair_coins" in terms else {}
        other = audit_counts(PURE, counts, **{**kept, **terms})
        assert found != _same("counts of right and wrong answers", other)


@pytest.mark.parametrize("coins", [False, True])
def test_scores_are_judged_as_in_python(run: Run, coins: bool) -> None:
    flag = ("--fair-coins",) if coins else ()
    about = (*CLAIM, *TERMS, *flag, "--seed", 7, "--column", "score", "--release", "every message")
    made = audit_scores(PURE, IN, OUT, fair_coins=coins, seed=7, **SAME_TERMS)
    expected = _same("scores of runs with and without the record", made)
    assert _verdict(run, "--scores", "in.csv", "out.csv", *about) == expected
    assert _verdict(run, "--scores", "runs.csv", *about) == expected
    swapped = audit_scores(PURE, OUT, IN, fair_coins=coins, seed=7, **SAME_TERMS)
    named = ("--scores", "runs.csv", "--member", "control")
    assert _verdict(run, *named, *about) == _same(expected["title"], swapped)


def test_canaries_are_judged_as_in_python_with_equal_scores_in_random_order(run: Run) -> None:
    about = ("--scores", "in.csv", "out.csv", "--column", "score", "--one-run", 30, 20)
    found = _verdict(
        run, *about, *CLAIM, *TERMS, "--fair-coins", "--seed", 5, "--release", "every message"
    )
    flags = np.repeat([True, False], [120, 120])
    scores = np.concatenate([IN, OUT])
    terms = {"seed": 5, "guess_in": 30, "guess_out": 20, "fair_coins": True, **SAME_TERMS}
    made = _same(
        "scores of the canaries of one run",
        audit_canaries(PURE, flags, scores, **terms),
    )
    assert found == {**made, "seed": 5, "repeatable": True}
    unseeded = _verdict(run, *about, *CLAIM, "--fair-coins")
    assert unseeded["seed"] not in (None, _verdict(run, *about, *CLAIM, "--fair-coins")["seed"])


def _transcript(shift: float, seed: int) -> Transcript:
    values = np.random.default_rng(seed).laplace(size=(60, 2, 2)) + shift
    series = Series(values=values, axes=("runs", "rounds", "features"), meaning="messages")
    return Transcript(
        released={"message": series}, algorithm="own", release=Release.LAST_ITERATE, rounds=2
    )


def test_transcripts_say_themselves_what_was_released(run: Run) -> None:
    pair = _transcript(4.0, 1), _transcript(0.0, 2)
    for name, made in zip(("in.npz", "out.npz"), pair, strict=True):
        made.save(name)
    claim = Claim.of(epsilon=1.0, adjacency="add-remove", release="last iterate")
    found = _verdict(run, "--transcripts", "in.npz", "out.npz", *CLAIM, *TERMS, "--seed", 4)
    expected = audit_transcripts(claim, *pair, seed=4, **SAME_TERMS)
    assert found == _same("transcripts of runs with and without the record", expected)
    assert run("audit", "--transcripts", "in.npz", "in.npz", *CLAIM)[2] == (
        "dpcalc: expected two files; got 'in.npz' twice\n"
    )
    status, _, said = run(
        "audit", "--transcripts", "in.npz", "out.npz", *CLAIM, "--release", "every iterate"
    )
    assert status == 2
    assert "a claim about last iterate" in said


@pytest.mark.parametrize("release", ["", "last iterate"])
def test_a_release_is_every_message_unless_it_is_said(run: Run, release: str) -> None:
    said = ("--release", release) if release else ()
    claim = _verdict(run, *COUNTS, *CLAIM, *said)["claim"]
    assert claim["release"] == (release or "every message")
    assert claim.get("release_basis", "stated") == ("stated" if release else "default")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--column", "score"), "--column goes with --scores"),
        (("--member", "member"), "--member goes with --scores"),
        (("--one-run", 1, 1), "--one-run goes with --scores"),
        (("--seed", 3), "--seed goes with what is drawn at random; counts leave nothing to draw; leave it out"),
        (("--runs", 10), "--runs goes with a TARGET; leave it out"),
        (("--workers", 2), "--workers goes with a TARGET; leave it out"),
        (("--delta", "1e-5"), "--delta goes with a TARGET; leave it out"),
        (("--theorem", "dp-admm"), "--theorem goes with a TARGET; leave it out"),
        (("--no-controls",), "--controls goes with a TARGET; leave it out"),
        (("--no-early-stop",), "--early-stop goes with a TARGET; leave it out"),
        (("--methods", "accuracy"), "--methods goes with a TARGET; recorded runs settle their own method"),
        (("--scores", "in.csv", "out.csv"), "expected one of --scores, --transcripts and --counts; got several"),
        (("--transcripts", "a", "b"), "expected one of --scores, --transcripts and --counts; got several"),
    ],
)  # fmt: skip
def test_what_says_nothing_about_counts_is_refused(
    run: Run, words: tuple[object, ...], said: str
) -> None:
    status, out, err = run("audit", *COUNTS, *CLAIM, *words)
    assert (status, out, err) == (2, "", f"dpcalc: {said}\n")


@pytest.mark.parametrize("missing", [CLAIM[:2], CLAIM[2:]])
def test_a_claim_and_its_relation_are_needed(run: Run, missing: tuple[str, ...]) -> None:
    kept = [word for word in CLAIM if word not in missing]
    status, _, err = run("audit", *COUNTS, *kept)
    assert (status, err) == (
        2,
        "dpcalc: expected --claim and --adjacency with recorded runs; "
        "try --claim eps=1,delta=1e-5 --adjacency add-remove\n",
    )


@pytest.mark.parametrize(
    "words",
    [COUNTS, ("--scores", "a", "b"), ("--transcripts", "a", "b"), ("--member", "m"),
     ("--column", "c"), ("--fair-coins",), ("--one-run", 1, 1)],
)  # fmt: skip
def test_recorded_runs_need_no_target(run: Run, words: tuple[object, ...]) -> None:
    status, _, err = run("audit", "dp-admm", *words)
    assert (status, err) == (
        2,
        "dpcalc: --scores, --transcripts and --counts need no TARGET; got TARGET='dp-admm'\n",
    )


def test_two_files_of_scores_and_the_column_of_members_exclude_each_other(run: Run) -> None:
    status, _, err = run("audit", "--scores", "in.csv", "out.csv", "--member", "member", *CLAIM)
    assert (status, err) == (2, f"dpcalc: {MEMBER}\n")
    status, _, err = run("audit", "--scores", "in.csv", "in.csv", *CLAIM)
    assert err == ("dpcalc: expected two files; got 'in.csv' twice; give it once with --member\n")
    about = ("--column", "score", "--seed", 1)
    assert _verdict(run, *CLAIM, *about, "--scores", "runs.csv") == _verdict(
        run, "--scores", "runs.csv", *about, *CLAIM
    )
    assert "--scores" in run("audit", *CLAIM, "--scores")[2]


def test_two_files_that_both_say_who_was_a_member_are_refused(run: Run) -> None:
    Path("more.csv").write_text(Path("runs.csv").read_text())
    status, _, err = run("audit", "--scores", "runs.csv", "more.csv", "--column", "score", *CLAIM)
    assert status == 2
    assert "both with a column 'member'" in err
    # One of them alone, or a column that only one file has, can be read one way.
    assert run("audit", "--scores", "runs.csv", "out.csv", "--column", "score", *CLAIM)[0] != 2


def test_guesses_the_wrong_way_round_are_told(run: Run) -> None:
    about = ("--column", "score", "--one-run", 30, 30, "--fair-coins", "--seed", 5, *CLAIM)
    turned = _verdict(run, "--scores", "out.csv", "in.csv", *about)["reason"]
    assert "of 60 guesses are wrong: the higher a score, the more its canary seems" in turned
    assert "wrong" not in _verdict(run, "--scores", "in.csv", "out.csv", *about)["reason"]


@pytest.mark.parametrize("coins", [(), ("--fair-coins",)])
def test_answers_the_wrong_way_round_are_told(run: Run, coins: tuple[str, ...]) -> None:
    found = _verdict(run, "--counts", 5, 95, 95, 5, *CLAIM, *coins)
    assert "190 of 200 answers are wrong: the order is TP FN FP TN" in found["reason"]
    for fair in ((95, 5, 5, 95), (48, 52, 52, 48)):
        assert "wrong" not in _verdict(run, "--counts", *fair, *CLAIM, *coins)["reason"]


@pytest.mark.parametrize("seed", [1, 4154917171982760303])
def test_a_long_seed_stands_on_a_line_of_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    about = ("--scores", "in.csv", "out.csv", "--column", "score", *CLAIM)
    _, out, _ = run("audit", *about, "--seed", seed)
    assert f"repeat with --seed {seed}\n" in out
    assert max(map(len, out.splitlines())) <= 80
