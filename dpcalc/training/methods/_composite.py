"""What the methods for f(x) + g(y), Ax + By = c share: one place holds all records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcalc import checks
from dpcalc.errors import InvalidInput
from dpcalc.theorems.parameters import choice, number
from dpcalc.training.method import Array, Method, get_loss, loss_choice

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.composite import CompositeProblem
    from dpcalc.algorithms.problems.constraints import Constraint
    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.transcript import Transcript


@dataclass(frozen=True, kw_only=True, slots=True)
class CompositeMethod(Method):
    """Mean loss plus elastic net, x a copy of y."""

    distributed: ClassVar[bool] = False

    loss: str | Loss = loss_choice("logistic", "smoothed-hinge", "huber", default="logistic")
    l1: float = number("weight of |y|₁", check=checks.non_negative, default=1e-4)
    l2: float = number("weight of |y|²/2", check=checks.non_negative, default=1e-3)

    def problem(self, records: Records) -> CompositeProblem:
        """The composite problem."""
        from dpcalc.algorithms.problems.composite import CompositeProblem
        from dpcalc.algorithms.problems.regularisers import ElasticNet

        if records.nodes != 1:
            raise InvalidInput(
                f"{self.key} keeps all records in one place; got nodes={records.nodes}; "
                "leave out --nodes"
            )
        return CompositeProblem(
            records=records,
            loss=get_loss(self.loss),
            regulariser=ElasticNet(l1=self.l1, l2=self.l2),
            constraint=self._constraint_in_memory(records.dimension),
        )

    def _constraint_in_memory(self, dimension: int) -> Constraint:
        """The constraint; refused, with what made it so large, where memory does not hold it."""
        try:
            return self._constraint(dimension)
        except MemoryError as error:
            raise InvalidInput(
                f"expected columns whose constraint fits into memory; got {dimension:,} columns, "
                "with the constant one if there is one, for which each matrix of Ax + By = c of "
                f"{self.key} takes {8 * dimension**2 / 1e9:.3g} GB or more; leave out rare columns "
                "or add them up"
            ) from error

    def _constraint(self, dimension: int) -> Constraint:
        from dpcalc.algorithms.problems.constraints import copies

        return copies(dimension)

    def built(self, records: Records, *shared: str, **further: Any) -> Algorithm:
        """The algorithm with the method's key on these records.

        Args:
            records: in one place.
            shared: parameters that both have under the same name.
            further: parameters of the algorithm alone.
        """
        from dpcalc.algorithms import load

        kind: Any = load(self.key)
        given = {name: getattr(self, name) for name in shared}
        made: Algorithm = kind(self.problem(records), **given, **further)
        return made

    def gradient_bound(self, records: Records) -> float:
        """The largest norm of a record's gradient, max|φ'|·max‖x‖, from public constants."""
        return get_loss(self.loss).derivative_bound * records.row_bound

    def weights(self, transcript: Transcript) -> Array:
        """The last x."""
        x = transcript["x"]
        return np.asarray(x if x.ndim == 2 else x[:, -1], dtype=np.float64)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConstrainedMethod(CompositeMethod):
    """The same by an augmented Lagrangian; or a fused lasso over a chain of features."""

    fused: str = choice(
        "also penalise differences of consecutive features with weight l1, [W; I]x = y",
        ("no", "chain"),
        default="no",
    )
    penalty: float = number("penalty of the augmented Lagrangian, ρ", default=0.1)

    def _constraint(self, dimension: int) -> Constraint:
        from dpcalc.algorithms.problems.constraints import graph_guided

        if self.fused == "no":
            return CompositeMethod._constraint(self, dimension)  # noqa: SLF001 # slots: no super()
        return graph_guided(dimension, [(k, k + 1) for k in range(dimension - 1)])
