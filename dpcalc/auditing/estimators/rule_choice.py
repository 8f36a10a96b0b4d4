"""Which rule for right and wrong answers promises most, on runs that are not counted.

Any choice is valid; it only affects strength. Source: derived here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.estimators.abstention import allowed_failures
from dpcalc.auditing.estimators.rules import Cuts, Rule, cuts, tail_ranks
from dpcalc.auditing.sampling.observations import Observations

Array = NDArray[np.float64]

_CAUTION = 1.6  # standard errors of a pilot's rates: the best of many rules looks better than it is
_HARDLY_LESS = 0.03  # by which share a rule may promise less than the best and answer more
_CLEARLY_MORE = 0.15  # by which share a rule that passes runs over must promise more


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


@dataclass(frozen=True, slots=True, eq=False)
class Promise:
    """What the best rule on a pilot promises of runs that are not counted.

    Attributes:
        bound: about the lower bound that runs of the same kind would give.
        influence: by how much each pilot run moves the loss that the rule shows on the pilot; shape
            (runs,).
        curve: whether it is one of μ.
    """

    bound: float
    influence: Array
    curve: bool = False

    def below(self, other: Promise) -> float:
        """By how many standard errors this bound is below another one from the same runs.

        Of two rules that give most runs the same answer, little of the difference is luck.
        """
        missing = other.bound - self.bound
        spread = float(np.linalg.norm(self.influence - other.influence))
        return (
            missing / spread if spread > 0 else math.copysign(math.inf, missing) if missing else 0
        )


def promised(
    pilot: Observations, *, delta: float, alpha: float, curve: bool, counted: int
) -> Promise:
    """What scores promise; arguments as in `choose_rule`, for a single repetition."""
    from scipy.special import ndtri

    rule, bound = chosen_rule(pilot, delta=delta, alpha=alpha, curve=curve, counted=counted)
    right, wrong = (np.asarray(part, float) for part in rule.marks(pilot))
    each = np.array([right.sum() + 0.5, wrong.sum() + 0.5])
    if curve:  # of Φ⁻¹(c) - Φ⁻¹(w)
        each = pilot.runs * np.exp(-(ndtri(each / (pilot.runs + 1)) ** 2) / 2) / math.sqrt(math.tau)
    influence = right / each[0] - wrong / each[1]
    return Promise(float(bound), influence - influence.mean(), curve)


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
    """Of the thresholds whose right answers are within two standard deviations of the most.

    Their number is flat about the best threshold, so that the largest lies far from it by luck alone.
    """
    right = np.asarray(found.place - 2 * found.below_in, float)
    good = right >= right.max(axis=-1, keepdims=True) - math.sqrt(found.runs)
    weight = np.cumsum(np.where(good, np.diff(found.place, axis=-1, append=found.runs), 0), axis=-1)
    half = weight >= weight[..., -1:] / 2
    return np.asarray(
        np.where(weight[..., -1] > 0, (half & good).argmax(axis=-1), promise.argmax(-1))
    )


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
