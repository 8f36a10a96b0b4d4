"""Recorded counts and scores at their extremes: a verdict or one clear error, never a wrong number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpcalc.auditing import Claim, Counts, Outcome, judge_counts, judge_scores
from dpcalc.errors import InvalidInput

PURE = Claim.of(epsilon=1.0, adjacency="add-remove")


@pytest.mark.parametrize("most", [2**50 + 1, 2**63 - 1, 2**64 - 1])
def test_counts_that_would_overflow_are_refused(most: int) -> None:
    with pytest.raises(InvalidInput, match=r"at most 2\^50"):
        Counts.of(most, 1, 1, most)


def test_a_great_many_counts_are_right() -> None:
    verdict = judge_counts(PURE, Counts.of(10**12, 0, 0, 10**12))
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.runs == 2 * 10**12
    assert verdict.epsilon_lower == pytest.approx(math.log(10**12 / math.log(2 / 0.05)), rel=1e-3)


def test_a_claim_that_nothing_could_exceed_is_not_called_powerful() -> None:
    vast = Claim.of(epsilon=1e308, delta=0.999, adjacency="add-remove")
    assert judge_counts(vast, Counts.of(95, 5, 5, 95)).outcome is Outcome.UNDERPOWERED


@pytest.mark.parametrize(
    "terms", [{"alpha": math.nan}, {"alpha": 1.0}, {"notice": math.nan}, {"notice": 0.5}]
)
def test_terms_that_make_no_sense(terms: dict[str, Any]) -> None:
    (name,) = terms
    with pytest.raises(InvalidInput, match=name):
        judge_counts(PURE, Counts.of(95, 5, 5, 95), **terms)
    with pytest.raises(InvalidInput, match=name):
        judge_scores(PURE, np.arange(40.0) % 7, np.arange(40.0) % 5, **terms)


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
    verdict = judge_scores(PURE, np.asarray(inside, float), np.asarray(outside, float))
    assert verdict.outcome is not Outcome.REFUTED
    assert verdict.epsilon_lower == 0


def test_every_run_of_a_kind_apart_from_the_others_is_seen() -> None:
    verdict = judge_scores(PURE, np.full(400, np.inf), np.full(400, -np.inf))
    assert verdict.outcome is Outcome.REFUTED
    assert 3 < verdict.epsilon_lower < math.log(200)
