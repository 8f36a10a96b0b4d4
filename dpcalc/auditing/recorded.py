"""Verdicts from what was recorded elsewhere: counts, scores of many runs, canaries of one run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.advice import Unused
from dpcalc.auditing.claim import Claim
from dpcalc.auditing.design import check_terms
from dpcalc.auditing.estimators import (
    accuracy,
    bayesian,
    one_run,
)
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.estimators.rules import Answers
from dpcalc.auditing.recorded_evidence import from_counts, from_guesses, recorded_verdict
from dpcalc.auditing.recorded_scores import RecordedScores, of_both_kinds, verdict_of
from dpcalc.auditing.sampling.observations import Counts
from dpcalc.auditing.sampling.runner import new_seed
from dpcalc.auditing.verdict import ALPHA, DEFAULT_DETECTABLE_RATIO, Outcome, Verdict
from dpcalc.numerics.arithmetic import own_arithmetic

Array = NDArray[np.float64]

_ORDER = "the order is TP FN FP TN, IN being the positive answer"
_HIGHER = "the higher a score, the more its canary seems to have been in"


@own_arithmetic
def audit_counts(
    claim: Claim,
    counts: Counts,
    *,
    alpha: float = ALPHA,
    fair_coins: bool = False,
    detectable_ratio: float = DEFAULT_DETECTABLE_RATIO,
    name: str = "recorded counts",
) -> Verdict:
    """The verdict from true and false positives and negatives.

    Both error rates are bounded; right answers are counted if fair coins drew the worlds.

    Example::

        from dpcalc.auditing import Claim, Counts, audit_counts
        claim = Claim.of(epsilon=1, adjacency="replace-one")
        print(audit_counts(claim, Counts.of(95, 5, 5, 95), alpha=0.05))

    Args:
        claim: what is tested.
        counts: answers of a rule that was fixed before these runs. Counts at the best of many
            thresholds are not such counts, and nothing in them gives that away.
        alpha: probability of refuting a true claim.
        fair_coins: whether every run's world was drawn by its own independent fair coin.
        detectable_ratio: see `Verdict`.
        name: for the report.

    Returns:
        The verdict; ``epsilon_lower`` is the largest ε that is shown.

    Raises:
        InvalidInput: for counts of no run, and an α outside (0, 1).
    """
    check_terms(alpha, detectable_ratio)
    runs = int(counts.runs)
    if not fair_coins or claim.is_renyi:
        unused = Unused(coins=0 if fair_coins else runs, scores=True)
        found = from_counts(claim, counts, alpha)
        verdict = recorded_verdict(name, claim, found, alpha, runs, detectable_ratio, unused=unused)
        return _noting_wrong(verdict, int(counts.correct), runs, "answers", _ORDER)
    one_run.require_coins(int(counts.n_in), runs, fair_coins, "run", "runs")
    right = counts.correct
    answers = Answers(right=right, wrong=counts.runs - right, runs=runs)
    bound = accuracy.from_answers(answers, None, claim, alpha=alpha, curve=claim.is_curve)
    estimate = bayesian.evidence(counts, claim, alpha=alpha)
    verdict = recorded_verdict(name, claim, [bound, estimate], alpha, runs, detectable_ratio)
    return _noting_wrong(verdict, int(counts.correct), runs, "answers", _ORDER)


def _noting_wrong(verdict: Verdict, right: int, number: int, what: str, meaning: str) -> Verdict:
    """The verdict, and a remark where far more answers are wrong than luck, three sigmas, explains.

    They stay as they are: a rule that is turned round after a look was not fixed before it.
    """
    if verdict.outcome is Outcome.REFUTED or number - 2 * right <= 3 * math.sqrt(number):
        return verdict
    remark = (
        f"{number - right} of {number} {what} are wrong: {meaning}; if the rule is to be turned round, "
        "do so before new runs"
    )
    return replace(verdict, reason=f"{verdict.reason}; {remark}")


@own_arithmetic
def audit_scores(
    claim: Claim,
    in_scores: Sequence[float] | Array,
    out_scores: Sequence[float] | Array,
    *,
    alpha: float = ALPHA,
    pilot_share: float = 0.2,
    fair_coins: bool = False,
    detectable_ratio: float = DEFAULT_DETECTABLE_RATIO,
    seed: int | None = None,
    name: str = "recorded scores",
) -> Verdict:
    """The verdict from one score per run, of runs with and without the record.

    Some runs of each kind choose the rule and the direction, so that losses do as well as confidences;
    the rest are counted. Which ones is settled by a shuffle, whatever order the scores come in.
    Unless the claim is one of ρ, there are few runs, or one kind is more than twice as frequent as the
    other though no coins drew the worlds, right answers are counted: see `coin_game`. Otherwise both
    error rates are. Of a claim of μ, four fifths of alpha go to answers by a threshold that is
    learnt on the way, for which hardly a run is kept apart.

    Example::

        import numpy as np
        from dpcalc.auditing import Claim, audit_scores
        draw = np.random.default_rng(0)
        claim = Claim.of(epsilon=1, delta=1e-5, adjacency="add-remove")
        found = audit_scores(claim, draw.normal(2, 1, 500), draw.normal(0, 1, 500), seed=1)
        print(found.outcome, found.epsilon_lower)

    Args:
        claim: what is tested.
        in_scores: independent runs with the record.
        out_scores: runs without it.
        alpha: probability of refuting a true claim.
        pilot_share: share of the runs that choose the rule.
        fair_coins: whether every run's world was drawn by its own independent fair coin, so that all
            runs count. Exactly half of the runs in each world are not such coins.
        detectable_ratio: see `Verdict`.
        seed: of the shuffle and the coins; one is made and reported if left out.
        name: for the report.

    Returns:
        The verdict.

    Raises:
        InvalidInput: for too few scores of a kind, scores that no double holds, NaN among them, and
            shares outside (0, 1).
    """
    check_terms(alpha, detectable_ratio)
    seed = new_seed() if seed is None else seed
    first, second = of_both_kinds(in_scores, out_scores, pilot_share, fair_coins)
    scores = RecordedScores(claim, first, second, alpha, pilot_share, seed, fair_coins)
    return verdict_of(scores, detectable_ratio, name)


@own_arithmetic
def audit_canaries(
    claim: Claim,
    included: NDArray[np.bool_],
    scores: Array,
    *,
    guess_in: int,
    guess_out: int,
    fair_coins: bool,
    alpha: float = ALPHA,
    detectable_ratio: float = DEFAULT_DETECTABLE_RATIO,
    seed: int | None = None,
    name: str = "one run",
) -> Verdict:
    """The verdict from one run with many canaries; see `estimators.one_run.guess`.

    There is one pair (guess_in, guess_out): the best of several would need a correction that nobody
    has proved.

    Example::

        import numpy as np
        from dpcalc.auditing import Claim, audit_canaries
        draw = np.random.default_rng(0)
        included = draw.random(200) < 0.5
        scores = draw.normal(size=200) + 3 * included
        claim = Claim.of(epsilon=1, delta=1e-5, adjacency="add-remove")
        found = audit_canaries(claim, included, scores, guess_in=50, guess_out=50, fair_coins=True)
        print(found.outcome)

    Args:
        claim: what is tested.
        included: shape (canaries,), which of them were in the training set.
        scores: shape (canaries,), higher for those that seem to have been in it.
        guess_in: how many of the highest are guessed to have been in it, 0 or above.
        guess_out: how many of the lowest are guessed not to have been, 0 or above.
        fair_coins: that every canary was included by a fair coin of its own; without that there is no
            bound.
        alpha: probability of refuting a true claim, in (0, 1).
        detectable_ratio: see `Verdict`.
        seed: of the order in which canaries of equal scores stand; one is made and reported if left
            out.
        name: for the report.

    Returns:
        The verdict.

    Raises:
        InvalidInput: without fair coins, for more guesses than canaries, and for numbers of scores
            and canaries that differ.
    """
    seed = new_seed() if seed is None else seed
    numbers: dict[str, Any] = {"guess_in": guess_in, "guess_out": guess_out, "seed": seed}
    guesses = one_run.guess(included, scores, fair_coins=fair_coins, **numbers)
    terms: dict[str, Any] = {"alpha": alpha, "detectable_ratio": detectable_ratio, "name": name}
    return replace(audit_guesses(claim, guesses, **terms), seed=seed)


@own_arithmetic
def audit_guesses(
    claim: Claim,
    guesses: Guesses,
    *,
    alpha: float = ALPHA,
    detectable_ratio: float = DEFAULT_DETECTABLE_RATIO,
    name: str = "one run",
) -> Verdict:
    """The verdict from counted guesses about the canaries of one run.

    Example::

        from dpcalc.auditing import Claim, audit_guesses
        from dpcalc.auditing.estimators.one_run import Guesses
        claim = Claim.of(epsilon=1, delta=1e-5, adjacency="add-remove")
        guesses = Guesses(canaries=200, guessed=100, correct=90)
        print(audit_guesses(claim, guesses).outcome)

    Args:
        claim: what is tested.
        guesses: how many there were, and how many were right.
        alpha: probability of refuting a true claim, in (0, 1).
        detectable_ratio: see `Verdict`.
        name: for the report.

    Returns:
        The verdict.
    """
    check_terms(alpha, detectable_ratio)
    found = from_guesses(claim, guesses, alpha)
    verdict = recorded_verdict(name, claim, found, alpha, 1, detectable_ratio)
    return _noting_wrong(verdict, guesses.correct, guesses.guessed, "guesses", _HIGHER)
