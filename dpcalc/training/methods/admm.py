"""Two-block ADMM, without privacy, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcalc.theorems.parameters import count
from dpcalc.training.methods._composite import ConstrainedMethod

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.theorems.base import Theorem


@dataclass(frozen=True, kw_only=True, slots=True)
class ADMM(ConstrainedMethod):
    """ADMM with exact steps."""

    key: ClassVar[str] = "admm"
    title: ClassVar[str] = "Two-block ADMM with exact steps, without privacy"
    in_blocks: ClassVar[bool] = True

    rounds: int = count("iterations, T", default=100)

    def algorithm(
        self, records: Records, network: Network | None, calibrated: Theorem | None
    ) -> Algorithm:
        """Without noise."""
        return self.built(records, "rounds", "penalty")


METHOD = ADMM
