"""MR-ADMM: R-ADMM in which every node chooses its own penalty for every odd round.

Source: zhang2019, algorithm 2, equations (14)-(17). Without noise.

Odd rounds t = 2k-1, with η_i = η_i(2k-1):
    f_i(t) = argmin O(f, D_i) + 2λ_i(t-1)ᵀf + η_i Σ_j ‖½(f_i(t-1) + f_j(t-1)) - f‖²      (14)
    λ_i(t) = λ_i(t-1) + (η_i/2) Σ_j (f_i(t) - f_j(t))                                     (15)
Even rounds t = 2k, with O replaced by its tangent at f_i(t-1) plus (γ/2)‖f - f_i(t-1)‖²:
    f_i(t) = f_i(t-1) - (∇O(f_i(t-1), D_i) + 2λ_i(t-1) + η_i Σ_j (f_i(t-1) - f_j(t-1)))
                        / (2η_iV_i + γ)                                                   (16)
    λ_i(t) = λ_i(t-1)                                                                     (17)

Even rounds see no data: the optimality condition of (14),

    ∇O(f_i(2k-1), D_i) = -2λ_i(2k-2) - η_i Σ_j (2f_i(2k-1) - f_i(2k-2) - f_j(2k-2)),

gives the gradient from what was broadcast before. It is computed from there and kept as "recycled".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcalc import checks
from dpcalc.algorithms.engine.network_admm import Array, NetworkADMM
from dpcalc.algorithms.engine.schedules import at, geometric, settle

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcalc.algorithms.engine.algorithm import Arrays


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MRADMM(NetworkADMM):
    """Recycled ADMM with private penalties.

    Attributes:
        penalty: η_i(2k-1), above 0: a number, one per odd round k, or shape (odd rounds, nodes).
        proximal_weight: γ, 0 or above.
    """

    key = "mr-admm"
    reference = "zhang2019, algorithm 2, equations (14)-(17)"

    penalty: ArrayLike
    proximal_weight: float = 0.0

    def __post_init__(self) -> None:
        checks.count("rounds", self.rounds)
        checks.non_negative("proximal_weight", self.proximal_weight)
        settle(self, "penalty", rounds=self.odd_rounds, nodes=self.problem.nodes)

    @classmethod
    def example(cls) -> Self:
        """Four nodes on a ring."""
        return cls._example()

    @classmethod
    def _example(cls, **noise: Array) -> Self:
        """The example with the noise of a private variant."""
        from dpcalc.algorithms.problems.builtin import consensus_example

        return cls(
            consensus_example(),
            rounds=4,
            penalty=geometric([1.0, 1.03, 1.02, 0.8], 1.04, 2),
            proximal_weight=0.5,
            **noise,
        )

    @property
    def odd_rounds(self) -> int:
        """K: rounds 1, 3, ..., the only ones that look at the data."""
        return (self.rounds + 1) // 2

    def _noisy_rounds(self) -> range:
        return range(1, self.rounds + 1, 2)

    def _penalty(self, t: int) -> Array:
        return at(self.penalty, (t + 1) // 2)

    def _linear(self, t: int, memory: Arrays) -> Array:
        return 2 * memory["dual"] - self._penalty(t)[:, None] * self.sums(memory["primal"])

    def _recycled(self, t: int, memory: Arrays) -> Array | None:
        if t % 2:
            return None
        eta = self._penalty(t)[:, None]
        f, dual = memory["primal"], memory["dual"]
        total = memory["recycled"] + 2 * dual + eta * self.differences(f)
        return np.asarray(f - total / (self._curvature(t)[:, None] + self.proximal_weight))

    def _follow(self, t: int, memory: Arrays, primal: Array) -> Arrays:
        if t % 2 == 0:
            return memory | {"primal": primal}
        recycled = -self._linear(t, memory) - self._curvature(t)[:, None] * primal
        dual = memory["dual"] + self._penalty(t)[:, None] / 2 * self.differences(primal)
        return {"primal": primal, "dual": dual, "recycled": recycled}


ALGORITHM = MRADMM
