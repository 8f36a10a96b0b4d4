"""Laws of the privacy loss; see `dpcalc.accounting.losses.distribution`."""

from __future__ import annotations

from dpcalc.accounting.losses.discrete import AtomicLaw, certain_loss, revealing
from dpcalc.accounting.losses.distribution import (
    ELEMENTARY_ERROR,
    UNIT_ROUNDOFF,
    Complexes,
    LossLaw,
    Reals,
    Tilted,
)
from dpcalc.accounting.losses.gaussian import GaussianLaw, GaussianMixtureLaw
from dpcalc.accounting.losses.laplace import LaplaceLaw
from dpcalc.accounting.losses.randomised_response import TwoPointLaw

__all__ = [
    "ELEMENTARY_ERROR",
    "UNIT_ROUNDOFF",
    "AtomicLaw",
    "Complexes",
    "GaussianLaw",
    "GaussianMixtureLaw",
    "LaplaceLaw",
    "LossLaw",
    "Reals",
    "Tilted",
    "TwoPointLaw",
    "certain_loss",
    "revealing",
]
