"""The linear constraint Ax + By = c of a problem with two blocks of variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.transcript import read_only

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from dpcalc.algorithms.problems.regularisers import Regulariser

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Constraint:
    """Ax + By = c.

    Attributes:
        A: shape (d3, d1).
        B: shape (d3, d2).
        c: shape (d3,).
    """

    A: Array
    B: Array
    c: Array
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        A, B, c = (np.asarray(part, dtype=np.float64) for part in (self.A, self.B, self.c))
        shapes = A.shape, B.shape, c.shape
        if not (A.ndim == B.ndim == 2 and c.ndim == 1 and len(A) == len(B) == len(c) > 0):
            raise InvalidInput(f"expected A, B and c with the same number of rows; got {shapes}")
        if not all(np.isfinite(part).all() for part in (A, B, c)):
            raise InvalidInput("A, B and c need finite numbers; got inf or nan")
        for name, part in (("A", A), ("B", B), ("c", c)):
            object.__setattr__(self, name, read_only(part))

    def times_A(self, x: Array) -> Array:  # noqa: N802 - the paper's matrix
        """Ax for every row of ``x``."""
        return _times(self._multiple("A"), self.A, x)

    def times_A_transposed(self, z: Array) -> Array:  # noqa: N802 - the paper's matrix
        """Aᵀz for every row of ``z``."""
        return _times(self._multiple("A"), self.A.T, z)

    def times_B(self, y: Array) -> Array:  # noqa: N802 - the paper's matrix
        """By for every row of ``y``."""
        return _times(self._multiple("B"), self.B, y)

    def times_B_transposed(self, z: Array, sign: int = 1) -> Array:  # noqa: N802
        """Bᵀz, or with sign -1 its opposite, for every row of ``z``."""
        multiple = self._multiple("B")
        return sign * (z @ self.B) if multiple is None else _scaled(sign * multiple, z)

    def shortfall(self, y: Array) -> Array:
        """C - By for every row of ``y``."""
        multiple = self._multiple("B")
        opposite = -(y @ self.B.T) if multiple is None else _scaled(-multiple, y)
        return opposite + self.c if self.c.any() else opposite

    def residual(self, x: Array, y: Array) -> Array:
        """Ax + By - c."""
        return self.times_A(x) - self.shortfall(y)

    def y_step(self, g: Regulariser, v: Array, penalty: float) -> Array:
        """Argmin over y of g(y) + (penalty/2)‖v + By‖², exactly; see `y_argmin`."""
        return self.y_argmin(g, self.times_B_transposed(penalty * v), penalty)

    def y_argmin(self, g: Regulariser, linear: Array, penalty: float) -> Array:
        """Argmin over y of g(y) + ⟨linear, y⟩ + (penalty/2)‖By‖², exactly.

        Raises:
            AssumptionViolated: if that has no closed form: g is not quadratic and the columns of B
                are not orthogonal.
        """
        gram, diagonal, orthogonal = self._gram()
        if orthogonal:
            same = bool((diagonal == diagonal[0]).all())
            ridge = penalty * (float(diagonal[0]) if same else diagonal)
            return g.argmin(linear, ridge=ridge)
        if not g.quadratic:
            raise AssumptionViolated(
                "an exact y-step needs orthogonal columns of B or a quadratic regulariser; got "
                f"regulariser={g.name!r} and a B with correlated columns; use B = -I"
            )
        total = penalty * gram + g.strong_convexity * np.eye(len(gram))
        return np.asarray(np.linalg.solve(total, -linear[..., None])[..., 0], dtype=np.float64)

    def _gram(self) -> tuple[Array, Array, bool]:
        """BᵀB, its diagonal, and whether that is all of it; computed once."""
        if "gram" not in self._cache:
            gram = self.B.T @ self.B
            diagonal = np.diagonal(gram)
            plain = np.count_nonzero(gram - np.diag(diagonal)) == 0
            self._cache["gram"] = gram, diagonal, plain
        held: tuple[Array, Array, bool] = self._cache["gram"]
        return held

    def matching_y(self, x: Array) -> Array | None:
        """The y with Ax + By = c, if B is a multiple of the identity; else None."""
        multiple = self._multiple("B")
        if not multiple:
            return None
        excess = self.times_A(x) - self.c if self.c.any() else self.times_A(x)
        return _scaled(-1 / multiple, excess)

    def gap(self, x: Array, y: Array) -> Array:
        """‖Ax + By - c‖ of every run."""
        residual = self.residual(x, y)
        square: Array = np.einsum("rk,rk->r", residual, residual)
        return np.sqrt(square)

    def singular_values(self) -> Array:
        """Singular values of A, decreasing; computed once."""
        if "singular values" not in self._cache:
            self._cache["singular values"] = np.linalg.svd(self.A, compute_uv=False)
        held: Array = self._cache["singular values"]
        return held

    def _multiple(self, name: str) -> float | None:
        """The factor if that matrix is a multiple of the identity."""
        if name not in self._cache:
            matrix: Array = getattr(self, name)
            factor = float(matrix[0, 0])
            square = matrix.shape[0] == matrix.shape[1]
            plain = square and bool((matrix == factor * np.eye(len(matrix))).all())
            self._cache[name] = factor if plain else None
        held: float | None = self._cache[name]
        return held


def _times(multiple: float | None, matrix: Array, x: Array) -> Array:
    return x @ matrix.T if multiple is None else _scaled(multiple, x)


def _scaled(factor: float, x: Array) -> Array:
    """factor·x; x itself, not a copy, if the factor is 1."""
    return x if factor == 1 else factor * x


def copies(dimension: int) -> Constraint:
    """X - y = 0: y is a copy of x, so that g regularises x itself."""
    checks.count("dimension", dimension)
    one = np.eye(dimension)
    return Constraint(A=one, B=-one, c=np.zeros(dimension))


def graph_guided(
    dimension: int, edges: Iterable[tuple[int, int]], weights: ArrayLike | None = None
) -> Constraint:
    """[W; I]x - y = 0 with a row w·(x_i - x_j) of W per edge between features i and j.

    With g = λ‖y‖₁ this is the graph-guided fused lasso of shang2021, equation (11). A graph that
    was estimated from the data is itself a look at the data, and no algorithm here charges it.

    Args:
        dimension: number of features.
        edges: pairs of features.
        weights: one per edge; 1 if left out. A negative weight couples x_i to -x_j.
    """
    pairs = [(int(i), int(j)) for i, j in edges]
    factor = np.ones(len(pairs)) if weights is None else np.asarray(weights, dtype=np.float64)
    if len(factor) != len(pairs):
        raise InvalidInput(f"expected one weight per edge; got {len(factor)} for {len(pairs)}")
    if any(not (0 <= i < dimension and 0 <= j < dimension and i != j) for i, j in pairs):
        raise InvalidInput(f"expected edges between two features 0..{dimension - 1}; got {pairs}")
    W = np.zeros((len(pairs), dimension))
    for row, ((i, j), weight) in enumerate(zip(pairs, factor, strict=True)):
        W[row, i], W[row, j] = abs(weight), -weight
    A = np.vstack([W, np.eye(dimension)])
    return Constraint(A=A, B=-np.eye(len(A)), c=np.zeros(len(A)))
