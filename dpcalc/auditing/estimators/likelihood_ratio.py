"""E3, two samples: the log-likelihood ratio as a calibrated score, valid even if it is wrong.

Statement
    For every ε test P(A) - e^ε·Q(A) <= δ on A = {score > ε}, with exact limits of both
    probabilities at α/2 each. Between two neighbouring scores the counts stand still and the test
    accepts from ``e = ln((P_low - δ)/Q_up)`` on, so the smallest accepted ε is found exactly, with
    no held-out runs: the thresholds are tied to ε before any run is made.
Source
    Derived here from Clopper and Pearson 1934.
Assumes
    Independent runs. Nothing about the mechanism; a wrong score only weakens the bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators.binomial import lower_limit, upper_limit
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.auditing.sampling.observations import Observations

Array = NDArray[np.float64]


def epsilon_lower(observations: Observations, *, delta: float, alpha: float) -> Array:
    """The lower bound of ε at δ for P = IN against Q = OUT; one per repetition."""
    checks.delta(delta)
    order = np.argsort(observations.score, axis=-1)
    score = np.take_along_axis(observations.score, order, axis=-1)
    is_in = np.take_along_axis(observations.is_in, order, axis=-1)
    n_in = is_in.sum(axis=-1)[..., None]
    n_out = observations.runs - n_in
    # Interval k is [k-th score, next score): k scores are not above it; interval 0 starts at 0.
    edge = np.zeros((*score.shape[:-1], 1))
    starts = np.concatenate([edge, np.maximum(score, 0.0)], axis=-1)
    ends = np.concatenate([np.maximum(score, 0.0), edge + np.inf], axis=-1)
    above_in = n_in - np.concatenate([edge, np.cumsum(is_in, axis=-1)], axis=-1)
    above_out = n_out - np.concatenate([edge, np.cumsum(~is_in, axis=-1)], axis=-1)
    p = lower_limit(above_in, np.maximum(n_in, 1), alpha / 2)
    q = upper_limit(above_out, np.maximum(n_out, 1), alpha / 2)
    with np.errstate(divide="ignore"):
        accepts_from = np.log(np.maximum(p - delta, 0.0) / q)
    accepted = (accepts_from < ends) & (starts < ends)
    smallest = np.where(accepted, np.maximum(starts, accepts_from), np.inf)
    return np.asarray(np.maximum(smallest.min(axis=-1), 0.0))


def evidence(
    observations: Observations, claim: Claim, *, alpha: float
) -> tuple[Evidence, Evidence]:
    """The bound in both directions, each at half of ``alpha``."""
    return tuple(  # type: ignore[return-value] # two directions
        Evidence(
            method="likelihood-ratio",
            quantity=Quantity.EPSILON,
            lower=float(epsilon_lower(seen, delta=claim.delta, alpha=alpha / 2)),
            alpha=alpha / 2,
            delta=claim.delta,
            access=AdversaryAccess.RUNS,
            runs=seen.runs,
            direction=direction,
        )
        for direction, seen in (
            ("in against out", observations),
            ("out against in", observations.swapped()),
        )
    )
