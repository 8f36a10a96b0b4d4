"""Weighted sums of losses over the records of one node, evaluated for many runs at once.

For rows r_n and offsets o_n, F(f) = w Σ_n φ(r_nᵀf + o_n), where a classification loss has r = y·x,
o = 0 and a regression loss r = x, o = -y. Points are arrays of shape (runs, d). Work goes through
tiles of records small enough to stay in the processor's cache, so the cost is linear in records
times runs and memory is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems import sparse
from dpcalc.algorithms.problems.compiled import CompiledRows
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.rows import MixedRows
from dpcalc.algorithms.problems.stored_rows import in_memory, is_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dpcalc.algorithms.problems.losses import Floats, Loss
    from dpcalc.algorithms.problems.sparse import Rows

Array = NDArray[np.float64]

_TILE = 2**17  # numbers in a tile of records times runs
_MANY = 2**14  # numbers in records times runs from which rare columns are kept sparse
_RUNS = 8  # runs from which rows of any size are copied into the form that is fastest
_HESSIANS = 2**22  # numbers in the weighted rows of a chunk of runs
_ONE_CORE = 2**18  # multiplications in a product too small to be worth a second core
_FEW = 16  # features up to which a second core is never worth it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothSum:
    """w Σ φ(r_nᵀf + o_n).

    Attributes:
        rows: shape (n, d); an array, in CSR form or in a file.
        offsets: shape (n,), or None for zeros.
        loss: φ.
        weight: w, above 0.
        large: whether all records are so many that rows are copied for many runs only.
    """

    rows: Rows
    offsets: Array | None
    loss: Loss
    weight: float
    large: bool = False
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def count(self) -> int:
        """n, the number of records."""
        return int(self.rows.shape[0])

    def value(self, points: Array) -> Array:
        """F at every point; shape (runs,)."""
        if self._compact:
            constant, linear, matrix = self.moments()
            return constant + np.einsum("rk,rk->r", linear + _times(points, matrix) / 2, points)
        total = np.zeros(len(points))
        for _, m in self._margins(points.T):
            total += self.loss.value(m).sum(axis=0)
        return self.weight * total

    def gradient(self, points: Array) -> Array:
        """∇F at every point; shape (runs, d)."""
        if self._compact:
            _, linear, matrix = self.moments()
            return linear + _times(points, matrix)
        total = np.zeros(points.shape[::-1])
        for rows, m in self._margins(points.T):
            total += sparse.transposed(rows) @ self.loss.derivative(m)
        return np.ascontiguousarray(self.weight * total.T)

    def hessian(self, points: Array) -> Array:
        """∇²F at every point; shape (runs, d, d)."""
        if is_stored(self.rows):
            return np.asarray(sum(part.hessian(points) for part in self._blocks()))
        runs, d = points.shape
        result = np.empty((runs, d, d))
        for part in self._chunks(runs):
            bend = self.loss.second_derivative(self.margins(points[part]))
            if sparse.is_sparse(self.rows):
                result[part] = [sparse.gram(self.rows, self.weight * each) for each in bend]
            else:
                weighted = self.rows.T * (self.weight * bend)[:, None, :]
                np.matmul(weighted, self.rows, out=result[part])
        return result

    def log_determinant(self, points: Array, curvature: float) -> Array:
        """Ln det(∇²F + h·I) at every point; shape (runs,)."""
        d = points.shape[1]
        result = np.empty(len(points))
        for part in self._chunks(len(points)):
            hessian = self.hessian(points[part]) + curvature * np.eye(d)
            diagonal = np.diagonal(np.linalg.cholesky(hessian), axis1=-2, axis2=-1)
            result[part] = 2 * np.log(diagonal).sum(axis=-1)
        return result

    def margins(self, points: Array) -> Array:
        """r_nᵀf + o_n; shape (runs, n)."""
        m = points @ self.rows.T
        return m if self.offsets is None else m + self.offsets

    @property
    def _compact(self) -> bool:
        """Whether F is a quadratic that is cheaper to evaluate from its coefficients."""
        few = self.count > self.rows.shape[1]
        return self.loss.quadratic and few and not is_stored(self.rows)

    def moments(self) -> tuple[float, Array, Array]:
        """F(0), ∇F(0) and ∇²F of a quadratic F; computed once."""
        if "moments" not in self._cache:
            zero = np.zeros((1, self.rows.shape[1]))
            m = self.margins(zero)
            constant = self.weight * float(self.loss.value(m).sum())
            linear = self.weight * (self.loss.derivative(m)[0] @ self.rows)
            self._cache["moments"] = constant, linear, self.hessian(zero)[0]
        held: tuple[float, Array, Array] = self._cache["moments"]
        return held

    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues, increasing, and eigenvectors of w Σ r_n r_nᵀ; computed once."""
        if "spectrum" not in self._cache:
            values, vectors = np.linalg.eigh(self.weight * sparse.gram(self.rows))
            self._cache["spectrum"] = np.maximum(values, 0.0), vectors
        held: tuple[Array, Array] = self._cache["spectrum"]
        return held

    def worth_copying(self, runs: int) -> bool:
        """Whether rows in another form or precision save more time than making them costs.

        Few runs go through large rows as fast as they come from memory, in whatever form.
        """
        if is_stored(self.rows):
            return False
        return runs >= _RUNS or not (self.large or sparse.is_sparse(self.rows))

    def rows_as(self, dtype: type[np.floating[Any]]) -> Any:
        """The rows in single or double precision; the copy is made once."""
        if dtype == self.rows.dtype:
            return self.rows
        if "single" not in self._cache:
            same = sparse.is_sparse(self.rows)
            self._cache["single"] = (
                sparse.with_data(self.rows, self.rows.data.astype(dtype))
                if same
                else self.rows.astype(dtype)
            )
        return self._cache["single"]

    def folded(
        self, columns: Floats, between: Callable[[slice, Floats], Floats], batch: int
    ) -> Array:
        """Σ_n r_n·between(r_nᵀ·columns), in the precision of the columns; shape (d, runs).

        Args:
            columns: shape (d, runs).
            between: see `MixedRows.folded`.
            batch: runs that are or were worked on together; decides the form of the rows.
        """
        thin = self._thin(columns.dtype, batch)
        if thin is not None:
            return thin.folded(columns, between)
        rows = self.rows_as(columns.dtype.type)
        total = np.zeros(columns.shape)
        for tile in self.tiles(columns.shape[1]):
            part = in_memory(sparse.consecutive(rows, tile))
            total += sparse.transposed(part) @ between(tile, part @ columns)
        return total

    def slopes(self, columns: Floats, bends: Floats, batch: int) -> tuple[Array, Array, Array]:
        """Σ_n r_n·φ' at the columns, in their precision; w·φ'' of every record goes into ``bends``.

        Args:
            columns: points; shape (d, runs).
            bends: shape (n, runs).
            batch: see `folded`.

        Returns:
            The sum, of shape (d, runs), and for every run Σφ'² and Σw·φ''.
        """
        thin = self._thin(columns.dtype, batch)
        if isinstance(thin, CompiledRows) and self.offsets is None and type(self.loss) is Logistic:
            return thin.logistic(columns, self.weight, bends)
        squares = np.zeros(columns.shape[1])

        def slope(tile: slice, m: Floats) -> Floats:
            if self.offsets is not None:
                m += self.offsets[tile, None].astype(m.dtype, copy=False)
            found = self.loss.derivatives(m, self.weight, bends[tile])
            np.add(squares, np.einsum("kr,kr->r", found, found), out=squares)
            return found

        total = self.folded(columns, slope, batch)
        levels = np.ones(self.count, bends.dtype) @ bends
        return total, squares, levels.astype(np.float64, copy=False)

    def weighted(self, columns: Floats, weights: Floats, batch: int) -> Array:
        """Σ_n r_n·(weights_n ∘ r_nᵀ·columns), in the precision of both; shape (d, runs).

        Args:
            columns: shape (d, runs).
            weights: shape (n, runs).
            batch: see `folded`.
        """
        thin = self._thin(columns.dtype, batch)
        if isinstance(thin, CompiledRows):
            return thin.weighted(columns, weights)
        return self.folded(columns, lambda tile, m: np.multiply(m, weights[tile], out=m), batch)

    def weighted_gram(self, weights: Floats, batch: int) -> Array:
        """Σ weights_n·r_n r_nᵀ, in the precision of the weights or a higher one; shape (d, d)."""
        thin = self._thin(weights.dtype, batch)
        if isinstance(thin, CompiledRows):
            return thin.gram(weights)
        found = sparse.gram(self.rows_as(weights.dtype.type), weights)
        return found.astype(np.float64, copy=False)

    def _thin(self, dtype: np.dtype[Any], runs: int) -> CompiledRows | MixedRows | None:
        """The rows without their zeros, where that pays; built once for every precision."""
        if self.count * runs < _MANY or not self.worth_copying(runs):
            return None
        key = f"thin {dtype}"
        if key not in self._cache:
            rows = self.rows_as(dtype.type)
            found: CompiledRows | MixedRows | None = CompiledRows.of(rows)
            if found is None and not sparse.is_sparse(rows):
                found = MixedRows.of(rows)
            self._cache[key] = found
        held: CompiledRows | MixedRows | None = self._cache[key]
        return held

    def longest_row(self) -> float:
        """The largest norm of a row; computed once."""
        if "longest" not in self._cache:
            self._cache["longest"] = float(np.sqrt(sparse.squared_norms(self.rows).max()))
        return float(self._cache["longest"])

    def tiles(self, runs: int) -> Iterator[slice]:
        """Consecutive slices of records; with few features, small enough to stay on one core.

        Of rows in a file no more than fit into memory, so that these decide the bits too.
        """
        d = self.rows.shape[1]
        numbers = _TILE if d > _FEW else _ONE_CORE // d
        size = max(numbers // runs, 16)
        if is_stored(self.rows):
            size = min(size, self.rows.block)
        return (slice(start, start + size) for start in range(0, self.count, size))

    def _chunks(self, runs: int) -> Iterator[slice]:
        """Runs few enough that their weighted rows fit in memory."""
        rows = self.rows[: self.rows.block] if is_stored(self.rows) else self.rows
        size = max(_HESSIANS // max(rows.size, rows.shape[1] ** 2), 1)
        return (slice(start, start + size) for start in range(0, runs, size))

    def _blocks(self) -> Iterator[SmoothSum]:
        """The sums over every block of rows in a file, in their order."""
        for start in range(0, self.count, self.rows.block):
            tile = slice(start, start + self.rows.block)
            offsets = None if self.offsets is None else self.offsets[tile]
            yield replace(self, rows=self.rows[tile].read(), offsets=offsets)

    def _margins(self, columns: Floats) -> Iterator[tuple[Rows, Floats]]:
        """Rows and margins tile by tile; shapes (records of the tile, d) and (..., runs)."""
        for tile in self.tiles(columns.shape[1]):
            rows = in_memory(sparse.consecutive(self.rows, tile))
            m = rows @ columns
            if self.offsets is not None:
                m += self.offsets[tile, None]
            yield rows, m


def _times(points: Array, matrix: Array) -> Array:
    """points·matrix, in slices that a threaded linear algebra library leaves to one core.

    For a few dozen features waiting for a second core costs more than it brings, and far more on a
    busy machine.
    """
    size = max(_ONE_CORE // matrix.size, 16)
    if len(points) <= size:
        return points @ matrix
    result = np.empty((len(points), matrix.shape[1]))
    for start in range(0, len(points), size):
        part = slice(start, start + size)
        np.matmul(points[part], matrix, out=result[part])
    return result
