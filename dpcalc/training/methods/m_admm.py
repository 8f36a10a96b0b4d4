"""M-ADMM, penalties of each node's own, without privacy, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc.theorems.parameters import count, number
from dpcalc.training.methods._network import NetworkMethod, network_algorithm

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem


@dataclass(frozen=True, kw_only=True, slots=True)
class MADMM(NetworkMethod):
    """ADMM with penalties that may change."""

    key: ClassVar[str] = "m-admm"
    title: ClassVar[str] = "ADMM with changing penalties, without privacy"

    rounds: int = count("rounds, T", default=50)
    dual_step: float | None = number(
        "step of the dual update, θ (the first penalty unless given)", default=None
    )

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """Without noise."""
        step = self.own_penalty().first if self.dual_step is None else self.dual_step
        return network_algorithm(
            self,
            records,
            network,
            dual_step=step,
        )


METHOD = MADMM
