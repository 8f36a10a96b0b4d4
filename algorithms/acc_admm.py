"""AccADMM: linearised ADMM with Nesterov's momentum on both iterate and dual variable.

Source: shang2021, algorithm 3 without its noise; after Goldstein et al. 2014. `dp_acc_admm` writes
the updates out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from dpcalc.algorithms.engine.linearised_admm import LinearisedADMM
from dpcalc.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AccADMM(LinearisedADMM):
    """Accelerated ADMM without noise.

    Attributes:
        problem: the composite problem.
        penalty: ρ, above 0.
        step_size: η, above 0.
        proximal_weight: γ, above 0; η·ρ·‖AᵀA‖ + 1 if left out.
        initial: x₀, shape (d1,), or None for zeros.
        dual_start: "zero" or "printed".
    """

    key = "acc-admm"
    reference = "shang2021, algorithm 3, without noise"
    accelerated = True
    dual_starts = ("zero", "printed")

    def __post_init__(self) -> None:
        LinearisedADMM.__post_init__(self)
        if np.any(self.sigma):
            raise InvalidInput(f"acc-admm adds no noise; got sigma={self.sigma!r}; use dp-acc-admm")

    @classmethod
    def example(cls) -> Self:
        """Graph-guided logistic regression with three features."""
        from dpcalc.algorithms.problems.builtin import graph_guided_example

        return cls(graph_guided_example(), rounds=4, penalty=1.0, step_size=0.5)


ALGORITHM = AccADMM
