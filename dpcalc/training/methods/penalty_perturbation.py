"""Penalty perturbation, private M-ADMM, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc.theorems.parameters import number
from dpcalc.training.methods._network import PrivateNetworkMethod, network_algorithm, open_rounds

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem


@dataclass(frozen=True, kw_only=True, slots=True)
class PenaltyPerturbation(PrivateNetworkMethod):
    """ADMM with noise in the penalty term; every round looks at the data."""

    key: ClassVar[str] = "penalty-perturbation"
    title: ClassVar[str] = "ADMM with noise in the penalty term"
    theorem_key: ClassVar[str | None] = "penalty-perturbation"

    rounds: int | None = open_rounds("all of which look at the data, T")
    dual_step: float | None = number(
        "step of the dual update, θ (the first penalty unless given)", default=None
    )

    def _step(self) -> float:
        return self.own_penalty().first if self.dual_step is None else self.dual_step

    def theorem(self, records: Records, network: Network | None) -> Theorem:
        """Every round is charged."""
        from dpcalc.theorems.objective_perturbation.penalty_perturbation import (
            PenaltyPerturbation as Result,
        )

        return Result(**self.network_parameters(records, network), dual_step=self._step())

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """With the calibrated rates of the noise inside the penalty."""
        return network_algorithm(
            self,
            records,
            network,
            dual_step=self._step(),
            noise_rate=self.rates(calibrated, network),
        )


METHOD = PenaltyPerturbation
