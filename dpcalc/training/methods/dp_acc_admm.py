"""DP-AccADMM on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpcalc import checks
from dpcalc.theorems.parameters import count, number
from dpcalc.training.defaults import SHORT, STEP, accelerated_rounds, noise_norm, small_ridge
from dpcalc.training.method import get_loss
from dpcalc.training.methods.dp_admm import DPADMM

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.training.method import Budget


@dataclass(frozen=True, kw_only=True, slots=True)
class DPAccADMM(DPADMM):
    """DP-ADMM with momentum: the same releases, the same bound.

    Open parameters are those that a method is resolved with, so none is left open where it runs.
    """

    key: ClassVar[str] = "dp-acc-admm"
    title: ClassVar[str] = "Gradient-perturbed ADMM with momentum"

    rounds: int = count(
        "iterations, T (30 unless given; for numbers to predict from the records, columns and the "
        "budget)",
        default=None,
    )
    step_size: float = number(
        "step size, η (4 unless given; for numbers to predict one over the loss's curvature)",
        default=None,
    )
    l2: float = number(
        "weight of |y|²/2 (1e-3 unless given; for numbers to predict from the records, columns and "
        "the budget)",
        check=checks.non_negative,
        default=None,
    )

    def resolved(self, records: Records, network: Network | None, budget: Budget | None) -> Self:
        """With rounds, a step and a weight."""
        loss = get_loss(self.loss)
        found: dict[str, Any] = {"rounds": 30, "step_size": STEP, "l2": 1e-3}
        if not loss.of_margin:
            step = found["step_size"] = self.step_size or 1 / loss.curvature
            found["rounds"] = 100
            if budget is not None and budget.delta > 0:
                size = (len(records.labels), records.dimension)
                noise = noise_norm(*size, budget.epsilon, budget.delta)
                found["rounds"] = accelerated_rounds(noise, step, 2 * SHORT)
                found["l2"] = small_ridge(noise)
        return self.replace(**{k: v for k, v in found.items() if getattr(self, k) is None})


METHOD = DPAccADMM
