"""Gradient ADMM with a randomised gradient oracle.

Source: chan2023, algorithm 4 (section 9), over users as in `gradient_admm`.

    y_t  = argmin_y g(y) - ⟨λ_{t-1}, By⟩ + (β/2)‖Ax_{t-1} + By - c‖²
    λ_t  = λ_{t-1} - β(Ax_{t-1} + By_t - c)
    x_t  = (I + ηβAᵀA)⁻¹[x_{t-1} - η(∇f_t(x_{t-1}) + N(0, σ²I)) + ηAᵀ(λ_t + β(c - By_t))]

What reaches x_t is -η(I + ηβAᵀA)⁻¹ times the noise: less along the rows of A than across them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcalc.algorithms.engine.gradient_admm import NoisyGradientADMM

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.gradient_admm import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradientADMMNoisyOracle(NoisyGradientADMM):
    """Gradient ADMM with noise on gradients; the attributes are those of `NoisyGradientADMM`."""

    key = "gradient-admm-noisy-oracle"
    reference = "chan2023, algorithm 4"

    @classmethod
    def example(cls) -> Self:
        """Five users with linear functions plus a common ridge; stopped at random."""
        from dpcalc.algorithms.problems.builtin import users_example

        return cls(
            users_example(), rounds=5, penalty=0.8, step_size=0.5, sigma=0.8, stopping=(3, 5)
        )

    def _displacement(self, unit: Array) -> Array:
        return -self.step_size * self.sigma * self._step.solved(unit)

    def _unit(self, displacement: Array) -> Array:
        return -(displacement @ self._step.system) / (self.step_size * self.sigma)

    def _log_scale(self) -> float:
        determinant = float(np.linalg.slogdet(self._step.system)[1])
        return self.problem.dimension * float(np.log(self.step_size * self.sigma)) - determinant

    def _sensitivity(self) -> tuple[str, float]:
        return "user's gradient", float(self.gradient_gap or 0)


ALGORITHM = GradientADMMNoisyOracle
