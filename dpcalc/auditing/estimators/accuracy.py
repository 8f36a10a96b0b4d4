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
    game is "log-likelihood ratio above zero", known without looking at data.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc import checks
from dpcalc.auditing import gaussian_pair
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators.binomial import chance_for_power, critical_count, lower_limit
from dpcalc.auditing.estimators.clopper_pearson import require_curve
from dpcalc.auditing.evidence import Access, Evidence
from dpcalc.auditing.observations import Observations
from dpcalc.errors import AssumptionViolated

Array = NDArray[np.float64]


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
    """The threshold with the most right answers in runs that will not be counted."""
    order = np.argsort(pilot.score, axis=-1)
    score = np.take_along_axis(pilot.score, order, axis=-1)
    is_in = np.take_along_axis(pilot.is_in, order, axis=-1)
    # right(k): the k lowest scores answered OUT, the rest IN
    gained = np.cumsum(np.where(is_in, -1, 1), axis=-1)
    right = np.concatenate([np.zeros((*gained.shape[:-1], 1)), gained], axis=-1)
    k = _middle_of_best(right)
    last = pilot.runs - 1
    left = np.take_along_axis(score, np.clip(k - 1, 0, last)[..., None], axis=-1)[..., 0]
    upper = np.take_along_axis(score, np.clip(k, 0, last)[..., None], axis=-1)[..., 0]
    with np.errstate(invalid="ignore"):
        middle = left + (upper - left) / 2
    inner = np.where(np.isfinite(middle), middle, left)
    return np.asarray(np.where(k == 0, -np.inf, np.where(k > last, np.inf, inner)))


def detectable(*, runs: int, claim: Claim, alpha: float, quantity: Quantity) -> float:
    """The value that this many runs tell from the claimed one, 4 times in 5."""
    if quantity is Quantity.MU:
        allowed = claim.guarantee.attack_accuracy()
    else:
        grown = math.exp(min(claim.epsilon, 700.0))
        allowed = (grown + claim.delta) / (1 + grown)
    needed = critical_count(runs, allowed, alpha)
    return value_at(chance_for_power(needed, runs), claim.delta, quantity)


def value_at(accuracy: float, delta: float, quantity: Quantity) -> float:
    """The μ, or the ε at δ, of the reference mechanism that is attacked with this accuracy."""
    from scipy.special import ndtri

    if not accuracy < 1:
        return math.inf
    if accuracy <= 0.5:
        return 0.0
    if quantity is Quantity.EPSILON and delta == 0:
        return math.log(accuracy / (1 - accuracy))
    mu = 2 * float(ndtri(accuracy))
    return mu if quantity is Quantity.MU else float(gaussian_pair.epsilon_of(mu, delta))


def evidence(
    observations: Observations, threshold: float, claim: Claim, *, alpha: float, curve: bool
) -> Evidence:
    """The bound on μ if ``curve``, else on ε at the claim's δ.

    Args:
        observations: runs whose worlds were drawn by fair coins.
        threshold: known before these runs.
        claim: what is tested.
        alpha: error probability.
        curve: whether the claim is to be tested as a Gaussian curve.

    Raises:
        AssumptionViolated: if the worlds were not drawn by fair coins, or a bound on μ is asked for
            a claim that is no Gaussian curve.
    """
    if not observations.fair_coins:
        raise AssumptionViolated(
            "worlds drawn by independent fair coins were needed for the accuracy bound; got runs "
            "assigned in another way; use clopper-pearson"
        )
    if curve:
        require_curve(claim)
    counts = observations.counts(threshold)
    quantity = Quantity.MU if curve else Quantity.EPSILON
    correct, runs = int(counts.correct), int(counts.runs)
    epsilon = float(epsilon_lower(correct, runs, delta=claim.delta, alpha=alpha))
    lower = float(mu_lower(correct, runs, alpha=alpha)) if curve else epsilon
    return Evidence(
        method="accuracy",
        quantity=quantity,
        lower=lower,
        epsilon=epsilon,  # from the same limit of the accuracy
        alpha=alpha,
        delta=claim.delta,
        access=Access.RUNS,
        runs=runs,
        detectable=detectable(runs=runs, claim=claim, alpha=alpha, quantity=quantity),
        reference=gaussian_pair.reference(0.0 if claim.delta == 0 else claim.delta),
        counted=counts.record() | {"threshold": float(threshold)},
        assumes=("fair coins", "the decision rule was fixed before these runs"),
    )


def _middle_of_best(right: Array) -> NDArray[np.int64]:
    """The middle one of the best positions."""
    best = right == right.max(axis=-1, keepdims=True)
    rank = np.cumsum(best, axis=-1)
    half = (rank[..., -1:] + 1) // 2
    return np.asarray((best & (rank == half)).argmax(axis=-1))
