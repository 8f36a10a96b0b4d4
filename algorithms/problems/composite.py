"""Loss plus regulariser under a linear constraint: the problem of shang2021 and chan2023.

    minimise f(x) + g(y)  subject to  Ax + By = c,   f = (1/n) Σ_i f_i,
    f_i(x) = φ(record i, x) + (ρ₀/2)‖x‖²

One record is one f_i: a data set's entry in shang2021, a user's private function in chan2023.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.problems import sparse
from dpcalc.algorithms.problems.consensus import check_labels, smooth_sum
from dpcalc.algorithms.problems.declared import check_loss, check_regulariser
from dpcalc.algorithms.problems.minimise import Minimum, minimise
from dpcalc.algorithms.problems.smooth import SmoothSum
from dpcalc.algorithms.problems.stored_rows import is_stored
from dpcalc.errors import AssumptionViolated, InvalidInput

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.constraints import Constraint
    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.algorithms.problems.regularisers import Regulariser
    from dpcalc.algorithms.problems.sparse import Rows

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompositeProblem:
    """Records, a loss, a public regulariser and a public constraint.

    Attributes:
        records: of one node.
        loss: φ.
        regulariser: g.
        constraint: A, B and c.
        ridge: ρ₀, 0 or above: curvature that every f_i has on top of its loss.
    """

    records: Records
    loss: Loss
    regulariser: Regulariser
    constraint: Constraint
    ridge: float = 0.0
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        checks.non_negative("ridge", self.ridge)
        check_loss(self.loss)
        check_labels(self.records, self.loss)
        check_regulariser(self.regulariser, self.constraint.B.shape[1])
        columns = self.constraint.A.shape[1]
        if self.records.nodes != 1 or self.records.dimension != columns:
            raise InvalidInput(
                f"expected records of one node with as many features as A has columns ({columns})"
                f"; got nodes={self.records.nodes}, features={self.records.dimension}"
            )

    def with_records(self, records: Records) -> Self:
        """The same problem with other data."""
        return replace(self, records=records)

    @property
    def count(self) -> int:
        """n, the number of records or users."""
        return len(self.records.labels)

    @property
    def dimension(self) -> int:
        """d1, the number of features."""
        return self.records.dimension

    @property
    def mean_loss(self) -> SmoothSum:
        """(1/n) Σ φ, without the ridge; built once."""
        if "mean" not in self._cache:
            everything = slice(0, self.count)
            self._cache["mean"] = smooth_sum(self.records, everything, self.loss, 1 / self.count)
        held: SmoothSum = self._cache["mean"]
        return held

    def value(self, x: Array) -> Array:
        """f(x); shape (runs, d) to (runs,)."""
        return self.mean_loss.value(x) + self.ridge / 2 * np.einsum("rk,rk->r", x, x)

    def gradient(self, x: Array) -> Array:
        """∇f(x); shapes (runs, d)."""
        return self.mean_loss.gradient(x) + self.ridge * x

    def user_gradient(self, users: NDArray[np.integer[Any]], x: Array) -> Array:
        """∇f_i(x), one user per run.

        Args:
            users: shape (runs,).
            x: shape (runs, d).
        """
        total = self.mean_loss
        rows = sparse.dense_rows(total.rows, users)
        m = np.einsum("rk,rk->r", rows, x)
        if total.offsets is not None:
            m = m + total.offsets[users]
        gradient = total.loss.derivative(m)[:, None] * rows
        return gradient + self.ridge * x if self.ridge else gradient

    def objective(self, x: Array, y: Array) -> Array:
        """f(x) + g(y); where B is a multiple of I, y is replaced by the one that fits x."""
        matching = self.constraint.matching_y(x)
        return self.value(x) + self.regulariser.value(y if matching is None else matching)

    def x_step(self, q: Array, penalty: float, start: Array) -> Minimum:
        """Argmin over x of f(x) + (penalty/2)‖Ax + q‖², exactly.

        With K = penalty·AᵀA + ρ₀I = LLᵀ and z = Lᵀx the penalty's curvature becomes 1. Where K is a
        multiple of I it is the same in every direction as it is, and rows are left as they are.

        Raises:
            AssumptionViolated: if K is singular.
        """
        linear = penalty * self.constraint.times_A_transposed(q)
        if (even := self._even_curvature(penalty)) > 0:
            return minimise(self.mean_loss, linear, even, start)
        total, L = self._whitened(penalty)
        found = minimise(total, _solved(L, linear), 1.0, start @ L)
        return Minimum(points=_solved(L.T, found.points), gradient_norm=found.gradient_norm)

    def _curvatures(self, penalty: float) -> Array:
        """K."""
        A = self.constraint.A
        return np.asarray(penalty * A.T @ A + self.ridge * np.eye(self.dimension))

    def _even_curvature(self, penalty: float) -> float:
        """The number that K is as a multiple of I; 0 if it is none."""
        key = f"even {penalty!r}"
        if key not in self._cache:
            K = self._curvatures(penalty)
            even = np.array_equal(K, K[0, 0] * np.eye(len(K)))
            self._cache[key] = float(K[0, 0]) if even else 0.0
        held: float = self._cache[key]
        return held

    def _whitened(self, penalty: float) -> tuple[SmoothSum, Array]:
        key = f"whitened {penalty!r}"
        if key not in self._cache:
            try:
                L = np.linalg.cholesky(self._curvatures(penalty))
            except np.linalg.LinAlgError as error:
                raise AssumptionViolated(
                    "an exact x-step needs an A of full column rank or a ridge above 0; got "
                    f"rank={np.linalg.matrix_rank(self.constraint.A)} for {self.dimension} "
                    f"columns, ridge={self.ridge!r}"
                ) from error
            plain = self.mean_loss
            whitened = SmoothSum(
                rows=_whitened_rows(L, plain.rows),
                offsets=plain.offsets,
                loss=plain.loss,
                weight=plain.weight,
                large=plain.large,
            )
            self._cache[key] = whitened, L
        held: tuple[SmoothSum, Array] = self._cache[key]
        return held


def _whitened_rows(L: NDArray[Any], rows: Rows) -> Rows:
    """L⁻¹·row for every row; those in a file stay there, sparse ones so where L only scales columns."""
    if is_stored(rows):
        return rows.solved(L)
    if not sparse.is_sparse(rows):
        return _solved(L, rows)
    scales = np.diagonal(L)
    if np.array_equal(L, np.diag(scales)):
        return sparse.columns_divided(rows, scales)
    return _solved(L, rows.toarray())


def _solved(matrix: NDArray[Any], rows: Array) -> Array:
    """matrix⁻¹·row for every row."""
    return np.ascontiguousarray(np.linalg.solve(matrix, rows.T).T, dtype=np.float64)
