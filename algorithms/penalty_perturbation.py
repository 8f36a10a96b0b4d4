"""Penalty perturbation: private M-ADMM, with the noise inside the penalty term.

Source: zhang2018, algorithm 1, equations (24)-(25) and (11).

    ε_i(t+1) ~ density ∝ exp(-α_i(t+1)‖ε‖₂): norm ~ Gamma(d, 1/α), direction uniform
    f_i(t+1) = argmin O(f, D_i) + 2λ_i(t)ᵀf
                       + η_i(t+1) Σ_j ‖f + ε_i(t+1) - ½(f_i(t) + f_j(t))‖²                (24)-(25)
    λ_i(t+1) = λ_i(t) + (θ/2) Σ_j (f_i(t+1) - f_j(t+1))                                   (11)

Multiplied out, the noise enters (24) as the linear term 2η_iV_i·εᵀf: the larger the penalty, the
larger the perturbation. α is the rate of the noise ε inside the penalty; the effective linear noise
has rate α/(2ηV).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from dpcalc.algorithms.engine.schedules import at, geometric, settle
from dpcalc.algorithms.m_admm import MADMM

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcalc.algorithms.engine.network_admm import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PenaltyPerturbation(MADMM):
    """Private M-ADMM.

    Attributes:
        penalty: η_i(t), above 0: a number, one per round, or shape (rounds, nodes).
        dual_step: θ, above 0, in the same forms; the paper's theorems keep it one constant.
        noise_rate: α_i(t), above 0, in the same forms; infinite for no noise.
    """

    key = "penalty-perturbation"
    reference = "zhang2018, algorithm 1, equations (24)-(25) and (11)"

    noise_rate: ArrayLike

    def __post_init__(self) -> None:
        MADMM.__post_init__(self)
        nodes = self.problem.nodes
        settle(self, "noise_rate", rounds=self.rounds, nodes=nodes, infinite=True)

    @classmethod
    def example(cls) -> Self:
        """Four nodes on a ring; penalty and noise rate grow as in the paper's experiments."""
        from dpcalc.algorithms.problems.builtin import consensus_example

        return cls(
            consensus_example(),
            rounds=3,
            penalty=geometric(0.5, 1.04, 3),
            dual_step=0.5,
            noise_rate=geometric(3.0, 1.01, 3),
        )

    def _gain(self, t: int) -> Array:
        """2η_iV_i/α_i: what multiplies unit noise in the linear term."""
        return self._curvature(t) / at(self.noise_rate, t)


ALGORITHM = PenaltyPerturbation
