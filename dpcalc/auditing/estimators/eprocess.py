"""E4: bets on right and wrong answers, valid whenever one stops.

Statement
    An e-process has expectation at most 1 under the hypothesis at every stopping time, so it ever
    reaches 1/α with probability at most α (Ville). Three of them, each a mixture over stakes
    c in (0, 1) fixed in advance:
    accuracy   Π(1 + (c/a)(1{right} - a)), a the best accuracy that the hypothesis allows; it
               decreases in a, so it inverts into a lower bound at any time
    answers    Π(1 + (c/(e^ε+δ))(1{right} - e^ε·1{wrong} - δ)), for a rule that need not answer (see
               `abstention`); for one that always does it is the bet on its accuracy
    paired     Π(1 + (c/(e^ε+δ))(1{x in A} - e^ε·1{y in A} - δ)), x from P and y from Q
    E-values of independent experiments multiply.
Source
    Waudby-Smith and Ramdas 2024 for betting; the two bets are derived here.
Assumes
    accuracy, answers: fair coins. All: a rule that is fixed before. Nothing about the mechanism.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc import checks
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators import abstention, accuracy, partly
from dpcalc.auditing.estimators.binomial import chance_for_power
from dpcalc.auditing.estimators.reference_mechanisms import RESPONSE, Outcomes, reference
from dpcalc.errors import InvalidInput

Array = NDArray[np.float64]

STAKES = np.geomspace(0.004, 0.9, 16)
"""The mixture's stakes: small ones find small violations late, large ones large violations soon."""

_GRID = np.geomspace(1e-3, 20.0, 1000)  # ε at which answers are tested, one per cent apart


def log_wealth(correct: ArrayLike, runs: ArrayLike, allowed: ArrayLike) -> Array:
    """Log of the accuracy e-process after ``runs`` answers, ``correct`` of them right.

    Args:
        correct: right answers.
        runs: answers.
        allowed: the best accuracy under the hypothesis, in (0, 1]. All three broadcast.
    """
    k, n, a = np.broadcast_arrays(*(np.asarray(v, float) for v in (correct, runs, allowed)))
    gain = np.log1p(STAKES * (1 - a[..., None]) / a[..., None])
    wealth = k[..., None] * gain + (n - k)[..., None] * np.log1p(-STAKES)
    return np.asarray(np.logaddexp.reduce(wealth, axis=-1) - math.log(len(STAKES)))


def accuracy_lower(correct: ArrayLike, runs: ArrayLike, *, alpha: float) -> Array:
    """The lower bound of the accuracy at this moment: largest one that is rejected, or 0.

    Valid at all moments together, so the largest bound so far is valid too.
    """
    k, n = np.broadcast_arrays(np.asarray(correct, float), np.asarray(runs, float))
    low, high = np.full(k.shape, 1e-9), np.ones(k.shape)
    for _ in range(50):
        middle = (low + high) / 2
        rejected = log_wealth(k, n, middle) >= -math.log(alpha)
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return np.asarray(np.where(low > 1e-9, low, 0.0))


def answers_log_wealth(
    right: ArrayLike, wrong: ArrayLike, runs: ArrayLike, *, epsilon: ArrayLike, delta: float
) -> Array:
    """Log of the e-process of answers after ``runs`` runs, some of them without an answer.

    Args:
        right: right answers.
        wrong: wrong answers.
        runs: all runs.
        epsilon: of the hypothesis; broadcasts with the three counts.
        delta: of the hypothesis.
    """
    r, v, n, e = (
        a[..., None]
        for a in np.broadcast_arrays(*(np.asarray(x, float) for x in (right, wrong, runs, epsilon)))
    )
    bet = STAKES / (np.exp(e) + checks.delta(delta))
    gain = r * np.log1p(bet * (1 - delta)) + v * np.log1p(-STAKES)
    wealth = gain + (n - r - v) * np.log1p(-bet * delta)
    return np.asarray(np.logaddexp.reduce(wealth, axis=-1) - math.log(len(STAKES)))


def answers_epsilon_lower(
    right: int, wrong: int, runs: int, *, delta: float, alpha: float
) -> float:
    """ε up to which all of a fixed grid is rejected; 0 if its first point is not.

    (ε, δ)-DP implies every claim of a larger ε, so the report exceeds the truth only if the first
    grid point above the truth is rejected, although it holds.
    """
    wealth = answers_log_wealth(right, wrong, runs, epsilon=_GRID, delta=delta)
    kept = np.flatnonzero(wealth < -math.log(alpha))
    last = int(kept[0]) - 1 if kept.size else len(_GRID) - 1
    return float(_GRID[last]) if last >= 0 else 0.0


def paired_log_wealth(x_in: ArrayLike, y_in: ArrayLike, *, epsilon: float, delta: float) -> Array:
    """Log of the paired e-process after all pairs; flags of shape (..., pairs).

    Args:
        x_in: whether the i-th run of P fell into A.
        y_in: whether the i-th run of Q did.
        epsilon: of the hypothesis.
        delta: of the hypothesis.
    """
    x, y = np.asarray(x_in, bool), np.asarray(y_in, bool)
    scale = math.exp(epsilon) + checks.delta(delta)
    total = np.zeros((*x.shape[:-1], len(STAKES)))
    for a in (False, True):
        for b in (False, True):
            count = ((x == a) & (y == b)).sum(axis=-1)[..., None]
            bet = STAKES * (a - math.exp(epsilon) * b - delta) / scale
            total = total + count * np.log1p(bet)
    return np.asarray(np.logaddexp.reduce(total, axis=-1) - math.log(len(STAKES)))


def paired_epsilon_lower(
    log_ratios_p: Array, log_ratios_q: Array, *, delta: float, alpha: float, grid: ArrayLike
) -> Array:
    """ε up to which A = {L > ε} rejects on an increasing grid fixed in advance; 0 if none does.

    Args:
        log_ratios_p: L of runs of P, shape (..., pairs).
        log_ratios_q: L of runs of Q, as many.
        delta: of the hypothesis.
        alpha: error probability.
        grid: ε to try, increasing, fixed before the runs: the scan stops at the first that is not
            rejected, so the report exceeds the truth only if the first grid point above it does.
    """
    points = np.asarray(grid, float)
    going = np.ones(np.shape(log_ratios_p)[:-1], bool)
    best = np.zeros(going.shape)
    for epsilon in points:
        wealth = paired_log_wealth(
            log_ratios_p > epsilon, log_ratios_q > epsilon, epsilon=float(epsilon), delta=delta
        )
        going = going & (wealth >= -math.log(alpha))
        best = np.where(going, epsilon, best)
        if not going.any():
            break
    return best


def allowed_accuracy(claim: Claim) -> float:
    """The best accuracy under the claim: of the curve, or of (ε, δ) alone."""
    return accuracy.allowed(claim, Quantity.MU if claim.is_curve else Quantity.EPSILON)


def lower_from_accuracy(bound: float, claim: Claim) -> float:
    """A lower bound of the accuracy as one of μ for a curve claim, else of ε."""
    from scipy.special import ndtri

    if bound <= 0.5:
        return 0.0
    if claim.is_curve:
        return 2 * float(ndtri(bound))
    return epsilon_from_accuracy(bound, claim.delta)


def epsilon_from_accuracy(bound: float, delta: float) -> float:
    """A lower bound of the accuracy as one of ε at δ, for any mechanism."""
    odds = max(bound - delta, 1e-300) / max(1 - bound, 1e-300)
    return max(math.log(odds), 0.0)


def detectable(
    *,
    runs: int,
    claim: Claim,
    alpha: float,
    outcomes: Outcomes = Outcomes.DISCRETE,
    telling: int | None = None,
    learnt: bool = False,
) -> float:
    """The value told from the claimed one within this many runs, 4 times in 5.

    Args:
        runs: counted.
        claim: what is tested.
        alpha: error probability.
        outcomes: how often they repeat; see `reference_mechanisms`.
        telling: in how many of the runs the mechanism answers; all if left out.
        learnt: whether the score was learnt; see `abstention.smallest_response`.
    """
    named = reference(claim.delta, outcomes)
    if telling is not None and not claim.is_curve and named == RESPONSE:
        terms = {"epsilon": min(claim.epsilon, 700.0), "delta": claim.delta}
        return abstention.smallest_response(
            lambda r, w: answers_log_wealth(r, w, runs, **terms) >= -math.log(alpha),
            runs=runs,
            telling=telling,
            claimed=claim.epsilon,
            delta=claim.delta,
            learnt=learnt,
        )
    share = 1.0 if telling is None else telling / runs
    if not claim.is_curve and named != RESPONSE:
        return _detectable(runs, claim.epsilon, claim.delta, alpha, share)
    allowed = allowed_accuracy(claim)
    low, high = 0, runs + 1
    while high - low > 1:
        middle = (low + high) // 2
        if float(log_wealth(middle, runs, allowed)) >= -math.log(alpha):
            high = middle
        else:
            low = middle
    chance = chance_for_power(high, runs)
    if claim.is_curve:
        return partly.mu_of_answers(chance, share, outcomes)
    return accuracy.value_at(chance, claim.delta, Quantity.EPSILON, named)


@lru_cache(maxsize=256)  # audits of one design ask for the same
def _detectable(runs: int, claimed: float, delta: float, alpha: float, share: float) -> float:
    return abstention.smallest_epsilon(
        lambda right, wrong: (
            answers_log_wealth(right, wrong, runs, epsilon=claimed, delta=delta) >= -math.log(alpha)
        ),
        runs=runs,
        claimed=claimed,
        delta=delta,
        share=share,
    )


def combined(*log_values: float) -> float:
    """The log e-value of independent experiments together.

    Raises:
        InvalidInput: if none is given.
    """
    if not log_values:
        raise InvalidInput("expected at least one e-value")
    return math.fsum(log_values)
