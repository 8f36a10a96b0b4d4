"""Private MR-ADMM: objective perturbation in the odd rounds, nothing but recycling in the even ones.

Source: zhang2019, algorithm 3, equations (18), (15), (19) and (17).

Odd rounds t = 2k-1: ε_i(t) ~ density ∝ exp(-α_i(k)‖ε‖₂),
    f_i(t) = argmin O(f, D_i) + (2λ_i(t-1) + ε_i(t))ᵀf + η_i Σ_j ‖½(f_i(t-1) + f_j(t-1)) - f‖² (18)
    λ_i(t) = λ_i(t-1) + (η_i/2) Σ_j (f_i(t) - f_j(t))                                          (15)
Even rounds t = 2k:
    f_i(t) = f_i(t-1) - (ε_i(t-1) + ∇O(f_i(t-1), D_i) + 2λ_i(t-1)
                         + η_i Σ_j (f_i(t-1) - f_j(t-1))) / (2η_iV_i + γ)                      (19)

and ε + ∇O comes from the optimality condition of (18), as in `mr_admm`: noise and gradient are
never told apart, and the even iterates are a function of what was broadcast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from dpcalc.algorithms.engine.schedules import at, geometric, settle
from dpcalc.algorithms.mr_admm import MRADMM

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcalc.algorithms.engine.network_admm import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateMRADMM(MRADMM):
    """Recycled ADMM with private penalties and objective perturbation.

    Attributes:
        penalty: η_i(2k-1), above 0: a number, one per odd round k, or shape (odd rounds, nodes).
        noise_rate: α_i(k), above 0, in the same forms; infinite for no noise.
        proximal_weight: γ, 0 or above.
    """

    key = "private-mr-admm"
    reference = "zhang2019, algorithm 3, equations (18), (15), (19), (17)"

    noise_rate: ArrayLike

    def __post_init__(self) -> None:
        MRADMM.__post_init__(self)
        nodes = self.problem.nodes
        settle(self, "noise_rate", rounds=self.odd_rounds, nodes=nodes, infinite=True)

    @classmethod
    def example(cls) -> Self:
        """Four nodes on a ring."""
        return cls._example(noise_rate=geometric([2.0, 3.0, 2.0, 2.5], 1.1, 2))

    def _gain(self, t: int) -> Array:
        """1/α_i: what multiplies unit noise in the linear term."""
        return 1 / at(self.noise_rate, (t + 1) // 2)


ALGORITHM = PrivateMRADMM
