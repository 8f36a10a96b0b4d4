"""Recycled ADMM with changing penalties, without privacy, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc import checks
from dpcalc.theorems.parameters import count, number
from dpcalc.training.methods._network import RecycledMethod, network_algorithm

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem


@dataclass(frozen=True, kw_only=True, slots=True)
class MRADMM(RecycledMethod):
    """Recycled ADMM with changing penalties, without privacy."""

    key: ClassVar[str] = "mr-admm"
    title: ClassVar[str] = "Recycled ADMM with changing penalties, without privacy"

    rounds: int = count("rounds, odd ones look at the data, 2K", default=20)
    proximal_weight: float | None = number(
        "extra penalty of the even rounds, γ (half the first penalty unless given)",
        check=checks.non_negative,
        default=None,
    )

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """Without noise."""
        return network_algorithm(
            self,
            records,
            network,
            proximal_weight=self.own_proximal_weight(),
        )


METHOD = MRADMM
