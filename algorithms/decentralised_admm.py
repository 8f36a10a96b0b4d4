"""Conventional decentralised ADMM.

Source: zhang2018, equations (8)-(9); zhang2019, the same numbers. Without noise.

    f_i(t+1) = argmin O(f, D_i) + 2λ_i(t)ᵀf + η Σ_j ‖½(f_i(t) + f_j(t)) - f‖²            (8)
    λ_i(t+1) = λ_i(t) + (η/2) Σ_j (f_i(t+1) - f_j(t+1))                                    (9)

Sums run over the neighbours j of node i; λ(0) = 0. Since ‖½a - f‖² = ‖f‖² - aᵀf + const, the linear
term of (8) is 2λ_i - η Σ_j (f_i + f_j) and its curvature 2ηV_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from dpcalc import checks
from dpcalc.algorithms.engine.network_admm import Array, NetworkADMM
from dpcalc.algorithms.engine.schedules import settle

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcalc.algorithms.engine.algorithm import Arrays


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecentralisedADMM(NetworkADMM):
    """ADMM with one constant penalty.

    Attributes:
        penalty: η, above 0; penalty and dual step size at once.
    """

    key = "decentralised-admm"
    reference = "zhang2018, equations (8)-(9)"

    penalty: float

    def __post_init__(self) -> None:
        checks.count("rounds", self.rounds)
        checks.positive("penalty", self.penalty)

    @classmethod
    def example(cls) -> Self:
        """Four nodes on a ring."""
        from dpcalc.algorithms.problems.builtin import consensus_example

        return cls(consensus_example(), rounds=3, penalty=0.5)

    def _penalty(self, t: int) -> Array:
        return np.full(self.problem.nodes, self.penalty)

    def _linear(self, t: int, memory: Arrays) -> Array:
        return 2 * memory["dual"] - self.penalty * self.sums(memory["primal"])

    def _follow(self, t: int, memory: Arrays, primal: Array) -> Arrays:
        dual = memory["dual"] + self.penalty / 2 * self.differences(primal)
        return {"primal": primal, "dual": dual}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyVariableADMM(DecentralisedADMM):
    """ADMM that noises one of its variables in every round.

    Attributes:
        penalty: η, above 0.
        noise_rate: α_i(t), above 0: a number, one per round, or shape (rounds, nodes); infinite for
            no noise.
    """

    reference = "Zhang and Zhu 2017, as described in zhang2018, section 2.4"
    example_rate: ClassVar[float]

    noise_rate: ArrayLike

    def __post_init__(self) -> None:
        DecentralisedADMM.__post_init__(self)
        nodes = self.problem.nodes
        settle(self, "noise_rate", rounds=self.rounds, nodes=nodes, infinite=True)

    @classmethod
    def example(cls) -> Self:
        """Four nodes on a ring."""
        from dpcalc.algorithms.problems.builtin import consensus_example

        return cls(consensus_example(), rounds=3, penalty=0.5, noise_rate=cls.example_rate)


ALGORITHM = DecentralisedADMM
