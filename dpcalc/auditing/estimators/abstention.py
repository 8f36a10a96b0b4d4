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
    SOUGHT,
    SOUGHT_OF_LAPLACE,
    critical_count,
    lower_limit,
    quantile,
    smallest_noticed,
    upper_limit,
)
from dpcalc.auditing.estimators.reference_mechanisms import answer_rates
from dpcalc.auditing.estimators.rules import Cuts, Rule, cuts, tail_ranks
from dpcalc.auditing.sampling.observations import Observations

Array = NDArray[np.float64]

_CAUTION = 1.6  # standard errors of a pilot's rates: the best of many rules looks better than it is
_HARDLY_LESS = 0.03  # by which share a rule may promise less than the best and answer more
_CLEARLY_MORE = 0.15  # by which share a rule that passes runs over must promise more
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


def choose_rule(
    pilot: Observations, *, delta: float, alpha: float, curve: bool = False, counted: int
) -> Rule:
    """The rule that promises the largest bound.

    Any choice is valid; it only affects strength.

    Args:
        pilot: the runs to choose on.
        delta: at which ε is to be large.
        alpha: error probability of the later bound.
        curve: look for the largest μ instead.
        counted: runs that will be counted.

    Returns:
        The rule, one per repetition of the pilot.
    """
    return chosen_rule(pilot, delta=delta, alpha=alpha, curve=curve, counted=counted)[0]


def chosen_rule(
    pilot: Observations, *, delta: float, alpha: float, curve: bool = False, counted: int
) -> tuple[Rule, Array]:
    """The rule of `choose_rule` and the bound it promises; no bound holds of the pilot itself.

    Rates are taken to be as far worse than the pilot's as `_CAUTION` of its standard errors and what
    the later bound takes off, at the number of runs to be counted, make together. The best of many
    rules looks better than it is, the more so the fewer runs it answers: so at δ = 0, where far tails
    say no more than near ones, it is of those that promise hardly less the one that answers most; and
    runs are passed over only if that promises a good deal more than to answer all of them.
    """
    found = cuts(pilot, tail_ranks(pilot.runs))
    right, wrong = _answers(found)
    promise = _promise(right, wrong, pilot.runs, counted, delta, alpha, curve)
    size = found.place.shape[-1]
    whole = np.diagonal(promise, axis1=-2, axis2=-1)
    middle = _middle_of_good(whole, found)
    flat = np.where(np.tri(size, dtype=bool).T, promise, -np.inf).reshape(*promise.shape[:-2], -1)
    enough = flat.max(axis=-1, keepdims=True)
    if delta == 0 and not curve:
        enough = enough - _HARDLY_LESS * np.abs(enough)
    best = np.where(flat >= enough, (right + wrong).reshape(flat.shape), -1.0).argmax(axis=-1)
    value = np.take_along_axis(flat, best[..., None], axis=-1)[..., 0]
    answered = np.asarray(whole.max(axis=-1))
    passes = value > answered + _CLEARLY_MORE * np.maximum(answered, 0.0)
    lower, upper = (
        np.take_along_axis(found.threshold, np.where(passes, part, middle)[..., None], axis=-1)
        for part in (best // size, best % size)
    )
    return Rule(lower[..., 0], upper[..., 0]), np.asarray(np.where(passes, value, answered))


def _middle_of_good(promise: Array, found: Cuts) -> NDArray[np.int64]:
    """Of the thresholds whose right answers are within half a standard deviation of the most."""
    right = np.asarray(found.place - 2 * found.below_in, float)
    good = right >= right.max(axis=-1, keepdims=True) - 0.25 * math.sqrt(found.runs)
    weight = np.cumsum(np.where(good, np.diff(found.place, axis=-1, append=found.runs), 0), axis=-1)
    half = weight >= weight[..., -1:] / 2
    return np.asarray(
        np.where(weight[..., -1] > 0, (half & good).argmax(axis=-1), promise.argmax(-1))
    )


@lru_cache(maxsize=1024)
def notices(*, runs: int, epsilon: float, claimed: float, delta: float, alpha: float) -> bool:
    """Whether this many runs tell the ε at δ from the claimed one, 4 times in 5."""
    return is_noticed(
        lambda right, wrong: epsilon_lower(right, wrong, runs, delta=delta, alpha=alpha) > claimed,
        runs=runs,
        epsilon=epsilon,
        delta=delta,
    )


@lru_cache(maxsize=256)
def detectable(*, runs: int, claimed: float, delta: float, alpha: float) -> float:
    """The ε at δ that this many runs tell from the claimed one, 4 times in 5.

    For the mechanisms of `answer_rates`.
    """
    terms = {"claimed": claimed, "delta": delta, "alpha": alpha}
    return smallest_noticed(lambda epsilon: notices(runs=runs, epsilon=epsilon, **terms), claimed)


def smallest_epsilon(
    rejects: Callable[[Array, Array], NDArray[np.bool_]],
    *,
    runs: int,
    claimed: float,
    delta: float,
) -> float:
    """The ε at δ at which a test of right and wrong answers rejects, 4 times in 5.

    For the mechanisms of `answer_rates` and the best rule that treats both worlds alike.

    Args:
        rejects: right and wrong answers -> whether the claim is rejected.
        runs: all runs.
        claimed: where the search begins.
        delta: in [0, 1).
    """
    return smallest_noticed(
        lambda epsilon: is_noticed(rejects, runs=runs, epsilon=epsilon, delta=delta), claimed
    )


def is_noticed(
    rejects: Callable[[Array, Array], NDArray[np.bool_]], *, runs: int, epsilon: float, delta: float
) -> bool:
    """Whether the test of `smallest_epsilon` rejects often enough at this ε."""
    each = math.sqrt(SOUGHT if delta > 0 else SOUGHT_OF_LAPLACE)
    of_right, of_wrong = answer_rates(epsilon, delta)
    right, wrong = quantile(1 - each, runs, of_right), quantile(each, runs, of_wrong)
    return bool(rejects(right, np.minimum(wrong, runs - right)).any())


def _answers(found: Cuts) -> tuple[Array, Array]:
    """Right and wrong answers for every pair (lower, upper) of cuts; shape (..., cuts, cuts)."""
    wrong_out, right_out = found.below_in, found.place - found.below_in
    right_in = found.n_in - found.below_in
    wrong_in = found.runs - found.place - right_in
    return (
        np.asarray(right_out[..., :, None] + right_in[..., None, :], float),
        np.asarray(wrong_out[..., :, None] + wrong_in[..., None, :], float),
    )


def _promise(
    right: Array, wrong: Array, runs: int, counted: int, delta: float, alpha: float, curve: bool
) -> Array:
    """About the bound from `counted` runs with these rates; half a wrong answer is added."""
    from scipy.special import ndtri

    wrong, share = wrong + 0.5, runs / counted

    def errors(chance: float) -> float:
        """How many standard errors of these rates the later bound will be below them."""
        return math.hypot(_CAUTION, float(ndtri(chance)) * math.sqrt(share))

    if curve:
        whole = 2 * ndtri(np.clip(_wilson(right, runs, errors(alpha)), 1e-300, 1 - 1e-16))
        z = errors(alpha / 2)
        low, high = _wilson(right, runs, z), 1 - _wilson(runs - wrong, runs, z)
        part = ndtri(np.maximum(low, 1e-300)) - ndtri(np.clip(high, 1e-300, 1 - 1e-16))
        return np.asarray(np.where(right + wrong >= runs, whole, part))
    failures, rest = allowed_failures(counted, delta, alpha)
    right = np.maximum(right - failures * share, 0.0)
    p = np.clip(_wilson(right, right + wrong, errors(rest)), 1e-300, 1 - 1e-16)
    return np.asarray(np.log(p) - np.log1p(-p))


def _wilson(successes: Array, trials: Array | float, z: float) -> Array:
    """Wilson's lower limit: near the exact one, and quick enough for a search."""
    successes = np.maximum(successes, 0.0)
    rest = np.maximum(trials - successes, 0.0)
    spread = z * np.sqrt(successes * rest / trials + z * z / 4)
    return np.asarray(np.maximum((successes + z * z / 2 - spread) / (trials + z * z), 0.0))
