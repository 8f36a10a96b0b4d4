"""Bets against a whole trade-off curve, by rules that are chosen again from all earlier runs.

Statement
    Every run's world is drawn by a fair coin. Let d be the privacy profile that is claimed and A, B
    disjoint sets of outcomes, answered IN and OUT; with e >= 0 let X be 1 for a right answer, -exp(e)
    for a wrong one and 0 for none. If t of the two sets are in use,
    ``E[X] = (P(A) - exp(e)·Q(A))/2 + (Q(B) - exp(e)·P(B))/2 <= t·d(e)/2``,
    so ``1 + b·(X - t·d(e)/2)`` has expectation at most 1 for every b >= 0, and is not negative while
    ``b·(exp(e) + t·d(e)/2) <= 1``. The product over runs, with A, B, e and b chosen before each run
    from those before it, is then an e-process: it ever reaches 1/α with probability at most α
    (Ville). So does the mean of such products over stakes fixed in advance.
Bound
    Every factor falls in d(e). Let h be the profile of the mechanism itself, and d_θ profiles that
    rise with θ: Gaussian ones with μ, those of (ε, δ) with ε. If h <= d_θ everywhere and the wealth
    under d_θ reaches 1/α at some moment, so does the wealth under h. Hence, but for one event of
    probability α for all families together, every θ that is ever rejected is too small for the
    mechanism. A stake at which a factor could become negative counts as lost for that θ.
Source
    Betting: Waudby-Smith and Ramdas 2024. Sequential audits: González, Dulce-Rubio, Ramdas and Ribero
    2025, by kernels and for one line of the curve; Kutta, Dunsche, Wei and Zikas 2026 for the curve, by
    a Gaussian approximation. The bets on all lines with rules learnt on the way are derived here.
Assumes
    Every run's world drawn by its own fair coin. Nothing about the mechanism.
Rounding
    Profiles are good to 1e-15, log-wealth of 10⁶ runs to 1e-8; it must exceed -ln α by 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators import partly
from dpcalc.auditing.estimators.bets import Bet, Settled
from dpcalc.auditing.estimators.binomial import (
    SOUGHT,
    SOUGHT_OF_LAPLACE,
    quantile,
    smallest_noticed,
)
from dpcalc.auditing.estimators.eprocess import STAKES
from dpcalc.auditing.estimators.reference_mechanisms import (
    LAPLACE,
    RESPONSE,
    Outcomes,
    answer_rates,
    reference,
    response_rates,
)
from dpcalc.auditing.estimators.rules import Rule, cuts, tail_ranks
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.sampling.observations import Observations

Array = NDArray[np.float64]
Profile = Callable[[ArrayLike], Array]
"""e >= 0 -> δ."""

SLOPES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""The e at which bets are made, beside the claimed ε."""

MOST = 60.0
"""The largest μ or ε that is ever reported."""

_MARGIN = 1e-6
_SPENT_ON_TAILS = 0.7  # of all runs, as good as if the best rule for rare answers had been known
_UNSEEN = 0.5  # wrong answers added to those seen, since the best of many rules looks too good


def gaussian_profile(mu: float) -> Profile:
    """The profile of μ-GDP."""
    return lambda e: gaussian_pair.delta_of(mu, e) if mu > 0 else np.zeros(np.shape(e))


def point_profile(epsilon: float, delta: float) -> Profile:
    """The profile of (ε, δ)-DP: δ from ε on, and 1 - (1 - δ)(1 + exp(e))/(1 + exp(ε)) below it."""
    whole = math.log1p(math.exp(min(epsilon, 700.0)))
    return lambda e: np.maximum(
        delta, 1 - (1 - delta) * np.exp(np.logaddexp(0.0, np.asarray(e, float)) - whole)
    )


def claimed_profile(claim: Claim) -> Profile:
    """The profile that bets are made against: the Gaussian curve, or the claimed (ε, δ)."""
    if claim.is_curve:
        return gaussian_profile(claim.bound(Quantity.MU))
    return point_profile(claim.epsilon, claim.delta)


def slopes(claim: Claim) -> Array:
    """The e at which this claim may be contradicted; beyond a claimed ε none is any better."""
    if claim.is_curve:
        return np.array(SLOPES)
    most = min(claim.epsilon, MOST)
    return np.array([*(e for e in SLOPES if e < most), most])


def chosen_bet(earlier: Observations, at: Array, allowed: Array) -> Bet:
    """The bet whose best stake would have grown most on earlier runs, half a wrong answer added.

    Any choice is valid; it only affects strength.

    Args:
        earlier: runs before those that the bet is for.
        at: the e to choose from.
        allowed: d(e) under the claim at each of them.
    """
    middle = float(np.sort(earlier.score)[earlier.runs // 2])
    blank = Bet(
        rule=Rule.at(0.0),
        says_in=True,
        says_out=True,
        turned=False,
        centre=None,
        slope=0.0,
        allowed=0.0,
    )
    views = [blank, replace(blank, turned=True)]
    if math.isfinite(middle):
        views += [replace(view, centre=middle) for view in views]
    found = [pair for view in views for pair in _bets(earlier, view, at, allowed)]
    return max(found, key=lambda pair: pair[0])[1]


def _bets(earlier: Observations, view: Bet, at: Array, allowed: Array) -> list[tuple[float, Bet]]:
    """For every e the best sets A alone, B alone and both, with their growth."""
    seen = earlier.with_score(view.view(earlier.score))
    found = cuts(seen, tail_ranks(seen.runs))
    wrong_out, n_in = found.below_in, int(found.n_in[0])
    right_out, right_in = found.place - wrong_out, n_in - wrong_out
    wrong_in = seen.runs - found.place - right_in
    weight = np.exp(at)[:, None]
    above = right_in - weight * (wrong_in + _UNSEEN * (right_in + wrong_in > 0))
    below = right_out - weight * (wrong_out + _UNSEEN * (found.place > 0))
    upper, lower, whole = above.argmax(-1), below.argmax(-1), (above + below).argmax(-1)
    crossed = lower > upper
    both = np.where(crossed, whole, lower), np.where(crossed, whole, upper)
    bets = []
    for (low, high), says_in, says_out in (
        (both, True, True),
        ((lower, upper), True, False),
        ((lower, upper), False, True),
    ):
        right = says_out * right_out[low] + says_in * right_in[high]
        wrong = says_out * wrong_out[low] + says_in * wrong_in[high] + _UNSEEN
        scale = (says_in + says_out) / 2 * allowed
        growth = _log_growth(right, wrong, seen.runs + _UNSEEN, at, scale)
        k = int(growth.argmax())
        bet = replace(
            view,
            rule=Rule(float(found.threshold[low[k]]), float(found.threshold[high[k]])),
            says_in=says_in,
            says_out=says_out,
            slope=float(at[k]),
            allowed=float(scale[k]),
        )
        bets.append((float(growth[k]), bet))
    return bets


def _log_growth(right: Array, wrong: Array, runs: float, at: Array, allowed: Array) -> Array:
    """Log of what the best stake makes of these answers."""
    r, w, weight, d = (np.asarray(v, float)[:, None] for v in (right, wrong, np.exp(at), allowed))
    b = STAKES / (weight + d)
    gain = r * np.log1p(b * (1 - d)) + w * np.log1p(-b * (weight + d))
    return np.asarray((gain + (runs - r - w) * np.log1p(-b * d)).max(-1))


def settled(bet: Bet, seen: Observations) -> Settled:
    """The bet's answers in runs that did not choose it."""
    score = bet.view(seen.score)
    says_in = bet.says_in & (score > bet.rule.upper)
    says_out = bet.says_out & (score <= bet.rule.lower)
    right = (says_in & seen.is_in) | (says_out & ~seen.is_in)
    wrong = (says_in & ~seen.is_in) | (says_out & seen.is_in)
    return Settled(bet=bet, right=int(right.sum()), wrong=int(wrong.sum()), runs=seen.runs)


def log_wealth(bets: Sequence[Settled], profile: Profile) -> float:
    """Log of the e-process under a profile; -∞ where every stake is lost."""
    if not bets:
        return 0.0
    e, t, d0, r, w, n = np.array(
        [[s.bet.slope, s.bet.sets, s.bet.allowed, s.right, s.wrong, s.runs] for s in bets], float
    ).T[..., None]
    weight, d = np.exp(e), t / 2 * profile(e)
    b = STAKES / (weight + d0)
    left = 1 - b * (weight + d)
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = r * np.log1p(b * (1 - d)) + np.where(w > 0, w * np.log(left), 0.0)
        gain = gain + (n - r - w) * np.log1p(-b * d)
    each = np.where((left > 0).all(0), gain.sum(0), -np.inf)
    return float(np.logaddexp.reduce(each) - math.log(len(STAKES)))


def largest_rejected(
    bets: Sequence[Settled], family: Callable[[float], Profile], *, alpha: float, least: float = 0.0
) -> float:
    """The largest θ whose profile is rejected at this moment, or ``least``; wealth falls in θ."""
    wanted = -math.log(alpha) + _MARGIN
    if log_wealth(bets, family(least)) < wanted:
        return least
    low, high = least, MOST
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if log_wealth(bets, family(middle)) >= wanted:
            low = middle
        else:
            high = middle
    return low


def detectable(
    *,
    runs: int,
    claim: Claim,
    alpha: float,
    outcomes: Outcomes = Outcomes.DISCRETE,
    share: float = 1.0,
) -> float:
    """The value told from the claimed one within this many runs, 4 times in 5.

    For the mechanisms of `reference_mechanisms` and rules that treat both worlds alike; where the
    search for the rule costs power, the best rule is asked for more.

    Args:
        runs: counted.
        claim: what is tested.
        alpha: error probability.
        outcomes: how often they repeat; see `reference_mechanisms`.
        share: of the runs in which the mechanism answers; see `answering`.
    """
    from scipy.special import ndtr

    at = slopes(claim)
    allowed = claimed_profile(claim)(at)
    named = reference(claim.delta, outcomes, curve=claim.is_curve, share=share)
    each = math.sqrt(SOUGHT_OF_LAPLACE if named == LAPLACE else SOUGHT)
    tails = claim.delta > 0 and not claim.is_curve
    runs = round(runs * (_SPENT_ON_TAILS if tails else 1))
    quantity = Quantity.MU if claim.is_curve else Quantity.EPSILON

    def notices(value: float) -> bool:
        if named == RESPONSE:
            terms = value, 0.0 if claim.is_curve else claim.delta, share
            right, wrong = (np.array([rate]) for rate in response_rates(*terms))
        elif claim.is_curve:
            margins = np.linspace(0.0, 6.0, 61)
            right, wrong = share * ndtr(value / 2 - margins), share * ndtr(-value / 2 - margins)
        else:
            right, wrong = answer_rates(value, claim.delta, share)
        r, w = quantile(1 - each, runs, right), quantile(each, runs, wrong)
        grown = _grown(r[:, None], np.minimum(w, runs - r)[:, None], runs, at, allowed)
        return bool((grown >= -math.log(alpha)).any())

    if claim.is_curve and named == RESPONSE:
        epsilon = smallest_noticed(notices, 0.0, MOST)
        return partly.mu_of_response(1 / (1 + math.exp(-epsilon)), share)
    return smallest_noticed(notices, claim.bound(quantity), MOST)


def _grown(right: Array, wrong: Array, runs: int, at: Array, allowed: Array) -> Array:
    """Log-wealth of answers to all runs at every e; shape (..., slopes)."""
    r, w = right[..., None], wrong[..., None]
    weight, d = np.exp(at)[:, None], allowed[:, None]
    b = STAKES / (weight + d)
    gain = r * np.log1p(b * (1 - d)) + w * np.log1p(-b * (weight + d))
    gain = gain + (runs - r - w) * np.log1p(-b * d)
    return np.asarray(np.logaddexp.reduce(gain, axis=-1) - math.log(len(STAKES)))
