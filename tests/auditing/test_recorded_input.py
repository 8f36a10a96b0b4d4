"""What was recorded elsewhere, and input that makes no sense."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.auditing import (
    AuditDesign,
    Claim,
    Counts,
    Observations,
    Outcome,
    Target,
    audit_canaries,
    audit_counts,
    audit_scores,
    read_scores,
)
from dpcalc.auditing.targets.target import Noise
from dpcalc.errors import InvalidInput
from tests.auditing.own_mechanisms import CURVE, OWN


def test_counts_scores_and_canaries_recorded_elsewhere(tmp_path):
    claim = Claim.of(epsilon=1, adjacency="replace-one")
    assert audit_counts(claim, Counts.of(95, 5, 5, 95)).outcome is Outcome.REFUTED
    rng = np.random.default_rng(1)
    for name, shift in (("in", 2.0), ("out", 0.0)):
        rows = "\n".join(f"{x},{i}" for i, x in enumerate(rng.normal(shift, 1, 800)))
        (tmp_path / f"{name}.csv").write_text(f"score,run\n{rows}\n")
    columns = [read_scores(tmp_path / f"{n}.csv", column="score") for n in ("in", "out")]
    verdict = audit_scores(claim, *columns, seed=1)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.runs == 1600
    included = rng.random(500) < 0.5
    score = rng.normal(size=500) + 2 * included
    options = {"guess_in": 30, "guess_out": 30, "fair_coins": True}
    assert audit_canaries(claim, included, score, **options).outcome is Outcome.REFUTED
    curve = audit_canaries(CURVE, included, score, **options)
    assert {e.method for e in curve.evidence} == {"one-run-exact", "one-run-exact-curve"}


@pytest.mark.parametrize("text", ["", "score\n", "1,2\n", "score\n1\nx\n"])
def test_score_files_that_cannot_be_read_say_why(tmp_path, text):
    file = tmp_path / "scores.csv"
    file.write_text(text)
    with pytest.raises(InvalidInput, match="scores"):
        read_scores(file)
    with pytest.raises(InvalidInput, match="readable"):
        read_scores(tmp_path / "none.csv")


def test_observations_are_saved_bit_for_bit(tmp_path):
    rng = np.random.default_rng(1)
    seen = Observations(is_in=rng.random(9) < 0.5, score=rng.normal(size=9), exact=True)
    seen.save(tmp_path / "o.npz")
    again = Observations.load(tmp_path / "o.npz")
    assert again.score.tobytes() == seen.score.tobytes()
    assert (again.is_in == seen.is_in).all()
    assert again.exact
    assert not again.fair_coins


@pytest.mark.parametrize(
    "make",
    [
        lambda: Counts.of(-1, 2, 3, 4),
        lambda: Counts.of(0, 0, 3, 4),
        lambda: Observations(is_in=np.ones(3, bool), score=np.ones(2)),
        lambda: Observations(is_in=np.ones(2, bool), score=np.array([1.0, np.nan])),
        lambda: AuditDesign.for_claim(OWN, CURVE, methods=("accurate",)),
        lambda: AuditDesign.for_claim(OWN, CURVE, methods=()),
        lambda: AuditDesign.for_claim(OWN, CURVE, alpha=0.0),
        lambda: Noise(unit=np.ones(3), law="gaussian"),
        lambda: Target(name="x", run=OWN.run, adjacency="near"),
        lambda: Claim.of(epsilon=-1, adjacency="add-remove"),
    ],
)
def test_bad_input_is_one_clear_error(make):
    with pytest.raises(InvalidInput):
        make()
