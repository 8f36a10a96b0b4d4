"""Right answers by a threshold that is learnt on the way: hardly a run goes to a pilot.

Statement
    Every run's world is drawn by its own fair coin, and what a run is answered depends on its score
    and on earlier runs alone. Given those, the rule for it is fixed, so that the answer is right with a
    probability of at most a, the largest accuracy that the claim leaves to any rule. So right answers
    among n runs are stochastically no more than a binomial count of n and a, and the exact limits of
    `accuracy` hold for them as for one rule that was fixed before all runs.
Proof
    By induction over the runs: let the count R of the runs before have P(R >= k) <= P(B >= k) for the
    binomial count B, and let q <= a be the chance of a right answer given the past, which may depend on
    R. Then with one run more P(R' >= k) = P(R >= k) + E[q 1{R = k-1}], at most
    (1 - a) P(R >= k) + a P(R >= k-1). That grows in both probabilities, and with B in the place of R it
    is P(B' >= k).
    No run may be passed over: how many are answered would depend on right answers so far. A place of
    `coin_game` whose kind has run out is no exception. With more scores its answer would be right with
    a chance of at most a; it counts as wrong, the number of places is settled before the coins, and the
    rules of later places depend on played places, which are a part of the past.
Source
    Derived here; the rule before the run is that of Dawid's prequential forecasts (1984).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators import accuracy
from dpcalc.auditing.estimators.reference_mechanisms import Outcomes, in_runs, reference
from dpcalc.auditing.estimators.rules import Answers
from dpcalc.auditing.evidence import Evidence
from dpcalc.auditing.sampling.observations import Observations

Array = NDArray[np.float64]

_GROWTH = 1.25  # runs until the threshold is learnt again, over the runs so far
_ENOUGH = 2**17  # runs from which a threshold is learnt; more hardly make it better
_NEAR = 0.5  # per √runs: right answers by which the simplest threshold may fall behind


@dataclass(frozen=True, slots=True)
class Threshold:
    """IN where ``sign`` times the score is above ``value``."""

    sign: int
    value: float

    def right(self, seen: Observations) -> int:
        """Right answers."""
        return int(((self.sign * seen.score > self.value) == seen.is_in).sum())


def learnt(past: Observations) -> Threshold:
    """The simplest threshold, in either direction, that is hardly worse than the best on the past.

    The median of all runs, halfway between the means of both worlds, or where most answers are right;
    the last is best by luck in part, and lies anywhere near the best place.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        middle = float(np.median(past.score))
        tried = [Threshold(1, middle), Threshold(-1, -middle), *_between_means(past)]
    tried = [threshold for threshold in tried if not math.isnan(threshold.value)]
    for sign in (1, -1):
        turned = past.with_score(sign * past.score)
        tried.append(Threshold(sign, float(accuracy.choose_threshold(turned))))
    right = [threshold.right(past) for threshold in tried]
    enough = max(right) - _NEAR * math.sqrt(past.runs)
    return next(t for t, count in zip(tried, right, strict=True) if count >= enough)


def answers(seen: Observations, first: int) -> Answers:
    """Right and wrong answers in all runs but the first ones.

    Args:
        seen: runs in the order in which they were made, or in one that was drawn at random.
        first: runs of the beginning that only teach, 2 or above.
    """
    done, right = first, 0
    while done < seen.runs:
        grown = max(done + 1, int(_GROWTH * done))
        stop = seen.runs if done >= _ENOUGH else min(grown, seen.runs)
        right += learnt(seen.between(0, done)).right(seen.between(done, stop))
        done = stop
    runs = seen.runs - first
    return Answers(right=np.asarray(right), wrong=np.asarray(runs - right), runs=runs)


def _between_means(past: Observations) -> list[Threshold]:
    """Halfway between the means of both worlds, in the direction in which they lie apart."""
    known = np.isfinite(past.score)
    kinds = [past.score[known & (past.is_in == world)] for world in (True, False)]
    if not all(len(kind) for kind in kinds):
        return []
    inside, outside = (float(kind.mean()) for kind in kinds)
    sign = 1 if inside >= outside else -1
    return [Threshold(sign, sign * (inside / 2 + outside / 2))]


def evidence(
    counted: Answers,
    claim: Claim,
    *,
    alpha: float,
    outcomes: Outcomes = Outcomes.DISCRETE,
    share: float = 1.0,
) -> Evidence:
    """The bound on μ, and what the same answers say of ε for any mechanism.

    Args:
        counted: `answers` in a game with fair coins.
        claim: what is tested, a Gaussian curve.
        alpha: error probability.
        outcomes: how often they repeat; see `reference_mechanisms`.
        share: of the runs in which the mechanism answers; see `answering`.
    """
    found = accuracy.from_answers(counted, None, claim, alpha=alpha, curve=True)
    named = reference(claim.delta, outcomes, curve=True, share=share)
    telling = round(share * counted.runs)
    terms: dict[str, Any] = {"runs": counted.runs, "claim": claim, "alpha": alpha}
    if share < 1:
        terms |= {"telling": telling, "outcomes": outcomes}
    return replace(
        found,
        method="learnt-threshold",
        detectable=accuracy.noticed(**terms, quantity=Quantity.MU, known=True),
        reference=in_runs(named, telling, counted.runs),
        assumes=("fair coins", "every run was answered by what earlier runs had taught"),
    )
