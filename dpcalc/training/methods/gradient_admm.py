"""Noisy gradient ADMM, one pass over users in random order, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.theorems.parameters import number
from dpcalc.training.method import Array, Method, get_loss, loss_choice, require_calibrated

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem
    from dpcalc.transcript import Transcript


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientADMM(Method):
    """Every record is a user who takes one noisy step; only the last iterate is released."""

    key: ClassVar[str] = "gradient-admm"
    title: ClassVar[str] = "Noisy gradient ADMM, one pass over users, last iterate released"
    theorem_key: ClassVar[str | None] = "admm-iteration-all-users"
    distributed: ClassVar[bool] = False
    in_blocks: ClassVar[bool] = True
    attested: ClassVar[tuple[str, ...]] = (
        "gradient-difference",
        "convex",
        "full-row-rank",
        "random-order",
    )
    noise_in: ClassVar[Literal["state", "gradient"]] = "state"

    loss: str | Loss = loss_choice(
        "logistic", "smoothed-hinge", "huber", default="logistic", of_one="user"
    )
    l1: float = number("weight of |y|₁", check=checks.non_negative, default=1e-4)
    l2: float = number("weight of |y|²/2", check=checks.non_negative, default=0.1)
    penalty: float = number("penalty of the augmented Lagrangian, β", default=1.0)
    step_size: float = number("step size, η, at most 2 over the loss's curvature", default=0.05)

    def _loss(self) -> Loss:
        return get_loss(self.loss)

    def theorem(self, records: Records, network: Network | None) -> Theorem:
        """All users in random order, x a copy of y."""
        from dpcalc.theorems.iteration.admm_iteration_all_users import ADMMIterationAllUsers

        loss, row = self._loss(), records.row_bound
        return ADMMIterationAllUsers(
            sensitivity=2 * loss.derivative_bound * row,
            step_size=self.step_size,
            penalty=self.penalty,
            sigma=1.0,
            smoothness=loss.curvature * row**2,
            operator_norm=1.0,
            min_singular_value=1.0,
            square=True,
            noise_in=self.noise_in,
            users=len(records.labels),
            order="permutation",
            attest=self.attested,
        )

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """With the calibrated σ; as many rounds as users."""
        from dpcalc.algorithms import load
        from dpcalc.algorithms.problems.composite import CompositeProblem
        from dpcalc.algorithms.problems.constraints import copies
        from dpcalc.algorithms.problems.regularisers import ElasticNet

        if records.nodes != 1:
            raise InvalidInput(f"{self.key} has users, not nodes; got nodes={records.nodes}")
        noise: Any = require_calibrated(calibrated, self.key)
        kind: Any = load(self.key)
        problem = CompositeProblem(
            records=records,
            loss=self._loss(),
            regulariser=ElasticNet(l1=self.l1, l2=self.l2),
            constraint=copies(records.dimension),
        )
        made: Algorithm = kind(
            problem,
            rounds=len(records.labels),
            penalty=self.penalty,
            step_size=self.step_size,
            sigma=noise.sigma,
            order="permutation",
        )
        return made

    def weights(self, transcript: Transcript) -> Array:
        """The last x."""
        x = transcript["x"]
        return np.asarray(x if x.ndim == 2 else x[:, -1], dtype=np.float64)


METHOD = GradientADMM
