"""E2: one count, the right answers in a game with fair coins.

Statement
    If the world is drawn by a fair coin in every run, no rule is right more often than
    (1 + δ(0))/2, δ the claim's privacy profile. Under μ-GDP that is Φ(μ/2); under (ε, δ)-DP it is
    (e^ε + δ)/(1 + e^ε). With the exact lower limit p of the accuracy at level α
    ``μ >= 2Φ⁻¹(p)``, ``ε >= ln((p - δ)/(1 - p))``.
Source
    Derived here from Dong, Roth and Su 2022 and Kairouz, Oh and Viswanath 2015; it spends α on one
    count where the rectangle of false positives and negatives spends it on two.
Assumes
    Every run's world drawn by its own fair coin; a rule fixed before. The best rule for the balanced
    game is "log-likelihood ratio above zero", known without looking at data. No rule for all runs
    shows a catastrophe of probability below tanh(ε/2); one that passes over runs which say nothing
    does, see `abstention`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc import checks
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators import abstention, partly
from dpcalc.auditing.estimators.binomial import (
    POWER,
    SOUGHT,
    chance_for_power,
    critical_count,
    lower_limit,
)
from dpcalc.auditing.estimators.clopper_pearson import require_curve
from dpcalc.auditing.estimators.reference_mechanisms import (
    GAUSSIAN,
    RESPONSE,
    Outcomes,
    in_runs,
    reference,
    response_rates,
)
from dpcalc.auditing.estimators.rules import Answers, Rule, cuts
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.sampling.observations import Observations
from dpcalc.errors import AssumptionViolated

Array = NDArray[np.float64]

_ENOUGH_TO_LEARN = 200  # runs, beside whose pilot few outcomes are surely answered rightly


def mu_lower(correct: ArrayLike, runs: ArrayLike, *, alpha: float) -> Array:
    """The lower bound of the smallest μ for which μ-GDP holds. Arguments broadcast."""
    from scipy.special import ndtri

    p = lower_limit(correct, runs, alpha)
    return np.asarray(np.maximum(2 * ndtri(np.maximum(p, 0.5)), 0.0))


def epsilon_lower(correct: ArrayLike, runs: ArrayLike, *, delta: float, alpha: float) -> Array:
    """The lower bound of ε at δ, for any mechanism. Arguments broadcast."""
    checks.delta(delta)
    p = lower_limit(correct, runs, alpha)
    odds = np.maximum(p - delta, 1e-300) / np.maximum(1 - p, 1e-300)
    return np.asarray(np.maximum(np.log(odds), 0.0))


def choose_threshold(pilot: Observations) -> Array:
    """The threshold with the most right answers in runs that will not be counted.

    It lies between two different scores: a block of equal scores gets one answer anyway.
    """
    found = cuts(pilot)
    right = found.place - 2 * found.below_in
    best = (right == right.max(axis=-1, keepdims=True)) & _first_of_equal(found.place)
    rank = np.cumsum(best, axis=-1)
    chosen = (best & (rank == (rank[..., -1:] + 1) // 2)).argmax(axis=-1)  # the middle one
    return np.asarray(np.take_along_axis(found.threshold, chosen[..., None], axis=-1)[..., 0])


def detectable(
    *, runs: int, claim: Claim, alpha: float, quantity: Quantity, power: float = POWER
) -> float:
    """The value that this many runs tell from the claimed one with this power by the best rule."""
    right = allowed(claim, quantity)
    needed = critical_count(runs, right, alpha)
    return value_at(chance_for_power(needed, runs, power), claim.delta, quantity)


def allowed(claim: Claim, quantity: Quantity) -> float:
    """The best accuracy under the claim: of its curve, or of (ε, δ) alone."""
    if quantity is Quantity.MU:
        return claim.guarantee.attack_accuracy()
    grown = math.exp(min(claim.epsilon, 700.0))
    return (grown + claim.delta) / (1 + grown)


def value_at(accuracy: float, delta: float, quantity: Quantity, mechanism: str = GAUSSIAN) -> float:
    """The μ, or the ε at δ, of the mechanism that is attacked with this accuracy; see `reference`."""
    from scipy.special import ndtri

    if not accuracy < 1:
        return math.inf
    if accuracy <= 0.5:
        return 0.0
    if quantity is Quantity.EPSILON and (delta == 0 or mechanism == RESPONSE):
        return math.log(max(accuracy - delta, 0.5) / (1 - accuracy))
    mu = 2 * float(ndtri(accuracy))
    return mu if quantity is Quantity.MU else float(gaussian_pair.epsilon_of(mu, delta))


def evidence(
    observations: Observations,
    rule: Rule | float,
    claim: Claim,
    *,
    alpha: float,
    curve: bool,
    outcomes: Outcomes = Outcomes.DISCRETE,
    share: float = 1.0,
    learnt: bool = False,
) -> Evidence:
    """The bound on μ if ``curve``, else on ε at the claim's δ.

    Args:
        observations: runs whose worlds were drawn by fair coins.
        rule: known before these runs; a number is the threshold of one that answers every run.
        claim: what is tested.
        alpha: error probability.
        curve: whether the claim is to be tested as a Gaussian curve.
        outcomes: how often they repeat; see `reference_mechanisms`.
        share: of the runs in which the mechanism answers; see `answering`.
        learnt: whether the score was learnt; see `abstention.smallest_response`.

    Raises:
        AssumptionViolated: if the worlds were not drawn by fair coins, or a bound on μ is asked for
            a claim that is no Gaussian curve.
    """
    if not observations.fair_coins:
        raise AssumptionViolated(
            "expected worlds drawn by independent fair coins for the accuracy bound; got runs "
            "assigned in another way; use clopper-pearson"
        )
    rule = rule if isinstance(rule, Rule) else Rule.at(rule)
    answers, known = rule.answers(observations), observations.exact
    return from_answers(
        answers,
        rule,
        claim,
        alpha=alpha,
        curve=curve,
        known=known,
        outcomes=outcomes,
        share=share,
        learnt=learnt,
    )


def from_answers(
    answers: Answers,
    rule: Rule | None,
    claim: Claim,
    *,
    alpha: float,
    curve: bool,
    known: bool = False,
    outcomes: Outcomes = Outcomes.DISCRETE,
    share: float = 1.0,
    learnt: bool = False,
) -> Evidence:
    """The bound of `evidence` from counted answers of a rule fixed before.

    Args:
        answers: of the rule.
        rule: fixed before; None for one that answered every run, whatever it was.
        claim: what is tested.
        alpha: error probability.
        curve: whether the claim is to be tested as a Gaussian curve.
        known: whether the best rule was known and not sought on a pilot, which costs power.
        outcomes: how often they repeat; see `reference_mechanisms`.
        share: of the runs in which the mechanism answers; see `answering`.
        learnt: whether the score was learnt; see `abstention.smallest_response`.
    """
    if curve:
        require_curve(claim)
    quantity = Quantity.MU if curve else Quantity.EPSILON
    terms: dict[str, Any] = {
        "runs": answers.runs,
        "claim": claim,
        "alpha": alpha,
        "quantity": quantity,
    }
    epsilon, lower = _bounds(rule, answers, claim.delta, alpha, curve)
    if rule is None:
        outcomes, share = Outcomes.DISCRETE, 1.0
    named = reference(claim.delta, outcomes, curve=curve, share=share)
    telling = round(share * answers.runs)
    counted = answers.record() | (rule.record() if rule else {})
    if rule is not None and named == RESPONSE and lower > 0:
        telling = rule.telling(answers, telling, learnt=learnt)
    if telling < answers.runs:
        terms |= {"telling": telling, "learnt": learnt}
        counted |= {"telling": telling, "learnt": learnt}
    return Evidence(
        method="accuracy",
        quantity=quantity,
        lower=lower,
        epsilon=epsilon,
        alpha=alpha,
        delta=claim.delta,
        access=AdversaryAccess.RUNS,
        runs=answers.runs,
        detectable=detectable(**terms)
        if rule is None
        else noticed(**terms, known=known, outcomes=outcomes),
        reference=in_runs(named, telling, answers.runs),
        counted=counted,
        assumes=("fair coins", "the decision rule was fixed before these runs"),
    )


def _bounds(
    rule: Rule | None, answers: Answers, delta: float, alpha: float, curve: bool
) -> tuple[float, float]:
    """ε at δ, and the number that is bounded; on a curve both from one event of probability α."""
    right, wrong, runs = answers.right, answers.wrong, answers.runs
    abstains = rule is not None and rule.abstains
    if abstains and curve:
        epsilon, mu = abstention.joint_lower(right, wrong, runs, delta=delta, alpha=alpha)
        return float(epsilon), float(mu)
    if abstains:
        epsilon = abstention.epsilon_lower(right, wrong, runs, delta=delta, alpha=alpha)
        return float(epsilon), float(epsilon)
    epsilon = epsilon_lower(right, runs, delta=delta, alpha=alpha)
    return float(epsilon), float(mu_lower(right, runs, alpha=alpha) if curve else epsilon)


def noticed(
    *,
    runs: int,
    claim: Claim,
    alpha: float,
    quantity: Quantity,
    known: bool = False,
    outcomes: Outcomes = Outcomes.DISCRETE,
    telling: int | None = None,
    learnt: bool = False,
) -> float:
    """What a rule sought on a pilot shows; it passes over runs that say little, if there are any.

    Args:
        runs: counted.
        claim: what is tested.
        alpha: error probability.
        quantity: which value.
        known: whether the best rule was known and not sought on a pilot, which costs power.
        outcomes: how often they repeat; see `reference_mechanisms`.
        telling: runs in which the mechanism answers; all if left out.
        learnt: whether the score was learnt; see `abstention.smallest_response`.
    """
    if quantity is Quantity.EPSILON:
        terms: dict[str, Any] = {"claimed": claim.epsilon, "delta": claim.delta, "alpha": alpha}
        if reference(claim.delta, outcomes) != RESPONSE:
            share = 1.0 if telling is None else telling / runs
            return abstention.detectable(runs=runs, share=share, **terms)
        if telling is not None:
            return abstention.detectable_response(
                runs=runs, telling=telling, learnt=learnt, **terms
            )
        right, _ = response_rates(claim.epsilon, claim.delta)
        needed = critical_count(runs, right, alpha)
        learnt_at_once = outcomes is Outcomes.FEW and runs >= _ENOUGH_TO_LEARN
        power = POWER if learnt_at_once else SOUGHT  # rare outcomes are hardly learnt
        return value_at(chance_for_power(needed, runs, power), claim.delta, quantity, RESPONSE)
    if telling is not None and known:
        chance = chance_for_power(critical_count(runs, allowed(claim, quantity), alpha), runs)
        return partly.mu_of_answers(chance, telling / runs, outcomes)
    if telling is not None:
        return partly.detectable(
            runs=runs,
            telling=telling,
            claimed=claim.bound(Quantity.MU),
            alpha=alpha,
            outcomes=outcomes,
            learnt=learnt,
        )
    power = POWER if known else SOUGHT
    return detectable(runs=runs, claim=claim, alpha=alpha, quantity=quantity, power=power)


def _first_of_equal(place: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Marks each cut once."""
    return np.concatenate(
        [np.ones((*place.shape[:-1], 1), bool), place[..., 1:] > place[..., :-1]], axis=-1
    )
