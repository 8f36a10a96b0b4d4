"""Verdicts from what was recorded elsewhere: counts, scores of many runs, canaries of one run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.audit import versions
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators import (
    bayesian,
    clopper_pearson,
    one_run,
    one_run_curve,
    renyi,
)
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.evidence import Evidence, Finding, Severity
from dpcalc.auditing.observations import Counts, from_scores
from dpcalc.auditing.plan import check_terms
from dpcalc.auditing.verdict import ENOUGH, Verdict, decide, strength

Array = NDArray[np.float64]


def judge_counts(
    claim: Claim,
    counts: Counts,
    *,
    alpha: float = 0.05,
    notice: float = ENOUGH,
    name: str = "recorded counts",
) -> Verdict:
    """The verdict from true and false positives and negatives.

    Args:
        claim: what is tested.
        counts: answers of a rule that was fixed before these runs. Counts at the best of many
            thresholds are not such counts, and nothing in them gives that away.
        alpha: probability of refuting a true claim.
        notice: see `Verdict`.
        name: for the report.
    """
    check_terms(alpha, notice)
    found = _from_counts(claim, counts, alpha)
    return _verdict(name, claim, found, alpha, int(counts.runs), notice)


def judge_scores(
    claim: Claim,
    in_scores: Sequence[float] | Array,
    out_scores: Sequence[float] | Array,
    *,
    alpha: float = 0.05,
    pilot_share: float = 0.5,
    notice: float = ENOUGH,
    name: str = "recorded scores",
) -> Verdict:
    """The verdict from one score per run, of runs with and without the record.

    Some runs of each kind choose the threshold, the rest are counted. Which ones is settled by a fixed
    shuffle, whatever order the scores come in.

    Args:
        claim: what is tested.
        in_scores: independent runs with the record.
        out_scores: runs without it.
        alpha: probability of refuting a true claim.
        pilot_share: share of the runs that choose the threshold.
        notice: see `Verdict`.
        name: for the report.
    """
    check_terms(alpha, notice)
    seen = from_scores(in_scores, out_scores)
    counts, threshold = clopper_pearson.held_out(
        seen,
        delta=claim.delta,
        alpha=alpha,
        pilot_share=pilot_share,
        curve=claim.quantity is not Quantity.EPSILON,  # ρ is seen best where μ is
    )
    found = _from_counts(claim, counts, alpha)
    note = Finding(
        check="split",
        severity=Severity.HOLDS,
        text=f"threshold {float(threshold):.6g} chosen on {seen.runs - int(counts.runs)} runs that "
        "are not counted",
        numbers={"threshold": float(threshold)},
    )
    return _verdict(name, claim, found, alpha, seen.runs, notice, (note,))


def judge_canaries(
    claim: Claim,
    included: NDArray[np.bool_],
    scores: Array,
    *,
    guess_in: int,
    guess_out: int,
    fair_coins: bool,
    alpha: float = 0.05,
    notice: float = ENOUGH,
    name: str = "one run",
) -> Verdict:
    """The verdict from one run with many canaries; see `estimators.one_run.guess`.

    There is one pair (guess_in, guess_out): the best of several would need a correction that nobody
    has proved.
    """
    guesses = one_run.guess(
        included, scores, guess_in=guess_in, guess_out=guess_out, fair_coins=fair_coins
    )
    return judge_guesses(claim, guesses, alpha=alpha, notice=notice, name=name)


def judge_guesses(
    claim: Claim,
    guesses: Guesses,
    *,
    alpha: float = 0.05,
    notice: float = ENOUGH,
    name: str = "one run",
) -> Verdict:
    """The verdict from counted guesses about the canaries of one run."""
    check_terms(alpha, notice)
    found: list[Evidence] = []
    share = alpha / 2 if claim.is_curve else alpha
    found.append(one_run.evidence(guesses, claim, alpha=share))
    if claim.is_curve:
        found.append(one_run_curve.evidence(guesses, claim, alpha=share))
    return _verdict(name, claim, found, alpha, 1, notice)


def _from_counts(claim: Claim, counts: Counts, alpha: float) -> list[Evidence]:
    """The rectangle gives ε, μ and ρ at once: one event of probability α, no split."""
    found = [clopper_pearson.evidence(counts, claim, alpha=alpha)]
    if claim.is_curve:
        found.append(clopper_pearson.curve_evidence(counts, claim, alpha=alpha))
    if claim.is_renyi:
        found.append(renyi.evidence(counts, claim, alpha=alpha))
    return [*found, bayesian.evidence(counts, claim, alpha=alpha)]


def _verdict(
    name: str,
    claim: Claim,
    evidence: list[Evidence],
    alpha: float,
    runs: int,
    notice: float,
    findings: tuple[Finding, ...] = (),
) -> Verdict:
    outcome, reason = decide(claim, evidence, findings, notice=notice)
    return Verdict(
        target=name,
        claim=claim,
        outcome=outcome,
        reason=reason,
        evidence=tuple(sorted(evidence, key=strength, reverse=True)),
        findings=findings,
        alpha=alpha,
        runs=runs,
        notice=notice,
        versions=versions(),
    )
