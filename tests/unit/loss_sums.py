"""Sums of losses to ask about."""

from __future__ import annotations

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt, Estimate
from dpcalc.accounting.contour.saddle_points import Contour, SaddlePoints
from dpcalc.accounting.losses import (
    GaussianLoss,
    LaplaceLoss,
)

EPSILON, DELTA = EpsilonAt(1e-5, 1e-6), DeltaAt(2.0, 1e-6)

LAPLACE = LaplaceLoss(0.5, 0.5)


def total(*parts) -> LossSum:
    return LossSum.of(parts)


def points_of(mu: float) -> SaddlePoints:
    return SaddlePoints([(GaussianLoss(mu), 1)])


def contour(c: float) -> Contour:
    return Contour(c, 1.0, 2.0, 1.0, -5.0, c)


def estimate(c: float = 1.0, upper: float = 5.0, nodes: int = 20) -> Estimate:
    return Estimate(1e-20, points_of(1.0), contour(c), upper, nodes)
