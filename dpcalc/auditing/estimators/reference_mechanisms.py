"""Mechanisms for which power is stated, and how often their best adversaries are right.

Where outcomes repeat, a pure claim is held against randomised response, on which every run says as
much as the claim allows; where they do not, against the Laplace mechanism, whose runs between the two
centres say less. A claim with δ is held against the Gaussian mechanism.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcalc.auditing.gaussian import gaussian_pair

Array = NDArray[np.float64]

GAUSSIAN = "Gaussian mechanism, best adversary"
LAPLACE = "Laplace mechanism, best adversary"
RESPONSE = "randomised response"


def reference(delta: float, *, continuous: bool = False) -> str:
    """The name of the mechanism behind `error_rates` and `answer_rates`."""
    if delta > 0:
        return GAUSSIAN
    return LAPLACE if continuous else RESPONSE


def error_rates(epsilon: float, delta: float, *, continuous: bool = False) -> tuple[Array, Array]:
    """False-positive and false-negative rates of the best tests, at many thresholds.

    Args:
        epsilon: loss of the mechanism at δ.
        delta: in [0, 1).
        continuous: which mechanism at δ = 0.
    """
    from scipy.special import ndtr

    if delta == 0 and continuous:
        t = np.linspace(0.5, 1.0, 51)  # the rates of t below ½ are these, exchanged
        small, large = np.exp(-epsilon * t) / 2, np.exp(-epsilon * (1 - t)) / 2
        return np.concatenate([small, large]), np.concatenate([large, small])
    if delta == 0:
        rate = 1 / (1 + np.exp(np.array([epsilon])))
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
