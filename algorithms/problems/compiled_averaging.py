"""Rounds of dual averaging on one record a node, compiled by numba where it is installed.

numpy goes through all runs' numbers some fifteen times a round; four compiled loops do so once each.
Sums have another order than those of a linear algebra library, so last digits differ from a run
without numba, by no more than rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems import compiled, sparse
from dpcalc.algorithms.problems.stored_rows import is_stored

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.algorithms.problems.smooth import SmoothSum

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompiledAveraging:
    """What all rounds have in common.

    Attributes:
        total: offsets and loss of all records that are here.
        rows: of these records: starts, columns and numbers of the CSR form, or an array where few are
            zero. What each node has does not change the bits of the others, nor its own.
        nodes: those whose records are here.
        starts: number of the first row of each of these.
        mixing: W, in CSR form: starts, columns and numbers.
        kernels: the module of the loops, which imports numba.
    """

    total: SmoothSum
    rows: tuple[Any, Any, Any] | Array
    nodes: NDArray[np.int64]
    starts: NDArray[np.int64]
    mixing: tuple[Any, Any, Any]
    kernels: Any

    @classmethod
    def of(cls, total: SmoothSum, records: Records, matrix: Any) -> CompiledAveraging | None:
        """The loops; None without numba, and for rows in a file.

        Args:
            total: the plain sum of all losses.
            records: of every node.
            matrix: W, dense or sparse.
        """
        rows = total.rows
        if not compiled.is_there() or is_stored(rows):
            return None
        from scipy.sparse import csr_array

        from dpcalc.algorithms.problems import averaging_kernels

        thin = csr_array(rows) if sparse.is_sparse(rows) or compiled.mostly_zero(rows) else None
        mixing = csr_array(matrix)
        mixing.sort_indices()
        return cls(
            total=total,
            rows=rows if thin is None else (thin.indptr, thin.indices, thin.data),
            nodes=np.array(records.present, dtype=np.int64),
            starts=np.array([records.slices[i].start for i in records.present], dtype=np.int64),
            mixing=(mixing.indptr, mixing.indices, mixing.data),
            kernels=averaging_kernels,
        )

    def messages(
        self, chosen: NDArray[np.int64], x: Array, z: Array, noise: Array, sigma: float, step: float
    ) -> Array:
        """Messages z + step·(subgradient + sigma·noise); overwrites the noise.

        Args:
            chosen: number of the record among the node's own; shape (runs, nodes).
            x: where subgradients are taken; shape (runs, nodes, d).
            z: shape (runs, nodes, d).
            noise: unit normal; shape (runs, nodes, d).
            sigma: standard deviation of the noise.
            step: a(t).

        Returns:
            Shape (runs, nodes, d); of nodes whose records are elsewhere the noise as it was.
        """
        total, kernels, dense = self.total, self.kernels, isinstance(self.rows, np.ndarray)
        products = kernels.dense_products if dense else kernels.products
        messages = kernels.dense_messages if dense else kernels.messages
        whole = len(self.nodes) == chosen.shape[1]
        index = (chosen if whole else chosen[:, self.nodes]) + self.starts
        m = np.empty(index.shape)
        products(self.rows, index, self.nodes, x, m)
        if total.offsets is not None:
            m += total.offsets[index]
        slopes = total.loss.derivative(m)
        messages(self.rows, index, self.nodes, slopes, sigma, step, z, noise)
        return noise

    def mixed(self, sent: Array) -> Array:
        """Σ_j w_ij·message_j; shapes (runs, nodes, d)."""
        found = np.empty(sent.shape)
        self.kernels.mix(*self.mixing, sent, found)
        return found

    def added_up(self, x: Array, step: float, before: Array, whole: float) -> tuple[Array, Array]:
        """Before + step·x, and that divided by ``whole``."""
        total, average = np.empty(x.shape), np.empty(x.shape)
        flat = (array.reshape(-1) for array in (total, average))
        self.kernels.add_up(x.reshape(-1), step, before.reshape(-1), 1 / whole, *flat)
        return total, average
