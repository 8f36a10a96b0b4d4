"""Recorded transcripts: a planted leak is refuted, a true claim is not, others are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcalc.algorithms.private_r_admm import PrivateRADMM
from dpcalc.auditing import Claim
from dpcalc.auditing.estimators.rule_choice import Promise, promised
from dpcalc.auditing.sampling.observations import Observations
from dpcalc.auditing.transcripts import audit_transcripts
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.transcript import Series, Transcript
from dpcalc.vocabulary import Release

CLAIM = Claim.of(epsilon=1.0, adjacency="replace-one", release="every iterate")


def transcript(shift: float, seed: int, runs: int = 400, **other: Any) -> Transcript:
    """Ten numbers a run, of which the third moves with the record."""
    values = np.random.default_rng(seed).laplace(size=(runs, 2, 5))
    values[:, 0, 2] += shift
    series = Series(values=values, axes=("runs", "rounds", "features"), meaning="messages")
    about = {"algorithm": "own", "release": Release.EVERY_ITERATE, "rounds": 2} | other
    return Transcript(released={"message": series}, **about)


def test_a_leak_in_one_number_of_ten_is_found() -> None:
    found = audit_transcripts(CLAIM, transcript(4.0, 1), transcript(0.0, 2), seed=3)
    assert found.outcome.value == "REFUTED"
    assert found.seed == 3
    again = audit_transcripts(CLAIM, transcript(4.0, 1), transcript(0.0, 2), seed=3)
    assert again.record() == found.record()


def test_scores_are_compared_on_as_many_runs_of_either_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Among more runs of one kind the score would win that calls everything that kind."""
    kinds = set()

    def seen(pilot: Observations, **terms: Any) -> Promise:
        kinds.add((int(pilot.is_in.sum()), pilot.runs))
        return promised(pilot, **terms)

    monkeypatch.setattr("dpcalc.auditing.transcripts.promised", seen)
    audit_transcripts(CLAIM, transcript(3.0, 1, 100), transcript(0.0, 2, 190), seed=1)
    assert kinds == {(15, 30)}


def test_true_claims_are_refuted_as_rarely_as_said() -> None:
    """ε = 1 is what a shift by 1 costs. At α = 0.2, more than 13 alarms of 25 have p < 3e-4."""
    alarms = 0
    for seed in range(25):
        pair = transcript(1.0, 2 * seed, 120), transcript(0.0, 2 * seed + 1, 120)
        found = audit_transcripts(CLAIM, *pair, seed=seed, alpha=0.2)
        alarms += found.outcome.value == "REFUTED"
    assert alarms <= 13


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (transcript(0, 2, rounds=3), "one algorithm, release and shape"),
        (transcript(0, 2, algorithm="other"), "one algorithm, release and shape"),
        (transcript(0, 2, runs=20), "50 runs of each kind"),
    ],
)
def test_what_does_not_go_together_is_refused(second: Transcript, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        audit_transcripts(CLAIM, transcript(0, 1), second)
    other = Claim.of(epsilon=1.0, adjacency="replace-one", release="last iterate")
    with pytest.raises(InvalidInput, match="a claim about every iterate"):
        audit_transcripts(other, transcript(0, 1), transcript(0, 2))


def test_files_that_run_writes_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With next to no noise, a replaced record shows."""
    monkeypatch.chdir(tmp_path)
    whole = PrivateRADMM.example()
    row = -whole.problem.records.features[0]
    others = whole.with_records(whole.problem.records.replaced(0, row, 1.0))
    for name, algorithm, seed in (("in", whole, 1), ("out", others, 2)):
        loud = type(algorithm)(algorithm.problem, rounds=2, penalty=0.5, noise_rate=2000.0)
        loud.run(seed, runs=80).save(f"{name}.npz")
    words = "audit --transcripts in.npz out.npz --claim eps=1 --adjacency replace-one --seed 1"
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    assert stopped.value.code == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "about replace-one and every iterate" in shown
    for more, said in (
        (["--counts", "1", "1", "1", "1"], "got several"),
        (["--release", "last iterate"], "a claim about every iterate"),
        (["--one-run", "3", "3"], "--one-run goes with --scores"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main([*words.split(), *more])
        assert stopped.value.code == 2
        assert said in capsys.readouterr().err
