"""M-ADMM: every node has its own penalty in every round, apart from the dual step size.

Source: zhang2018, equations (10)-(11). Without noise.

    f_i(t+1) = argmin O(f, D_i) + 2λ_i(t)ᵀf + η_i(t+1) Σ_j ‖f - ½(f_i(t) + f_j(t))‖²     (10)
    λ_i(t+1) = λ_i(t) + (θ/2) Σ_j (f_i(t+1) - f_j(t+1))                                   (11)

With η_i(t) = θ constant this is `decentralised_admm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from dpcalc import checks
from dpcalc.algorithms.engine.network_admm import Array, NetworkADMM
from dpcalc.algorithms.engine.schedules import at, geometric, settle

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcalc.algorithms.engine.algorithm import Arrays


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MADMM(NetworkADMM):
    """ADMM with private penalties.

    Attributes:
        penalty: η_i(t), above 0: a number, one per round, or shape (rounds, nodes).
        dual_step: θ, above 0, in the same forms; the paper's theorems keep it one constant.
    """

    key = "m-admm"
    reference = "zhang2018, equations (10)-(11)"

    penalty: ArrayLike
    dual_step: ArrayLike

    def __post_init__(self) -> None:
        checks.count("rounds", self.rounds)
        settle(self, "penalty", "dual_step", rounds=self.rounds, nodes=self.problem.nodes)

    @classmethod
    def example(cls) -> Self:
        """Four nodes on a ring, growing penalties."""
        from dpcalc.algorithms.problems.builtin import consensus_example

        penalty = geometric([0.55, 0.65, 0.6, 0.55], [1.01, 1.03, 1.1, 1.2], 3)
        return cls(consensus_example(), rounds=3, penalty=penalty, dual_step=0.5)

    def _penalty(self, t: int) -> Array:
        return at(self.penalty, t)

    def _linear(self, t: int, memory: Arrays) -> Array:
        return 2 * memory["dual"] - self._penalty(t)[:, None] * self.sums(memory["primal"])

    def _follow(self, t: int, memory: Arrays, primal: Array) -> Arrays:
        dual = memory["dual"] + at(self.dual_step, t)[:, None] / 2 * self.differences(primal)
        return {"primal": primal, "dual": dual}


ALGORITHM = MADMM
