"""Conventional decentralised ADMM, without privacy, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc.theorems.parameters import count
from dpcalc.training.methods._network import NetworkMethod, constant_penalty, network_algorithm

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem


@dataclass(frozen=True, kw_only=True, slots=True)
class DecentralisedADMM(NetworkMethod):
    """Conventional ADMM."""

    key: ClassVar[str] = "decentralised-admm"
    title: ClassVar[str] = "Conventional decentralised ADMM, without privacy"

    rounds: int = count("rounds, T", default=50)

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """Without noise."""
        return network_algorithm(self, records, network, penalty=constant_penalty(self))


METHOD = DecentralisedADMM
