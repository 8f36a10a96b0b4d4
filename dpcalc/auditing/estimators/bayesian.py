"""A credible bound from both error rates; an estimate, never the reason for a verdict.

Statement
    With Jeffreys priors FPR ~ Beta(½+FP, ½+TN) and FNR ~ Beta(½+FN, ½+TP), independent. The
    estimate is the ε at which the region of error rates allowed under (ε, δ)-DP has posterior mass
    α: Mass(ε) = ∫ f_FPR(x)·[F_FNR(u(x)) - F_FNR(l(x))] dx,
    l = max(1-δ-e^ε·x, e^{-ε}(1-δ-x)), u = min(e^ε(1-x)+δ, 1-e^{-ε}(x-δ)).
Source
    Zanella-Béguelin et al. 2023.
Limits
    It is no confidence bound: for randomised response, whose error rates sit at the region's
    corner, it exceeds the truth in one of nine repetitions at a nominal one of twenty.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.auditing.sampling.observations import Counts

_NODES = 400


@cache
def _quadrature() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2


@lru_cache(maxsize=8)
def _rates(false_positives: int, true_negatives: int) -> NDArray[np.float64]:
    """Posterior quantiles of the false-positive rate at the nodes."""
    from scipy.special import betaincinv

    return np.asarray(betaincinv(0.5 + false_positives, 0.5 + true_negatives, _quadrature()[0]))


def epsilon_estimate(counts: Counts, *, delta: float, alpha: float) -> float:
    """The ε whose region has posterior mass α; 0 if that of ε = 0 already has more.

    Args:
        counts: of one experiment.
        delta: in [0, 1).
        alpha: posterior mass of the region, in (0, 1).
    """
    checks.delta(delta)
    low, high = 0.0, 1.0
    if _mass(counts, low, delta) >= alpha:
        return 0.0
    while _mass(counts, high, delta) < alpha:
        low, high = high, 2 * high
        if high > 500:
            return high
    for _ in range(60):
        middle = (low + high) / 2
        if _mass(counts, middle, delta) < alpha:
            low = middle
        else:
            high = middle
    return low


def evidence(counts: Counts, claim: Claim, *, alpha: float) -> Evidence:
    """The estimate, marked as report-only."""
    return Evidence(
        method="bayesian",
        quantity=Quantity.EPSILON,
        lower=epsilon_estimate(counts, delta=claim.delta, alpha=alpha),
        alpha=alpha,
        delta=claim.delta,
        access=AdversaryAccess.RUNS,
        runs=int(counts.runs),
        gates=False,
        counted=counts.record(),
        assumes=("a prior", "credible, not a confidence bound"),
    )


def _mass(counts: Counts, epsilon: float, delta: float) -> float:
    """Posterior mass of the error rates allowed under (ε, δ), over quantiles of the FPR."""
    from scipy.special import betainc

    _, weights = _quadrature()
    x = _rates(int(counts.false_positives), int(counts.true_negatives))
    grown = math.exp(epsilon)
    lower = np.maximum(1 - delta - grown * x, (1 - delta - x) / grown)
    upper = np.minimum(grown * (1 - x) + delta, 1 - (x - delta) / grown)
    shape = 0.5 + float(counts.false_negatives), 0.5 + float(counts.true_positives)
    inside = betainc(*shape, np.clip(upper, 0, 1)) - betainc(*shape, np.clip(lower, 0, 1))
    return float(np.sum(weights * np.maximum(inside, 0.0)))
