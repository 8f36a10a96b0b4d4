"""Claims of every kind and size under attack, and what a verdict says of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dpcalc.auditing import (
    AuditDesign,
    Claim,
    Evidence,
    Outcome,
    audit,
    audit_all,
    rank_neighbours,
)
from dpcalc.auditing import controls as known
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, PureDP
from dpcalc.report.records import to_json
from tests.auditing.own_mechanisms import CURVE

CLAIMS = [
    CURVE,
    Claim(guarantee=ApproxDP(4.4, 1e-5), delta=1e-5, adjacency="add-remove"),
    Claim(guarantee=ZCDP(0.5), delta=1e-5, adjacency="add-remove"),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.name)
def test_a_gaussian_mechanism_at_its_claim_and_at_three_times_its_loss(claim):
    fits = audit(known.gaussian(1.0), claim, seed=8)
    assert fits.outcome is Outcome.NOT_REFUTED
    assert fits.controls == {
        "leaks exactly what is claimed": "NOT REFUTED",
        "no privacy": "REFUTED",
        "a third of the noise": "REFUTED",
    }
    assert fits.epsilon_lower > 0.9 * 4.377
    assert audit(known.gaussian(3.0), claim, seed=8, controls=False).outcome is Outcome.REFUTED


def test_a_verdict_is_plain_data_with_everything_needed_to_recompute_it():
    verdict = audit(known.gaussian(1.0), CURVE, seed=3)
    record = json.loads(to_json(verdict.record()))
    assert record["claim"]["adjacency"] == "add-remove"
    assert record["claim"]["release"] == "every message"
    assert record["seed"] == 3
    assert set(record["versions"]) == {"dpcalc", "numpy", "scipy", "python"}
    assert sum(e["alpha"] for e in record["evidence"] if e["gates"]) == pytest.approx(1e-4 - 1e-6)
    balanced = next(e for e in record["evidence"] if e["method"] == "accuracy")
    from dpcalc.auditing.estimators import accuracy

    counted = balanced["counted"]
    again = float(accuracy.mu_lower(counted["right"], counted["runs"], alpha=balanced["alpha"]))
    assert again == balanced["lower"]


def test_all_pairs_and_claims_share_one_alpha():
    targets = [known.gaussian(1.0), known.gaussian(0.9)]
    verdicts = audit_all(targets, CLAIMS[:2], alpha=0.04, seed=1, controls=False)
    assert [v.alpha for v in verdicts] == [0.01] * 4
    with pytest.raises(InvalidInput):
        audit_all([], CLAIMS)


def test_a_pure_claim_falls_to_one_outcome():
    target = known.exponential_norm(1.0, 20)
    false = audit(target, Claim.of(epsilon=0.99, adjacency="replace-one"), seed=1, controls=False)
    assert false.outcome is Outcome.REFUTED
    assert false.runs == 0
    true = audit(target, Claim.of(epsilon=1, adjacency="replace-one"), seed=1, controls=False)
    assert true.outcome is Outcome.NOT_REFUTED
    assert "pointwise" in {f.check for f in true.findings}


EXTREMES = [
    *(Claim.of(epsilon=e, delta=d, adjacency="add-remove") for e in (0, 1000) for d in (0, 0.9)),
    *(Claim(guarantee=GDP(mu), delta=1e-5, adjacency="add-remove") for mu in (0, 30, np.inf)),
    *(Claim(guarantee=ZCDP(rho), delta=1e-5, adjacency="add-remove") for rho in (0, 500)),
]


@pytest.mark.parametrize("claim", EXTREMES, ids=lambda c: f"{c.name} {c.delta:g}")
@pytest.mark.parametrize("mu", [1e-6, 100.0])
def test_extreme_claims_get_an_answer(claim, mu):
    """Numbers, no warnings; nothing that is claimed about nothing is refuted."""
    verdict = audit(known.gaussian(mu), claim, runs=100, seed=1)
    assert "NaN" not in to_json(verdict.record())
    assert verdict.outcome is not Outcome.REFUTED or mu == 100.0
    assert verdict.outcome is not Outcome.REFUTED or claim.epsilon < 5000


@pytest.mark.parametrize("early_stop", [False, True])
def test_whole_audits_of_a_true_claim_refute_it_no_more_often_than_they_may(early_stop):
    """100 audits of randomised response at exactly its ε: at most .05 + 3 standard errors."""
    from dpcalc.auditing.audit import evaluate
    from dpcalc.auditing.experiment import carry_out

    target, claim = known.randomised_response(1.0), Claim.of(epsilon=1, adjacency="replace-one")
    design = AuditDesign.for_claim(target, claim, runs=400, batch=100, early_stop=early_stop)
    wrong = 0
    for seed in range(100):
        evidence, _ = evaluate(carry_out(target, claim, design, seed=seed), claim)
        wrong += any(e.refutes(claim) for e in evidence)
    assert wrong / 100 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)


@pytest.mark.parametrize("epsilon", [1.0, 5.0, 10.0])
def test_outputs_of_few_values_are_not_taken_for_constants(epsilon):
    claim = Claim.of(epsilon=epsilon, adjacency="replace-one")
    target = known.randomised_response(epsilon)
    for seed in range(20):
        verdict = audit(target, claim, runs=40, seed=seed, controls=False)
        assert not {"refutes", "premise"} & {f.severity.value for f in verdict.findings}


def test_e_values_of_independent_experiments_multiply():
    from dpcalc.auditing.estimators import eprocess

    halves = [float(eprocess.log_wealth(80, 100, 0.7)) for _ in range(2)]
    assert eprocess.combined(*halves) == pytest.approx(2 * halves[0])
    with pytest.raises(InvalidInput):
        eprocess.combined()


def test_a_claim_of_nothing_is_not_refuted():
    claim = Claim(guarantee=PureDP(float("inf")), adjacency="add-remove")
    assert not Evidence(
        method="x", quantity="epsilon", lower=9.0, alpha=0.1, delta=0.0, access="runs", runs=1
    ).refutes(claim)


def test_a_renyi_claim_without_rho_is_tested_as_epsilon():
    claim = Claim(guarantee=RDP(lambda a: a * 0.5), delta=1e-5, adjacency="add-remove")
    verdict = audit(known.gaussian(3.0), claim, seed=1, controls=False)
    assert verdict.outcome is Outcome.REFUTED


@pytest.mark.parametrize("knows", ["tilts", "ratios", "score", "nothing"])
def test_the_most_distinguishable_pair_comes_first(knows):
    targets = [known.gaussian(mu) for mu in (0.5, 2.0, 1.0)]
    if knows != "tilts":
        targets = [replace(t, tilted=None) for t in targets]
    if knows in ("score", "nothing"):
        score = targets[0].log_ratio if knows == "score" else None
        targets = [replace(t, log_ratio=None, score=score) for t in targets]
    found = rank_neighbours(targets, seed=1, runs=2000)
    assert [c.target.name for c in found] == [targets[i].name for i in (1, 2, 0)]
    assert found[0].mu == pytest.approx(2.0, rel=0.15)
    with pytest.raises(InvalidInput):
        rank_neighbours([], seed=1)
