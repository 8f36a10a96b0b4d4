"""Accelerated ADMM, without privacy, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc.theorems.parameters import count, number
from dpcalc.training.methods._composite import ConstrainedMethod

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem


@dataclass(frozen=True, kw_only=True, slots=True)
class AccADMM(ConstrainedMethod):
    """Linearised ADMM with momentum."""

    key: ClassVar[str] = "acc-admm"
    title: ClassVar[str] = "Linearised ADMM with momentum, without privacy"
    in_blocks: ClassVar[bool] = True

    rounds: int = count("iterations, T", default=100)
    step_size: float = number("step size, η", default=4.0)

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """Without noise."""
        return self.built(records, "rounds", "penalty", "step_size")


METHOD = AccADMM
