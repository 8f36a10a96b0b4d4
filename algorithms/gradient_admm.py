"""Noisy gradient ADMM: Gaussian noise on the primal iterate of every iteration.

Source: chan2023, algorithm 1 with the noise of section 3.2 (noisy ADMM), over users in a fixed or
random order, or stopped at random (section 8).

    y_t  = argmin_y g(y) - ⟨λ_{t-1}, By⟩ + (β/2)‖Ax_{t-1} + By - c‖²
    λ_t  = λ_{t-1} - β(Ax_{t-1} + By_t - c)
    x_t  = (I + ηβAᵀA)⁻¹[x_{t-1} - η∇f_t(x_{t-1}) + ηAᵀ(λ_t + β(c - By_t))] + N(0, σ²I)

Neighbouring functions, whose gradients differ by at most Δ, move x_t by at most ηΔ/(1 + ηβs²), s
the smallest singular value of A (0 if A has fewer rows than columns).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcalc.algorithms.engine.gradient_admm import NoisyGradientADMM

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.gradient_admm import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradientADMM(NoisyGradientADMM):
    """Gradient ADMM with noise on x; the attributes are those of `NoisyGradientADMM`."""

    key = "gradient-admm"
    reference = "chan2023, algorithm 1 with the noise of section 3.2"

    @classmethod
    def example(cls) -> Self:
        """Five users with linear functions plus a common ridge; a random order."""
        from dpcalc.algorithms.problems.builtin import users_example

        return cls(
            users_example(), rounds=5, penalty=0.8, step_size=0.5, sigma=0.4, order="permutation"
        )

    def _displacement(self, unit: Array) -> Array:
        return self.sigma * unit

    def _unit(self, displacement: Array) -> Array:
        return displacement / self.sigma

    def _log_scale(self) -> float:
        return self.problem.dimension * float(np.log(self.sigma))

    def _sensitivity(self) -> tuple[str, float]:
        smallest = float(np.linalg.eigvalsh(self._step.system)[0])
        return "x before noise", self.step_size * float(self.gradient_gap or 0) / smallest


ALGORITHM = GradientADMM
