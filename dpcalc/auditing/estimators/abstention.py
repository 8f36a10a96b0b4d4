"""Right answers under fair coins among the runs that a rule answers at all.

Statement
    Every run's world is drawn by a fair coin; a rule is right with probability c, wrong with
    probability w and silent otherwise.
    (ε, δ)  c <= e^ε·w + δ, since P(A) <= e^ε·Q(A) + δ for the set A answered IN and the same with
            the worlds exchanged for the set answered OUT. Write c = c' + c'' with c' <= e^ε·w and
            c'' <= δ and mark each right answer by its part: the second kind counts at most
            Bin(n, δ), and of the others, given how many answers there are, the right ones are
            Bin(·, c'/(c' + w)), c'/(c' + w) <= q = e^ε/(1 + e^ε). Let j be fixed beforehand with
            P(Bin(n, δ) > j) = s. With r right and v wrong answers the claim is rejected if
            P(Bin(r - j + v, q) >= r - j) <= α - s. That probability falls in r at fixed v, so a
            true claim is rejected with probability at most α; it rises in q, so the bound is
            ``ε >= ln(p/(1 - p))``, p the lower limit of r - j successes in r - j + v.
    μ-GDP   c <= G(w) with G(w) = Φ(Φ⁻¹(w) + μ), concave, so that the average over both answers
            obeys it too; with limits of c and w at α/2 each, ``μ >= Φ⁻¹(c_low) - Φ⁻¹(w_up)``.
    A rule that answers everything has w = 1 - c and needs one limit: see `accuracy`.
Source
    Derived here; for δ = 0 the conditional test is that of Steinke, Nasr and Jagielski 2023.
Assumes
    Every run's world drawn by its own fair coin; a rule fixed before. Nothing about the mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc import checks
from dpcalc.auditing.estimators.binomial import (
    FEWEST_TAUGHT,
    SOUGHT,
    SOUGHT_OF_LAPLACE,
    SOUGHT_OF_LEARNT,
    UNTAUGHT_GAUSSIAN,
    UNTAUGHT_LAPLACE,
    at_least,
    critical_count,
    lower_limit,
    quantile,
    smallest_noticed,
    taught,
    upper_limit,
)
from dpcalc.auditing.estimators.reference_mechanisms import answer_rates, response_rates

Array = NDArray[np.float64]

_SPENT = 0.1  # share of α at most spent on the failures that δ allows


def allowed_failures(runs: int, delta: float, alpha: float) -> tuple[int, float]:
    """The number j of right answers that δ may account for, and the α left for the others."""
    if delta == 0:
        return 0, alpha
    from scipy.special import betainc

    beyond = critical_count(runs, delta, _SPENT * alpha)  # P(Bin >= beyond) is small enough
    if beyond > runs:
        return runs, alpha
    return beyond - 1, alpha - float(betainc(beyond, runs - beyond + 1, delta))


def epsilon_lower(
    right: ArrayLike, wrong: ArrayLike, runs: int, *, delta: float, alpha: float
) -> Array:
    """The lower bound of ε at δ, for any mechanism. Arguments broadcast.

    Args:
        right: right answers.
        wrong: wrong answers.
        runs: all runs, those without an answer included.
        delta: in [0, 1).
        alpha: error probability.
    """
    failures, rest = allowed_failures(runs, checks.delta(delta), alpha)
    counted = np.maximum(np.asarray(right, float) - failures, 0.0)
    p = lower_limit(counted, np.maximum(counted + np.asarray(wrong, float), 1.0), rest)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(p) - np.log1p(-p), 0.0))


def joint_lower(
    right: ArrayLike, wrong: ArrayLike, runs: int, *, delta: float, alpha: float
) -> tuple[Array, Array]:
    """Lower bounds of ε at δ and of the smallest μ, both at once. Arguments broadcast.

    They rest on the same two limits, c_low and w_up, and are wrong only if one of these is:
    ``ε >= ln((c_low - δ)/w_up)``.
    """
    from scipy.special import ndtri

    low, high = lower_limit(right, runs, alpha / 2), upper_limit(wrong, runs, alpha / 2)
    says = (low > 0) & (high < 1)
    mu = ndtri(np.where(says, low, 0.5)) - ndtri(np.where(says, high, 0.5))
    with np.errstate(divide="ignore"):
        epsilon = np.log(np.maximum(low - checks.delta(delta), 0.0)) - np.log(high)
    return np.asarray(np.maximum(epsilon, 0.0)), np.asarray(np.where(says, np.maximum(mu, 0), 0.0))


@lru_cache(maxsize=1024)
def notices(
    *, runs: int, epsilon: float, claimed: float, delta: float, alpha: float, share: float = 1.0
) -> bool:
    """Whether this many runs tell the ε at δ from the claimed one, 4 times in 5; see `detectable`."""
    return is_noticed(
        lambda right, wrong: epsilon_lower(right, wrong, runs, delta=delta, alpha=alpha) > claimed,
        runs=runs,
        epsilon=epsilon,
        delta=delta,
        share=share,
    )


@lru_cache(maxsize=256)
def detectable(
    *, runs: int, claimed: float, delta: float, alpha: float, share: float = 1.0
) -> float:
    """The ε at δ that this many runs tell from the claimed one, 4 times in 5.

    For the mechanisms of `answer_rates`, which answer in this share of the runs.
    """
    if share < 1 and share * runs < FEWEST_TAUGHT:
        return math.inf
    terms = {"claimed": claimed, "delta": delta, "alpha": alpha, "share": share}
    return smallest_noticed(lambda epsilon: notices(runs=runs, epsilon=epsilon, **terms), claimed)


@lru_cache(maxsize=1024)
def detectable_response(
    *, runs: int, telling: int, claimed: float, delta: float, alpha: float, learnt: bool = False
) -> float:
    """The ε at δ of randomised response that is told from the claimed one; see `smallest_response`."""
    return smallest_response(
        lambda right, wrong: epsilon_lower(right, wrong, runs, delta=delta, alpha=alpha) > claimed,
        runs=runs,
        telling=telling,
        claimed=claimed,
        delta=delta,
        learnt=learnt,
    )


def smallest_response(
    rejects: Callable[[Array, Array], NDArray[np.bool_]],
    *,
    runs: int,
    telling: int,
    claimed: float,
    delta: float,
    learnt: bool,
) -> float:
    """The ε at δ of randomised response at which a test of its answers rejects, 4 times in 5.

    Args:
        rejects: right and wrong answers -> whether the claim is rejected.
        runs: all runs.
        telling: those in which there was anything to answer.
        claimed: where the search begins.
        delta: in [0, 1).
        learnt: whether the score was learnt: every second such score does not set apart the outcomes
            that say nothing from one of the two that do, and half of the answers are lost. Where so
            few could not reject at all, what is noticed is so large that scores set apart both.
    """
    numbers = (telling, telling // 2) if learnt else (telling,)
    needed = [_fewest_right(rejects, number) for number in numbers]
    halved = needed[-1] <= numbers[-1] < telling
    if not halved:
        numbers, needed = numbers[:1], needed[:1]
    sought = SOUGHT_OF_LEARNT if halved else SOUGHT

    def notices(epsilon: float) -> bool:
        right, wrong = response_rates(epsilon, delta, telling / runs)
        powers = at_least(needed, numbers, right / (right + wrong))
        return bool(powers.mean() > sought)

    return smallest_noticed(notices, claimed)


def _fewest_right(rejects: Callable[[Array, Array], NDArray[np.bool_]], answers: int) -> int:
    """The fewest right ones of so many answers that reject; one more than all if they do not."""
    low, high = -1, answers + 1
    while high - low > 1:
        middle = (low + high) // 2
        if bool(rejects(np.asarray(float(middle)), np.asarray(float(answers - middle)))):
            high = middle
        else:
            low = middle
    return high


def smallest_epsilon(
    rejects: Callable[[Array, Array], NDArray[np.bool_]],
    *,
    runs: int,
    claimed: float,
    delta: float,
    share: float = 1.0,
) -> float:
    """The ε at δ at which a test of right and wrong answers rejects, 4 times in 5.

    For the mechanisms of `answer_rates` and the best rule that treats both worlds alike.

    Args:
        rejects: right and wrong answers -> whether the claim is rejected.
        runs: all runs.
        claimed: where the search begins.
        delta: in [0, 1).
        share: of the runs in which they answer.
    """
    terms = {"delta": delta, "share": share}
    return smallest_noticed(
        lambda epsilon: is_noticed(rejects, runs=runs, epsilon=epsilon, **terms), claimed
    )


def is_noticed(
    rejects: Callable[[Array, Array], NDArray[np.bool_]],
    *,
    runs: int,
    epsilon: float,
    delta: float,
    share: float = 1.0,
) -> bool:
    """Whether the test of `smallest_epsilon` rejects often enough at this ε."""
    each = math.sqrt(SOUGHT if delta > 0 else SOUGHT_OF_LAPLACE)
    of_right, of_wrong = answer_rates(epsilon, delta, share)
    if share < 1:
        found = taught(share * runs, UNTAUGHT_GAUSSIAN if delta > 0 else UNTAUGHT_LAPLACE)
        of_right, of_wrong = found * of_right, found * of_wrong
    right, wrong = quantile(1 - each, runs, of_right), quantile(each, runs, of_wrong)
    return bool(rejects(right, np.minimum(wrong, runs - right)).any())
