"""DP-ADMM: linearised ADMM whose gradients get Gaussian noise.

Source: shang2021, algorithm 2, equations (3), (7) and (5).

    u_0 = -(1/ρ)(Aᵀ)⁺∇f(x_0), or what ``dual_start`` says                        Initialize
    y_t = argmin_y g(y) + (ρ/2)‖Ax_{t-1} + By - c + u_{t-1}‖²                        step 2
    x_t = x_{t-1} - (η/γ)[∇f(x_{t-1}) + P_t + ρAᵀ(Ax_{t-1} + By_t - c + u_{t-1})],
          P_t ~ N(0, σ²I)                                                            step 3, (7)
    u_t = u_{t-1} + Ax_t + By_t - c                                                  step 4

The printed start of the dual looks at the data without noise, and y_1 exposes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from dpcalc.algorithms.engine.linearised_admm import LinearisedADMM


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DPADMM(LinearisedADMM):
    """Gradient-perturbed ADMM; the attributes are those of `LinearisedADMM`."""

    key = "dp-admm"
    reference = "shang2021, algorithm 2"

    @classmethod
    def example(cls) -> Self:
        """Graph-guided logistic regression with three features."""
        from dpcalc.algorithms.problems.builtin import graph_guided_example

        return cls(graph_guided_example(), rounds=3, penalty=1.0, step_size=0.5, sigma=0.3)


ALGORITHM = DPADMM
