"""Recycled ADMM with objective perturbation and changing penalties, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc import checks
from dpcalc.theorems.parameters import number
from dpcalc.training.methods._network import (
    PrivateNetworkMethod,
    RecycledMethod,
    network_algorithm,
    open_rounds,
)

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateMRADMM(RecycledMethod, PrivateNetworkMethod):
    """Recycled ADMM with objective perturbation and changing penalties."""

    key: ClassVar[str] = "private-mr-admm"
    title: ClassVar[str] = "Recycled ADMM with objective perturbation and changing penalties"
    theorem_key: ClassVar[str | None] = "recycled-admm"

    rounds: int | None = open_rounds("odd ones look at the data, 2K")
    proximal_weight: float | None = number(
        "extra penalty of the even rounds, γ (half the first penalty unless given)",
        check=checks.non_negative,
        default=None,
    )

    def theorem(self, records: Records, network: Network | None) -> Theorem:
        """Every odd round is charged, no even one."""
        from dpcalc.theorems.objective_perturbation.recycled_admm import RecycledADMM as Result

        return Result(**self.network_parameters(records, network))

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """With the calibrated noise rates."""
        return network_algorithm(
            self,
            records,
            network,
            noise_rate=self.rates(calibrated, network),
            proximal_weight=self.own_proximal_weight(),
        )


METHOD = PrivateMRADMM
