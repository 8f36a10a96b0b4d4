"""What an audit says it would have noticed, it notices; and where it would not, it says what would.

Power is measured on the reference mechanism at exactly the stated value, with a learnt score: 60
seeded audits each. A power of .8 gives fewer than 36 or all 60 of them once in 2,000.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpcalc.auditing import Claim, Counts, Outcome, Target, audit, gaussian_pair, judge_counts
from dpcalc.auditing import controls as known
from dpcalc.auditing.estimators.abstention import detectable
from dpcalc.guarantees import GDP, ZCDP
from dpcalc.vocabulary import Adjacency

ADD = Adjacency.ADD_REMOVE
DELTA, AUDITS = 1e-5, 60


def blind(target: Target) -> Target:
    return replace(target, log_ratio=None, tilted=None, noise=None)


CLAIMS = {
    "pure": (
        Claim.of(epsilon=1, adjacency=ADD),
        lambda epsilon: known.randomised_response(epsilon, adjacency=ADD),
    ),
    "approximate": (
        Claim.of(epsilon=1, delta=DELTA, adjacency=ADD),
        lambda epsilon: known.gaussian(float(gaussian_pair.mu_of(epsilon, DELTA))),
    ),
    "zCDP": (
        Claim(guarantee=ZCDP(0.5), delta=DELTA, adjacency=ADD),
        lambda rho: known.gaussian(math.sqrt(2 * rho)),
    ),
    "curve": (Claim(guarantee=GDP(1.0), delta=DELTA, adjacency=ADD), known.gaussian),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_what_would_have_been_noticed_is(name):
    claim, with_value = CLAIMS[name]
    verdict = audit(blind(with_value(claim.bound(claim.quantity))), claim, seed=0, controls=False)
    (stated,) = [e.detectable for e in verdict.evidence if e.gates and e.quantity is claim.quantity]
    assert stated is not None
    target = blind(with_value(stated))
    noticed = sum(
        audit(target, claim, seed=seed, controls=False).outcome is Outcome.REFUTED
        for seed in range(1, AUDITS + 1)
    )
    assert 36 <= noticed < AUDITS


def test_underpowered_says_what_would_be_enough():
    claim = Claim.of(epsilon=4.377, delta=DELTA, adjacency=ADD)
    verdict = audit(blind(known.gaussian(1.0)), claim, seed=1, controls=False)
    assert verdict.outcome is Outcome.UNDERPOWERED
    said = verdict.reason.split("noticed; ")[1]
    runs = int(said.split(" runs")[0].replace(",", ""))
    terms = {"claimed": 4.377, "delta": DELTA, "alpha": 0.05 - 1e-6}
    assert detectable(runs=runs, **terms) <= 2 * 4.377 < detectable(runs=runs * 8 // 10, **terms)
    assert "--claim mu=1," in said
    again = judge_counts(claim, Counts.of(50, 50, 50, 50)).reason
    assert "runs would be enough; " in again
    assert "scores say more than counts" in again


def test_nothing_is_advised_where_nothing_helps():
    vast = Claim.of(epsilon=1e308, delta=0.999, adjacency=ADD)
    assert "enough" not in judge_counts(vast, Counts.of(95, 5, 5, 95)).reason
