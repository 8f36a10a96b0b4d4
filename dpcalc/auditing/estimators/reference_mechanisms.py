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

_ALL = 0.999  # δ of the runs that answer, at most


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


def reference(
    delta: float,
    outcomes: Outcomes = Outcomes.DISCRETE,
    *,
    curve: bool = False,
    share: float = 1.0,
) -> str:
    """The name of the mechanism behind `error_rates` and `answer_rates`.

    Args:
        delta: in [0, 1).
        outcomes: how often they repeat, of the runs in which it answers.
        curve: whether a Gaussian curve is claimed: then it is the Gaussian mechanism, unless it
            answers in a share of the runs and what it answers there repeats.
        share: of the runs in which it answers.
    """
    if curve:
        return GAUSSIAN if share == 1 or outcomes is Outcomes.CONTINUOUS else RESPONSE
    if outcomes is Outcomes.FEW or (delta == 0 and outcomes is Outcomes.DISCRETE):
        return RESPONSE
    return GAUSSIAN if delta > 0 else LAPLACE


def in_runs(name: str, telling: int, runs: int) -> str:
    """The name of a mechanism that answers in so many of the runs; in the others it says nothing."""
    what, comma, adversary = name.partition(",")
    where = f"{telling:,} of {runs:,} runs" if telling < runs else "every run"
    return f"{what} in {where}{comma}{adversary}"


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
    epsilon: float, delta: float, outcomes: Outcomes = Outcomes.DISCRETE, share: float = 1.0
) -> tuple[Array, Array]:
    """False-positive and false-negative rates of the best tests, at many thresholds.

    Args:
        epsilon: loss of the mechanism at δ.
        delta: in [0, 1).
        outcomes: which mechanism; see `reference`.
        share: of the runs in which it answers, in (0, 1]; IN is never said in the others.
    """
    if share < 1:
        false_positive, missed = error_rates(epsilon, min(delta / share, _ALL), outcomes)
        return share * false_positive, 1 - share * (1 - missed)
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


def answer_rates(epsilon: float, delta: float, share: float = 1.0) -> tuple[Array, Array]:
    """How often rules that treat both worlds alike are right and wrong, by what they pass over.

    Of the Laplace mechanism at δ = 0, else of the Gaussian one, in a share of the runs.
    """
    if share < 1:
        right, wrong = answer_rates(epsilon, min(delta / share, _ALL))
        return share * right, share * wrong
    from scipy.special import ndtr

    if delta == 0:
        margins = np.linspace(0.0, 0.5, 26)
        right = 1 - np.exp(-epsilon * (0.5 - margins)) / 2
        return right, np.exp(-epsilon * (0.5 + margins)) / 2
    half = float(gaussian_pair.mu_of(epsilon, delta)) / 2
    margins = np.linspace(0.0, 6.0, 121)
    return np.asarray(ndtr(half - margins)), np.asarray(ndtr(-half - margins))
