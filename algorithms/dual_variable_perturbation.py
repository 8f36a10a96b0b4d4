"""Dual variable perturbation: conventional ADMM whose dual variable is noised in the primal update.

Source: Zhang and Zhu 2017, as described in zhang2018, section 2.4.

    f_i(t+1) = argmin O(f, D_i) + 2(λ_i(t) + ε_i(t+1))ᵀf + η Σ_j ‖½(f_i(t) + f_j(t)) - f‖²
    λ_i(t+1) = λ_i(t) + (η/2) Σ_j (f_i(t+1) - f_j(t+1))

α is the rate of the noise added to λ itself, so the effective linear noise 2ε has rate α/2. The
paper's remark that penalty perturbation with η_i(t) = θ is this method holds for another unit of
the noise: rate α there is rate α/(ηV) here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcalc.algorithms.decentralised_admm import NoisyVariableADMM
from dpcalc.algorithms.engine.schedules import at

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.network_admm import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DualVariablePerturbation(NoisyVariableADMM):
    """ADMM with a noised dual variable; the attributes are those of `NoisyVariableADMM`."""

    key = "dual-variable-perturbation"
    example_rate = 4.0

    def _gain(self, t: int) -> Array:
        """2/α_i: what multiplies unit noise in the linear term."""
        return 2 / at(self.noise_rate, t)


ALGORITHM = DualVariablePerturbation
