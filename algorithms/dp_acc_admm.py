"""DP-AccADMM: DP-ADMM with Nesterov's momentum.

Source: shang2021, algorithm 3.

    x̂_0 = x_0, û_0 = u_0, θ_1 = 1
    y_t = argmin_y g(y) + (ρ/2)‖Ax̂_{t-1} + By - c + û_{t-1}‖²                        step 2
    x_t = x̂_{t-1} - (η/γ)[∇f(x̂_{t-1}) + P_t + ρAᵀ(Ax̂_{t-1} + By_t - c + û_{t-1})]   step 3
    u_t = û_{t-1} + Ax_t + By_t - c                                                  step 4
    θ_{t+1} = (1 + √(1 + 4θ_t²))/2                                                   step 5
    x̂_t = x_t + ((θ_t - 1)/θ_{t+1})(x_t - x_{t-1})                                   step 6
    û_t = u_t + ((θ_t - 1)/θ_{t+1})(u_t - u_{t-1})                                   step 7
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from dpcalc.algorithms.engine.linearised_admm import LinearisedADMM


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DPAccADMM(LinearisedADMM):
    """Gradient-perturbed accelerated ADMM; the attributes are those of `LinearisedADMM`."""

    key = "dp-acc-admm"
    reference = "shang2021, algorithm 3"
    accelerated = True

    @classmethod
    def example(cls) -> Self:
        """Graph-guided logistic regression with three features."""
        from dpcalc.algorithms.problems.builtin import graph_guided_example

        return cls(
            graph_guided_example(),
            rounds=4,
            penalty=1.0,
            step_size=0.5,
            sigma=0.3,
            dual_start="shared",
        )


ALGORITHM = DPAccADMM
