"""Private dual averaging: Gaussian noise on every subgradient that goes into a message.

Source: liu2022, algorithm 1, equations (4)-(5).

    sample ξ_i(t) uniformly from D_i, draw ν_i(t) ~ N(0, σ²I)
    z_i(t+1) = Σ_j w_ij (z_j(t) + a(t)(ĝ_j(t) + ν_j(t))),  ĝ_j(t) ∈ ∂l(x_j(t), ξ_j(t))     (4)
    x_i(t+1) = argmin_x ⟨z_i(t+1), x⟩ + A(t+1)h(x) + γ(t+1)d(x)                            (5)
    output x̃_i(T) = A(T)⁻¹ Σ_t a(t)x_i(t)

As printed: sampling="one", weights="linear" (a(t) = t), proximal=0. The paper's experiments have
γ(t) = 20. ``sampling`` "cyclic" and "full" average over a fixed batch and over all records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from dpcalc.algorithms.engine.averaging import NetworkAveraging


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateDualAveraging(NetworkAveraging):
    """Dual averaging with noise; the attributes are those of `AveragingRounds`."""

    key = "private-dual-averaging"
    reference = "liu2022, algorithm 1, equations (4)-(5)"

    @classmethod
    def example(cls) -> Self:
        """Hinge loss on a ring of three nodes, one sampled record, a(t) = t."""
        from dpcalc.algorithms.problems.builtin import averaging_example

        return cls(averaging_example(), rounds=4, weights="linear", proximal=2.0, sigma=0.5)


ALGORITHM = PrivateDualAveraging
