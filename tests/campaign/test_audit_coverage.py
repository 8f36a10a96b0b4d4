"""Whole audits of true claims, from the first check to the verdict, two thousand times each.

A verdict may be REFUTED in at most α + 3·√(α(1-α)/2000) = 6.5 per cent of the repetitions at α = .05;
an audit whose true level is α would fail by chance once in 740 seeds. Run with ``-m campaign -s`` to
see the table that docs/auditing.md records.
"""

from __future__ import annotations

import math
import sys

import pytest

from dpcalc.auditing import AuditDesign, Claim, Outcome, Target, controls
from dpcalc.auditing.audit import run_audit
from dpcalc.auditing.gaussian.gaussian_pair import epsilon_of
from dpcalc.guarantees import GDP, ZCDP
from dpcalc.vocabulary import Adjacency

ALPHA, REPETITIONS, DELTA = 0.05, 2000, 1e-3
MOST = ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / REPETITIONS)
ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE

GAUSSIAN = controls.gaussian(1.0)
PURE = Claim.of(epsilon=1.0, adjacency=ADD)
CASES: dict[str, tuple[Target, Claim]] = {
    "Gaussian, its curve": (
        GAUSSIAN,
        Claim(guarantee=GDP(1.0), delta=DELTA, adjacency=ADD),
    ),
    "Gaussian, its (ε, δ)": (
        GAUSSIAN,
        Claim.of(epsilon=float(epsilon_of(1.0, DELTA)), delta=DELTA, adjacency=ADD),
    ),
    "Gaussian, its ρ": (
        GAUSSIAN,
        Claim(guarantee=ZCDP(0.5), delta=DELTA, adjacency=ADD),
    ),
    "randomised response": (
        controls.randomised_response(1.0),
        Claim.of(epsilon=1.0, adjacency=REPLACE),
    ),
    "Laplace": (controls.laplace(1.0), PURE),
    "exponential norm, d = 5": (
        controls.exponential_norm(1.0, 5),
        Claim.of(epsilon=1.0, adjacency=REPLACE),
    ),
}


def refuted(name: str, repetitions: int, *, early_stop: bool = False) -> int:
    """How often a true claim was refuted, by fresh seeds."""
    target, claim = CASES[name]
    design = AuditDesign.for_claim(
        target, claim, runs=200, tilted=100, alpha=ALPHA, early_stop=early_stop, batch=100
    )
    verdicts = (
        run_audit(target, claim, design, seed=seed, controls=False)[0]
        for seed in range(repetitions)
    )
    return sum(verdict.outcome is Outcome.REFUTED for verdict in verdicts)


@pytest.mark.campaign
@pytest.mark.parametrize("early_stop", [False, True], ids=["all runs", "early stop"])
@pytest.mark.parametrize("name", CASES)
def test_true_claims_are_refuted_no_more_often_than_they_may(name: str, early_stop: bool) -> None:
    found = refuted(name, REPETITIONS, early_stop=early_stop)
    how = "early stop" if early_stop else "all runs"
    sys.stdout.write(f"\n| {name} | {how} | {found} of {REPETITIONS} |")
    assert found <= MOST * REPETITIONS


@pytest.mark.parametrize("name", ["Gaussian, its curve", "randomised response"])
def test_a_few_of_them(name: str) -> None:
    """Sixty repetitions; an audit of level .05 has more than eleven alarms once in 20,000."""
    assert refuted(name, 60) <= 11
