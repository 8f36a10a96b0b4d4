"""The exact optimum of a composite problem, found centrally: the zero of every optimality gap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.errors import NumericalFailure

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.composite import CompositeProblem

Array = NDArray[np.float64]


def composite_optimum(
    problem: CompositeProblem,
    *,
    penalty: float = 1.0,
    tolerance: float = 1e-10,
    rounds: int = 100_000,
) -> tuple[Array, float]:
    """The minimiser x of f(x) + g(y), Ax + By = c, and the least value.

    ADMM with exact steps, without noise, until primal residual ‖Ax + By - c‖ and dual residual
    penalty·‖AᵀB(y - y_before)‖ are both below the tolerance. Needs a differentiable loss.

    Args:
        problem: the problem.
        penalty: of the augmented Lagrangian; affects speed only.
        tolerance: on both residuals, relative to 1 + ‖x‖.
        rounds: when to give up.

    Raises:
        NumericalFailure: if the tolerance was not reached.
    """
    checks.positive("tolerance", tolerance)
    constraint = problem.constraint
    x = np.zeros((1, problem.dimension))
    u, y = np.zeros((1, len(constraint.c))), np.zeros((1, constraint.B.shape[1]))
    for _ in range(checks.count("rounds", rounds)):
        before = y
        y = constraint.y_step(
            problem.regulariser, constraint.times_A(x) - constraint.c + u, penalty
        )
        x = problem.x_step(constraint.times_B(y) - constraint.c + u, penalty, x).points
        u = u + constraint.residual(x, y)
        primal = float(constraint.gap(x, y)[0])
        dual = penalty * float(
            np.linalg.norm(constraint.times_A_transposed(constraint.times_B(y - before)))
        )
        if max(primal, dual) <= tolerance * (1 + float(np.linalg.norm(x))):
            return x[0], float(problem.objective(x, y)[0])
    raise NumericalFailure(
        f"expected residuals below tolerance={tolerance!r}; got primal={primal:.3g}, "
        f"dual={dual:.3g} after rounds={rounds}; try another penalty"
    )
