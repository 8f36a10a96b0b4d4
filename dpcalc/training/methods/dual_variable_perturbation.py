"""Dual variable perturbation, conventional ADMM with a noised dual, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc.training.methods._network import (
    PrivateNetworkMethod,
    constant_penalty,
    network_algorithm,
    open_rounds,
)

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem


@dataclass(frozen=True, kw_only=True, slots=True)
class DualVariablePerturbation(PrivateNetworkMethod):
    """Conventional ADMM with a noised dual variable; every round looks at the data."""

    key: ClassVar[str] = "dual-variable-perturbation"
    title: ClassVar[str] = "Conventional ADMM with a noised dual variable"
    theorem_key: ClassVar[str | None] = "penalty-perturbation"

    rounds: int | None = open_rounds("all of which look at the data, T")

    def theorem(self, records: Records, network: Network | None) -> Theorem:
        """Noise of rate α on the dual is linear noise of rate α/2."""
        from dpcalc.theorems.objective_perturbation.penalty_perturbation import PenaltyPerturbation

        return PenaltyPerturbation(**self.network_parameters(records, network), noise_on="dual")

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """With the calibrated rates of the noise on the dual variable."""
        return network_algorithm(
            self,
            records,
            network,
            penalty=constant_penalty(self),
            noise_rate=self.rates(calibrated, network),
        )


METHOD = DualVariablePerturbation
