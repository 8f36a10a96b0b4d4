"""Mechanisms for which power is stated, and how often their best adversaries are right.

Where outcomes repeat, a pure claim is held against randomised response, on which every run that is
answered says as much as the claim allows; where they do not, against the Laplace mechanism, whose
runs between the two centres say less. A claim with δ is held against the Gaussian mechanism, whose
loss is largest in outcomes that are seldom seen, unless there are few outcomes and none is rare.
"""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.gaussian import gaussian_pair

Array = NDArray[np.float64]

GAUSSIAN = "Gaussian mechanism, best adversary"
LAPLACE = "Laplace mechanism, best adversary"
RESPONSE = "randomised response"


class Outcomes(StrEnum):
    """How often the outcomes of pilot runs repeat."""

    CONTINUOUS = "more than one run in twenty came to what no other did"
    DISCRETE = "most outcomes came again"
    FEW = "every outcome came in one run of fifty or more"

    @classmethod
    def of(cls, values: NDArray[np.generic]) -> Outcomes:
        """From what each run came to, one value a run; shape (runs,)."""
        _, counts = np.unique(values, return_counts=True)
        if 20 * (counts == 1).sum() > len(values):
            return cls.CONTINUOUS
        return cls.FEW if 50 * counts.min() >= len(values) else cls.DISCRETE


def reference(delta: float, outcomes: Outcomes = Outcomes.DISCRETE) -> str:
    """The name of the mechanism behind `error_rates` and `answer_rates`."""
    if outcomes is Outcomes.FEW or (delta == 0 and outcomes is Outcomes.DISCRETE):
        return RESPONSE
    return GAUSSIAN if delta > 0 else LAPLACE


def response_in(telling: int, runs: int) -> str:
    """Its name where only some of the runs say anything."""
    return f"{RESPONSE} in {telling:,} of {runs:,} runs"


def response_rates(epsilon: float, delta: float, answered: float = 1.0) -> tuple[float, float]:
    """How often answers to randomised response are right and wrong; together they are ``answered``.

    Args:
        epsilon: its loss at δ: it is right with probability e^ε·w + δ, w that of a wrong answer.
        delta: in [0, 1).
        answered: in how many runs there is something to answer, in (0, 1]; the others say nothing.
    """
    wrong = max(answered - delta, 0.0) / (1 + math.exp(min(epsilon, 700.0)))
    return answered - wrong, wrong


def error_rates(
    epsilon: float, delta: float, outcomes: Outcomes = Outcomes.DISCRETE
) -> tuple[Array, Array]:
    """False-positive and false-negative rates of the best tests, at many thresholds.

    Args:
        epsilon: loss of the mechanism at δ.
        delta: in [0, 1).
        outcomes: which mechanism; see `reference`.
    """
    from scipy.special import ndtr

    named = reference(delta, outcomes)
    if named == LAPLACE:
        t = np.linspace(0.5, 1.0, 51)  # the rates of t below ½ are these, exchanged
        small, large = np.exp(-epsilon * t) / 2, np.exp(-epsilon * (1 - t)) / 2
        return np.concatenate([small, large]), np.concatenate([large, small])
    if named == RESPONSE:
        rate = np.array([response_rates(epsilon, delta)[1]])
        return rate, rate
    mu = float(gaussian_pair.mu_of(epsilon, delta))
    thresholds = np.linspace(-5.0, mu + 6.0, 221)
    return np.asarray(ndtr(-thresholds)), np.asarray(ndtr(thresholds - mu))


def answer_rates(epsilon: float, delta: float) -> tuple[Array, Array]:
    """How often rules that treat both worlds alike are right and wrong, by what they pass over.

    Of the Laplace mechanism at δ = 0, else of the Gaussian one.
    """
    from scipy.special import ndtr

    if delta == 0:
        margins = np.linspace(0.0, 0.5, 26)
        right = 1 - np.exp(-epsilon * (0.5 - margins)) / 2
        return right, np.exp(-epsilon * (0.5 + margins)) / 2
    half = float(gaussian_pair.mu_of(epsilon, delta)) / 2
    margins = np.linspace(0.0, 6.0, 121)
    return np.asarray(ndtr(half - margins)), np.asarray(ndtr(-half - margins))
