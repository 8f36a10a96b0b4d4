"""Recorded counts and scores at their extremes: a verdict or one clear error, never a wrong number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpcalc.auditing import Claim, Counts, Outcome, audit_counts, audit_scores, from_scores
from dpcalc.auditing.estimators import clopper_pearson
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP

PURE = Claim.of(epsilon=1.0, adjacency="add-remove")


@pytest.mark.parametrize("most", [2**50 + 1, 2**63 - 1, 2**64 - 1])
def test_counts_that_would_overflow_are_refused(most: int) -> None:
    with pytest.raises(InvalidInput, match=r"at most 2\^50"):
        Counts.of(most, 1, 1, most)


def test_a_great_many_counts_are_right() -> None:
    verdict = audit_counts(PURE, Counts.of(10**12, 0, 0, 10**12), alpha=0.05)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.runs == 2 * 10**12
    assert verdict.epsilon_lower == pytest.approx(math.log(10**12 / math.log(2 / 0.05)), rel=1e-3)


def test_a_claim_that_nothing_could_exceed_is_not_called_powerful() -> None:
    vast = Claim.of(epsilon=1e308, delta=0.999, adjacency="add-remove")
    assert audit_counts(vast, Counts.of(95, 5, 5, 95)).outcome is Outcome.UNDERPOWERED


@pytest.mark.parametrize(
    "terms",
    [
        {"alpha": math.nan},
        {"alpha": 1.0},
        {"detectable_ratio": math.nan},
        {"detectable_ratio": 0.5},
    ],
)
def test_terms_that_make_no_sense(terms: dict[str, Any]) -> None:
    (name,) = terms
    with pytest.raises(InvalidInput, match=name):
        audit_counts(PURE, Counts.of(95, 5, 5, 95), **terms)
    with pytest.raises(InvalidInput, match=name):
        audit_scores(PURE, np.arange(40.0) % 7, np.arange(40.0) % 5, **terms)


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        (np.ones(400), np.ones(400)),
        (np.arange(400) % 2, np.arange(400) % 2),
        (np.full(400, -np.inf), np.full(400, -np.inf)),
        (np.full(400, np.inf), np.full(400, np.inf)),
        (np.resize([np.inf, 0.0, -np.inf], 400), np.resize([0.0, -np.inf, np.inf], 400)),
    ],
    ids=["constant", "ties", "-inf", "inf", "mixed"],
)
def test_scores_that_say_nothing_refute_nothing(inside: Any, outside: Any) -> None:
    verdict = audit_scores(PURE, np.asarray(inside, float), np.asarray(outside, float), seed=1)
    assert verdict.outcome is not Outcome.REFUTED
    assert verdict.epsilon_lower == 0


def test_every_run_of_a_kind_apart_from_the_others_is_seen() -> None:
    verdict = audit_scores(PURE, np.full(400, np.inf), np.full(400, -np.inf), seed=1, alpha=0.05)
    assert verdict.outcome is Outcome.REFUTED
    assert 4.5 < verdict.epsilon_lower < math.log(640 / 3)
    assert verdict.seed == 1


def test_scores_of_a_curve_claim_are_cut_where_mu_is_seen_best() -> None:
    """5,000 against 5,000: medians of 20 seeded repetitions; a threshold of ½ gives μ ≥ .90."""
    for_mu: list[float] = []
    for_epsilon: list[float] = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        scores = generator.normal(1, 1, 5000), generator.normal(0, 1, 5000)
        seen = from_scores(*scores)
        for found, curve in ((for_mu, True), (for_epsilon, False)):
            counts, _ = clopper_pearson.held_out(seen, delta=1e-5, alpha=0.05, curve=curve)
            found.append(float(clopper_pearson.mu_lower(counts, alpha=0.05)))
    assert np.median(for_mu) > 0.84 > np.median(for_epsilon) + 0.09
    claim = Claim(guarantee=GDP(0.7), delta=1e-5, adjacency="add-remove")
    verdict = audit_scores(claim, *scores, seed=1)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.lower_bounds["mu"] > 0.84


@pytest.mark.parametrize("kinds", [(1999, 1000), (1000, 1999)])
def test_the_rule_for_uneven_kinds_is_that_of_fair_coins(kinds: tuple[int, int]) -> None:
    """A pilot with more runs of one kind would answer that kind: of 40 seeds 19 and 32 refuted."""
    draw = np.random.default_rng(1)
    claim = Claim(guarantee=GDP(1.0), delta=1e-5, adjacency="add-remove")
    for seed in range(12):
        first, second = draw.normal(1.5, size=kinds[0]), draw.normal(size=kinds[1])
        assert audit_scores(claim, first, second, seed=seed).outcome is Outcome.REFUTED


def test_a_true_curve_claim_of_scores_is_seldom_refuted() -> None:
    """400 seeded repetitions at exactly the claim: at most .05 + 3 standard errors."""
    wrong = 0
    for seed in range(400):
        generator = np.random.default_rng([seed, 8])
        seen = from_scores(generator.normal(1, 1, 300), generator.normal(0, 1, 300))
        counts, _ = clopper_pearson.held_out(seen, delta=1e-5, alpha=0.05, curve=True)
        wrong += float(clopper_pearson.mu_lower(counts, alpha=0.05)) > 1
    assert wrong / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_power_against_a_curve_is_what_it_is_said_to_be() -> None:
    """The μ that is told from the claim 4 times in 5, in 200 seeded repetitions at the best rule."""
    claimed, n = 0.8, 2500
    mu = clopper_pearson.detectable_mu(n_in=n, n_out=n, claimed=claimed, alpha=0.05)
    generator = np.random.default_rng(3)
    threshold = mu / 2
    tp = (generator.normal(mu, 1, (200, n)) > threshold).sum(axis=1)
    fp = (generator.normal(0, 1, (200, n)) > threshold).sum(axis=1)
    counts = Counts(
        true_positives=tp, false_negatives=n - tp, false_positives=fp, true_negatives=n - fp
    )
    noticed = (clopper_pearson.mu_lower(counts, alpha=0.05) > claimed).mean()
    assert noticed >= 0.8 - 3 * math.sqrt(0.8 * 0.2 / 200)
    # and hardly more than that: a twentieth less is noticed in less than 4 of 5
    tp = (generator.normal(0.95 * mu, 1, (200, n)) > threshold).sum(axis=1)
    fewer = Counts(
        true_positives=tp, false_negatives=n - tp, false_positives=fp, true_negatives=n - fp
    )
    assert (clopper_pearson.mu_lower(fewer, alpha=0.05) > claimed).mean() < 0.8
