"""The way from a mechanism to a verdict: short, repeatable, resumable, with everything in it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dpcalc.auditing import (
    AuditDesign,
    Claim,
    Outcome,
    Target,
    audit,
    mechanism,
)
from dpcalc.auditing import controls as known
from dpcalc.errors import InvalidInput
from tests.auditing.own_mechanisms import CURVE, OWN


def test_an_audit_of_ones_own_mechanism_takes_a_function_two_inputs_and_a_claim():
    holds = audit(OWN, Claim.of(epsilon=1, adjacency="add-remove"), runs=20_000, seed=1)
    assert holds.outcome is Outcome.NOT_REFUTED
    assert holds.outcome.exit_status == 0
    assert 0.6 < holds.epsilon_lower < 1
    assert holds.detectable is not None
    assert 1.1 < holds.detectable < 1.15  # of Laplace noise; of randomised response 1.07
    false = audit(OWN, Claim.of(epsilon=0.5, adjacency="add-remove"), runs=20_000, seed=1)
    assert false.outcome is Outcome.REFUTED
    assert false.outcome.exit_status == 1


def test_few_runs_are_underpowered_and_say_what_they_would_have_noticed():
    verdict = audit(OWN, Claim.of(epsilon=1, adjacency="add-remove"), runs=30, seed=1)
    assert verdict.outcome is Outcome.UNDERPOWERED
    assert verdict.outcome.exit_status == 3
    assert "would have noticed" in verdict.reason
    assert verdict.detectable is not None
    assert verdict.detectable > 2


def test_no_verdict_says_that_a_mechanism_is_private():
    for verdict in (
        audit(OWN, Claim.of(epsilon=1, adjacency="add-remove"), runs=2000, seed=1),
        audit(known.gaussian(0.5), CURVE, seed=1),
    ):
        text = f"{verdict}{json.dumps(verdict.record())}".lower()
        assert "is private" not in text
        assert "holds: " in text or "not refuted" in text


def test_outputs_of_many_numbers_get_a_learnt_score():
    """The difference sits in the spread of the third of five numbers."""

    def release(data, generator, runs):
        x = generator.standard_normal((runs, 5))
        x[:, 2] *= data
        return x

    target = mechanism(release, 4.0, 1.0, adjacency="replace-one")
    verdict = audit(target, Claim.of(epsilon=0.5, adjacency="replace-one"), runs=4000, seed=2)
    assert verdict.outcome is Outcome.REFUTED


def test_a_score_of_the_wrong_shape_names_the_target():
    target = Target(
        name="odd", run=OWN.run, adjacency="add-remove", score=lambda x: np.zeros((len(x), 2))
    )
    with pytest.raises(InvalidInput, match=r"'odd'.*runs axis first"):
        audit(target, Claim.of(epsilon=1, adjacency="add-remove"), seed=1)


def test_the_same_seed_gives_the_same_verdict_and_another_does_not():
    first, again, other = (
        audit(known.gaussian(1.0), CURVE, seed=s, controls=False).record() for s in (3, 3, 4)
    )
    assert first == again
    assert first["evidence"] != other["evidence"]


def test_an_interrupted_audit_goes_on_to_the_same_verdict(tmp_path):
    target = known.gaussian(1.0)
    design = AuditDesign.for_claim(
        target, CURVE, runs=900, methods=("accuracy", "e-process"), batch=300
    )
    whole = audit(target, CURVE, design=design, seed=5, controls=False)
    file = tmp_path / "batches.npz"

    class Interrupted(Exception):
        pass

    def stop(progress):
        if progress.runs == 600:
            raise Interrupted

    with pytest.raises(Interrupted):
        audit(target, CURVE, design=design, seed=5, controls=False, checkpoint=file, progress=stop)
    calls = []

    def counting(world, generator, runs):
        calls.append(runs)
        return target.run(world, generator, runs)

    resumed = replace(target, run=counting)
    again = audit(resumed, CURVE, design=design, seed=5, controls=False, checkpoint=file)
    assert again.record() == whole.record()
    fresh = [n for n in calls if n > 100]
    assert sum(fresh) == 300 + 300  # the first batch is made again and compared, the third is new
    with pytest.raises(InvalidInput, match="others"):
        audit(target, CURVE, design=design, seed=6, controls=False, checkpoint=file)


def test_a_target_that_does_not_repeat_itself_is_found_out(tmp_path):
    rng = np.random.default_rng(0)
    target = Target(
        name="careless",
        run=lambda world, generator, runs: rng.standard_normal(runs),
        adjacency="add-remove",
        score=lambda x: x,
    )
    file = tmp_path / "batches.npz"
    options = {"runs": 100, "seed": 1, "controls": False, "checkpoint": file}
    audit(target, Claim.of(epsilon=1, adjacency="add-remove"), **options)
    with pytest.raises(InvalidInput, match="all randomness from the generator"):
        audit(target, Claim.of(epsilon=1, adjacency="add-remove"), **options)


def test_progress_carries_the_anytime_bound():
    seen = []
    audit(
        known.gaussian(3.0),
        CURVE,
        runs=3000,
        seed=1,
        early_stop=True,
        progress=seen.append,
        controls=False,
    )
    assert seen[-1].runs < 3000
    assert seen[-1].lower > 1
    assert seen[-1].e_value > 20
