"""One noiseless iteration of gradient ADMM (chan2023), for a batch of runs.

y  = argmin_y g(y) - ⟨λ, By⟩ + (β/2)‖Ax + By - c‖²
λ⁺ = λ - β(Ax + By - c)
x⁺ = M⁻¹[x - η∇f_t(x) + ηAᵀ(λ⁺ + β(c - By))],   M = I + ηβAᵀA
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.composite import CompositeProblem

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradientStep:
    """The map from (x, λ) to (x⁺, λ⁺).

    Attributes:
        problem: every record is a user with a function f.
        penalty: β.
        step_size: η.
    """

    problem: CompositeProblem
    penalty: float
    step_size: float
    _cache: dict[str, Array] = field(default_factory=dict, init=False, repr=False)

    @property
    def system(self) -> Array:
        """M."""
        A = self.problem.constraint.A
        return np.eye(A.shape[1]) + self.step_size * self.penalty * A.T @ A

    def solved(self, v: Array) -> Array:
        """M⁻¹v for every row of v."""
        if "inverse" not in self._cache:
            system = self.system
            diagonal = np.diagonal(system)
            plain = np.count_nonzero(system - np.diag(diagonal)) == 0
            inverse = 1 / diagonal if plain else np.linalg.inv(system)
            self._cache["inverse"] = np.asarray(inverse, dtype=np.float64)
        inverse = self._cache["inverse"]
        return v * inverse if inverse.ndim == 1 else v @ inverse

    def __call__(
        self, x: Array, dual: Array, users: NDArray[np.int64]
    ) -> tuple[Array, Array, Array]:
        """x⁺, λ⁺ and y.

        Args:
            x: shape (runs, d1).
            dual: λ; shape (runs, constraints).
            users: whose function each run uses; shape (runs,).
        """
        y, new, pull = self._dual_step(x, dual)
        gradient = self.problem.user_gradient(users, x)
        return self.solved(x - self.step_size * (gradient - pull)), new, y

    def _dual_step(self, x: Array, dual: Array) -> tuple[Array, Array, Array]:
        """y, λ⁺ and Aᵀ(λ⁺ + β(c - By)).

        Both y and λ⁺ = w + β(c - By) depend on w = λ - βAx alone.
        """
        constraint, beta = self.problem.constraint, self.penalty
        w = dual - beta * constraint.times_A(x)
        moved = w + beta * constraint.c if constraint.c.any() else w
        linear = constraint.times_B_transposed(moved, sign=-1)
        y = constraint.y_argmin(self.problem.regulariser, linear, beta)
        pushed = beta * constraint.shortfall(y)
        new = w + pushed
        return y, new, constraint.times_A_transposed(new + pushed)
