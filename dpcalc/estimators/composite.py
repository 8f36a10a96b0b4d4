"""Classification and regression by gradient-perturbed ADMM in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcalc.estimators.base import PrivateClassifier, PrivateLinearModel, PrivateRegressor

if TYPE_CHECKING:
    from dpcalc.training.method import Method


@dataclass(eq=False, repr=False, kw_only=True)
class _GradientPerturbedADMM(PrivateLinearModel):
    """What both have in common."""

    rounds: int = 100
    l1: float = 1e-4
    l2: float = 1e-3
    penalty: float = 0.1
    step_size: float = 4.0
    accelerated: bool = False

    def _of_loss(self, loss: str) -> Method:
        key = "dp-acc-admm" if self.accelerated else "dp-admm"
        return self._made(key, "rounds l1 l2 penalty step_size", loss=loss)


@dataclass(eq=False, repr=False, kw_only=True)
class ADMMClassifier(PrivateClassifier, _GradientPerturbedADMM):
    """Logistic regression with an elastic net by DP-ADMM (shang2021).

    Args:
        epsilon, delta, row_bound, fit_intercept, random_state: see `PrivateLinearModel`; delta is
            above 0.
        rounds: noisy gradients.
        l1: weight of |y|₁.
        l2: weight of |y|²/2.
        penalty: ρ of the augmented Lagrangian.
        step_size: η.
        accelerated: whether momentum is added (DP-AccADMM), at the same cost.
        loss: logistic or smoothed-hinge.
    """

    loss: str = "logistic"

    def _method(self) -> Method:
        return self._of_loss(self.loss)


@dataclass(eq=False, repr=False, kw_only=True)
class ADMMRegressor(PrivateRegressor, _GradientPerturbedADMM):
    """Huber regression with an elastic net by DP-ADMM (shang2021).

    The squared loss has no gradient bound and hence no budget; Huber's is linear beyond
    ``label_bound``.

    Args:
        epsilon, delta, row_bound, fit_intercept, random_state: see `PrivateLinearModel`; delta is
            above 0.
        rounds, l1, l2, penalty, accelerated: see `ADMMClassifier`.
        step_size: η.
        label_bound: a public number; labels are clipped to ±label_bound.
    """

    step_size: float = 1.0

    def _method(self) -> Method:
        return self._of_loss("huber")
