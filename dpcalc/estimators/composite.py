"""Classification and regression by gradient-perturbed ADMM in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcalc.estimators.base import PrivateClassifier, PrivateRegressor
from dpcalc.training.catalogue import method

if TYPE_CHECKING:
    from dpcalc.training.method import Method


def _method_of(owner: Any, loss: str) -> Method:
    key = "dp-acc-admm" if owner.accelerated else "dp-admm"
    names = ("rounds", "l1", "l2", "penalty", "step_size")
    return method(key).from_parameters({n: getattr(owner, n) for n in names} | {"loss": loss})


class ADMMClassifier(PrivateClassifier):
    """Logistic regression with an elastic net by DP-ADMM (shang2021).

    Args:
        epsilon: ε of the budget.
        delta: δ of the budget, above 0.
        loss: logistic or smoothed-hinge.
        rounds: noisy gradients.
        l1: weight of |y|₁.
        l2: weight of |y|²/2.
        penalty: ρ of the augmented Lagrangian.
        step_size: η.
        accelerated: whether momentum is added (DP-AccADMM), at the same cost.
        row_bound: a public number; longer rows are shortened to it.
        fit_intercept: whether a constant column is added.
        random_state: a seed for experiments; None takes noise seeded by the operating system.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        loss: str = "logistic",
        rounds: int = 100,
        l1: float = 1e-4,
        l2: float = 1e-3,
        penalty: float = 0.1,
        step_size: float = 4.0,
        accelerated: bool = False,
        row_bound: float = 1.0,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.loss = loss
        self.rounds = rounds
        self.l1 = l1
        self.l2 = l2
        self.penalty = penalty
        self.step_size = step_size
        self.accelerated = accelerated
        self.row_bound = row_bound
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _method(self) -> Method:
        return _method_of(self, self.loss)


class ADMMRegressor(PrivateRegressor):
    """Huber regression with an elastic net by DP-ADMM (shang2021).

    The squared loss has no gradient bound and hence no budget; Huber's is linear beyond
    ``label_bound``.

    Args:
        epsilon: ε of the budget.
        delta: δ of the budget, above 0.
        label_bound: a public number; labels are clipped to ±label_bound.
        rounds: noisy gradients.
        l1: weight of |y|₁.
        l2: weight of |y|²/2.
        penalty: ρ of the augmented Lagrangian.
        step_size: η.
        accelerated: whether momentum is added (DP-AccADMM), at the same cost.
        row_bound: a public number; longer rows are shortened to it.
        fit_intercept: whether a constant column is added.
        random_state: a seed for experiments; None takes noise seeded by the operating system.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        label_bound: float = 1.0,
        rounds: int = 100,
        l1: float = 1e-4,
        l2: float = 1e-3,
        penalty: float = 0.1,
        step_size: float = 1.0,
        accelerated: bool = False,
        row_bound: float = 1.0,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.label_bound = label_bound
        self.rounds = rounds
        self.l1 = l1
        self.l2 = l2
        self.penalty = penalty
        self.step_size = step_size
        self.accelerated = accelerated
        self.row_bound = row_bound
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _method(self) -> Method:
        return _method_of(self, "huber")
