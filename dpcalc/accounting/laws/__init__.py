"""Laws of the privacy loss; see `dpcalc.accounting.laws.base`."""

from __future__ import annotations

from dpcalc.accounting.laws.atoms import AtomicLaw, certain_loss, revealing
from dpcalc.accounting.laws.base import (
    ELEMENTARY_ERROR,
    UNIT_ROUNDOFF,
    Complexes,
    LossLaw,
    Reals,
    Tilted,
)
from dpcalc.accounting.laws.gaussian import GaussianLaw, GaussianMixtureLaw
from dpcalc.accounting.laws.laplace import LaplaceLaw
from dpcalc.accounting.laws.two_point import TwoPointLaw

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
