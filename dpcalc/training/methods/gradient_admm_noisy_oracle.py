"""Gradient ADMM with noise on gradients, one pass over users, on somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpcalc.training.methods.gradient_admm import GradientADMM


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientADMMNoisyOracle(GradientADMM):
    """The noise is added to the user's gradient instead of the state."""

    key: ClassVar[str] = "gradient-admm-noisy-oracle"
    title: ClassVar[str] = "Gradient ADMM with noise on gradients, last iterate released"
    noise_in: ClassVar[Literal["state", "gradient"]] = "gradient"


METHOD = GradientADMMNoisyOracle
