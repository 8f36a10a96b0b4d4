"""What is noticed, under a Gaussian curve, of a mechanism that answers in a share of the runs.

Statement
    In a share t of the runs it answers as the Gaussian mechanism of that μ does, or as randomised
    response, which is right with probability q; in the others it says nothing. The smallest curve
    that holds for the first is that of μ, since t·δ_μ(ε) exceeds every smaller curve's δ for ε large
    enough; that of the second has μ = Φ⁻¹(tq) - Φ⁻¹(t(1 - q)), by the corner of its trade-off curve.
Source
    Derived here.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.estimators.abstention import joint_lower, smallest_response
from dpcalc.auditing.estimators.binomial import (
    FEWEST_TAUGHT,
    SOUGHT,
    UNTAUGHT_CURVE,
    quantile,
    smallest_noticed,
    taught,
)
from dpcalc.auditing.estimators.reference_mechanisms import RESPONSE, Outcomes, reference

Array = NDArray[np.float64]


@lru_cache(maxsize=256)
def detectable(
    *,
    runs: int,
    telling: int,
    claimed: float,
    alpha: float,
    outcomes: Outcomes,
    learnt: bool,
) -> float:
    """The μ that a rule which passes over the other runs tells from the claimed one, 4 times in 5.

    Args:
        runs: counted.
        telling: in how many of them the mechanism answers; fewer than all.
        claimed: μ.
        alpha: error probability.
        outcomes: how often they repeat where it answers; see `reference_mechanisms`.
        learnt: whether the score was learnt; see `abstention.smallest_response`.
    """

    def rejects(right: Array, wrong: Array) -> NDArray[np.bool_]:
        return joint_lower(right, wrong, runs, delta=0.0, alpha=alpha)[1] > claimed

    share = telling / runs
    if _responds(outcomes, share):
        epsilon = smallest_response(
            rejects, runs=runs, telling=telling, claimed=0.0, delta=0.0, learnt=learnt
        )
        return mu_of_response(1 / (1 + math.exp(-epsilon)), share)
    if telling < FEWEST_TAUGHT:
        return math.inf
    each, found = math.sqrt(SOUGHT), share * taught(telling, UNTAUGHT_CURVE)

    def notices(mu: float) -> bool:
        from scipy.special import ndtr

        margins = np.linspace(0.0, 6.0, 121)
        right = quantile(1 - each, runs, found * ndtr(mu / 2 - margins))
        wrong = quantile(each, runs, found * ndtr(-mu / 2 - margins))
        return bool(rejects(right, np.minimum(wrong, runs - right)).any())

    return smallest_noticed(notices, claimed)


def mu_of_answers(accuracy: float, share: float, outcomes: Outcomes) -> float:
    """The μ at which answers to all runs are right so often, those that say nothing by a coin."""
    from scipy.special import ndtri

    right = 0.5 + (accuracy - 0.5) / share
    if right >= 1:
        return math.inf
    if _responds(outcomes, share):
        return mu_of_response(right, share)
    return 2 * float(ndtri(right)) if right > 0.5 else 0.0


def mu_of_response(right: float, share: float) -> float:
    """The smallest Gaussian curve of randomised response that is right so often where it answers."""
    from scipy.special import ndtri

    return float(ndtri(share * right) - ndtri(share * (1 - right))) if right < 1 else math.inf


def _responds(outcomes: Outcomes, share: float) -> bool:
    return reference(0.0, outcomes, curve=True, share=share) == RESPONSE
