"""DP-AccADMM on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpcalc.theorems.parameters import count
from dpcalc.training.methods.dp_admm import DPADMM


@dataclass(frozen=True, kw_only=True, slots=True)
class DPAccADMM(DPADMM):
    """DP-ADMM with momentum: the same releases, the same bound."""

    key: ClassVar[str] = "dp-acc-admm"
    title: ClassVar[str] = "Gradient-perturbed ADMM with momentum"

    rounds: int = count("iterations, T", default=30)


METHOD = DPAccADMM
