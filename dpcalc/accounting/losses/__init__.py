"""Laws of the privacy loss; see `dpcalc.accounting.losses.distribution`."""

from __future__ import annotations

from dpcalc.accounting.losses.discrete import DiscreteLoss, constant_loss, disclosure
from dpcalc.accounting.losses.distribution import (
    ELEMENTARY_ERROR,
    UNIT_ROUNDOFF,
    Complexes,
    LossDistribution,
    Reals,
    TiltedDistribution,
)
from dpcalc.accounting.losses.gaussian import GaussianLoss, GaussianMixtureLoss
from dpcalc.accounting.losses.laplace import LaplaceLoss
from dpcalc.accounting.losses.randomised_response import RandomisedResponseLoss

__all__ = [
    "ELEMENTARY_ERROR",
    "UNIT_ROUNDOFF",
    "Complexes",
    "DiscreteLoss",
    "GaussianLoss",
    "GaussianMixtureLoss",
    "LaplaceLoss",
    "LossDistribution",
    "RandomisedResponseLoss",
    "Reals",
    "TiltedDistribution",
    "constant_loss",
    "disclosure",
]
