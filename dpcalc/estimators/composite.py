"""Classification and regression by gradient-perturbed ADMM in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc import checks
from dpcalc.estimators.base import PrivateLinearModel
from dpcalc.estimators.classifier import PrivateClassifier
from dpcalc.estimators.regressor import PrivateRegressor
from dpcalc.training.defaults import (
    LENGTH,
    SHORT,
    STEP,
    accelerated_rounds,
    noise_norm,
    plain_rounds,
    small_ridge,
)

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.training.method import Budget, Method


@dataclass(eq=False, repr=False, kw_only=True)
class _GradientPerturbedADMM(PrivateLinearModel):
    """What both have in common."""

    rounds: int | None = None
    l1: float = 0.0
    l2: float | None = None
    penalty: float = 0.05
    step_size: float | None = None
    accelerated: bool = True

    _step: ClassVar[float] = STEP
    _length: ClassVar[float] = LENGTH

    def _of_loss(self, loss: str | Loss, n_records: int, dimension: int, budget: Budget) -> Method:
        noise = noise_norm(n_records, dimension, budget.epsilon, budget.delta)
        step = self._step
        if self.step_size is not None:
            step = checks.positive("step_size", self.step_size)
        rounds = accelerated_rounds if self.accelerated else plain_rounds
        return self._made(
            "dp-acc-admm" if self.accelerated else "dp-admm",
            "l1 penalty",
            step_size=step,
            rounds=rounds(noise, step, 2 * self._length),
            output="mean",
            l2=small_ridge(noise),
            loss=loss,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class ADMMClassifier(PrivateClassifier, _GradientPerturbedADMM):
    """Logistic regression with an elastic net by DP-ADMM (shang2021).

    The model is the mean of the iterates of the later half of the rounds.

    What is None is chosen from the number of records and columns and the budget alone, by the rules
    of `dpcalc.training.defaults`, which were fitted on data sets that are named there.

    Example::

        import numpy as np
        from dpcalc.estimators import ADMMClassifier
        X = np.random.default_rng(0).normal(size=(500, 2))
        found = ADMMClassifier(epsilon=1, delta=1e-5, row_bound=4).fit(X, X[:, 0] > 0)
        print(found.certified_)

    Args:
        epsilon, delta, row_bound, fit_intercept, accountant, random_state: see
            `PrivateLinearModel`; delta is above 0.
        rounds: noisy gradients.
        l1: weight of |y|₁.
        l2: weight of |y|²/2.
        penalty: ρ of the augmented Lagrangian.
        step_size: η; one over the curvature of the loss if None.
        accelerated: whether momentum is added (DP-AccADMM), at the same cost.
        loss: logistic or smoothed-hinge; or a `Loss` of your own, whose declared bounds are
            checked.
    """

    loss: str | Loss = "logistic"

    def _method(self, n_records: int, dimension: int, budget: Budget) -> Method:
        return self._of_loss(self.loss, n_records, dimension, budget)


@dataclass(eq=False, repr=False, kw_only=True)
class ADMMRegressor(PrivateRegressor, _GradientPerturbedADMM):
    """Huber regression with an elastic net by DP-ADMM (shang2021).

    The squared loss has no gradient bound and hence no budget; Huber's is linear beyond
    ``label_bound``.

    Example::

        import numpy as np
        from dpcalc.estimators import ADMMRegressor
        X = np.random.default_rng(0).normal(size=(500, 2))
        found = ADMMRegressor(epsilon=1, delta=1e-5, row_bound=4, label_bound=3).fit(X, X[:, 0])
        print(found.certified_)

    Args:
        epsilon, delta, row_bound, fit_intercept, accountant, random_state: see
            `PrivateLinearModel`; delta is above 0.
        rounds, l1, l2, penalty, step_size, accelerated: see `ADMMClassifier`.
        label_bound: a public number; labels are clipped to ±label_bound.
    """

    _step: ClassVar[float] = 1.0
    _length: ClassVar[float] = SHORT

    def _method(self, n_records: int, dimension: int, budget: Budget) -> Method:
        return self._of_loss("huber", n_records, dimension, budget)
