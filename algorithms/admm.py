"""ADMM for f(x) + g(y), Ax + By = c, with an exact x-step.

Source: shang2021, equations (3)-(5). Without noise.

    y_t = argmin_y g(y) + (ρ/2)‖Ax_{t-1} + By - c + u_{t-1}‖²                             (3)
    x_t = argmin_x f(x) + (ρ/2)‖Ax + By_t - c + u_{t-1}‖²                                 (4)
    u_t = u_{t-1} + Ax_t + By_t - c                                                        (5)

`dp_admm` with sigma = 0 has the linearised x-step instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from dpcalc.algorithms.engine.access import DataAccess
from dpcalc.algorithms.engine.composite_admm import CompositeADMM
from dpcalc.algorithms.engine.network_admm import replace_one_only
from dpcalc.algorithms.problems.noise import NoNoise

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Arrays
    from dpcalc.algorithms.engine.composite_admm import Array
    from dpcalc.algorithms.engine.implied import ImpliedNoise
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.transcript import Transcript
    from dpcalc.vocabulary import Adjacency


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ADMM(CompositeADMM):
    """Two-block ADMM.

    Attributes:
        problem: the composite problem.
        penalty: ρ, above 0.
        initial: x₀, shape (d1,), or None for zeros.
        dual_start: "zero" or "printed".
    """

    key = "admm"
    reference = "shang2021, equations (3)-(5)"

    @classmethod
    def example(cls) -> Self:
        """Graph-guided logistic regression with three features."""
        from dpcalc.algorithms.problems.builtin import graph_guided_example

        return cls(graph_guided_example(), rounds=3, penalty=1.0)

    def _x_step(self, t: int, x: Array, u: Array, y: Array, unit: Arrays) -> tuple[Array, Arrays]:
        constraint = self.problem.constraint
        q = constraint.times_B(y) - constraint.c + u
        found = self.problem.x_step(q, self.penalty, x)
        return found.points, {"gradient_norm": found.gradient_norm[:, None]}

    def implied_noise(self, transcript: Transcript, records: Records | None = None) -> ImpliedNoise:
        """There is none."""
        self._checked(transcript)
        raise self._no_density("it adds no noise")

    def data_accesses(self, adjacency: Adjacency | None = None) -> tuple[DataAccess, ...]:
        """The exact x-step of every round, without noise.

        (4) is strongly convex with h = ρ·σ_min(A)² + ρ₀, so its minimiser moves by at most 2c/(nh).
        """
        problem = self.problem
        smallest = float(problem.constraint.singular_values()[problem.dimension - 1])
        h = self.penalty * smallest**2 + problem.ridge
        moved = 2 * problem.loss.derivative_bound * problem.records.row_bound / problem.count
        adjacency = replace_one_only(self.key, adjacency)
        return tuple(
            DataAccess(
                round=t,
                node=0,
                released="x",
                query="exact minimiser of the x-step",
                sensitivity=moved / h,
                adjacency=adjacency,
                noise=NoNoise(),
            )
            for t in range(1, self.rounds + 1)
        )


ALGORITHM = ADMM
