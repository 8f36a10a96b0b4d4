"""Regularised empirical risk over a network: the problem of liu2022.

    minimise F(x) = (1/N) Σ_i f_i(x) + h(x),  f_i(x) = (1/q_i) Σ_j l(x, record j of node i)

with a strongly convex public regulariser h and a symmetric, doubly stochastic mixing matrix W.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.compiled_averaging import CompiledAveraging
from dpcalc.algorithms.problems.consensus import check_on_network, smooth_sum
from dpcalc.algorithms.problems.declared import check_regulariser
from dpcalc.algorithms.problems.networks import apply_matrix, mixing_matrix
from dpcalc.algorithms.problems.sparse import dense_rows
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.algorithms.problems.regularisers import Regulariser
    from dpcalc.algorithms.problems.smooth import SmoothSum

Array = NDArray[np.float64]

_FEW = 32
"""Nodes up to which a product with a dense matrix costs less than the call of a sparse one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AveragingProblem:
    """Records, a network with mixing weights, a loss and a regulariser.

    Attributes:
        records: one group of records per node.
        network: as many nodes.
        loss: l.
        regulariser: h.
        mixing: "metropolis", "uniform" or a matrix W that is zero off the edges.
    """

    records: Records
    network: Network
    loss: Loss
    regulariser: Regulariser
    mixing: str | Array = "metropolis"
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_on_network(self.records, self.network, self.loss)
        check_regulariser(self.regulariser, self.records.dimension)
        if isinstance(self.mixing, str):
            matrix = mixing_matrix(self.mixing, self.network)
            self._cache["W"] = matrix.toarray() if self.nodes <= _FEW else matrix
        else:
            self._cache["W"] = _checked_matrix(np.asarray(self.mixing), self.network)

    def with_records(self, records: Records) -> Self:
        """The same problem with other data."""
        return replace(self, records=records)

    @property
    def matrix(self) -> Any:
        """W, dense or sparse."""
        return self._cache["W"]

    @property
    def nodes(self) -> int:
        """N."""
        return self.network.nodes

    @property
    def dimension(self) -> int:
        """Number of features."""
        return self.records.dimension

    def mix(self, messages: Array) -> Array:
        """Σ_j w_ij·message_j; shapes (runs, nodes, d)."""
        return apply_matrix(self.matrix, messages)

    @property
    def everything(self) -> SmoothSum:
        """The plain sum of all losses; a store of rows and offsets, built once."""
        if "all" not in self._cache:
            whole = slice(0, len(self.records.labels))
            self._cache["all"] = smooth_sum(self.records, whole, self.loss, 1.0)
        held: SmoothSum = self._cache["all"]
        return held

    def part(self, node: int, batch: int, batch_size: int | None) -> SmoothSum:
        """Mean loss of a node, or of one of its batches of consecutive records; built once."""
        key = f"{node} {batch} {batch_size}"
        if key not in self._cache:
            where = self.records.slices[node]
            size = self.records.sizes[node]
            if batch_size is not None:
                first = where.start + batch * batch_size
                where, size = slice(first, first + batch_size), batch_size
            self._cache[key] = smooth_sum(self.records, where, self.loss, 1 / size)
        held: SmoothSum = self._cache[key]
        return held

    def record_gradients(self, chosen: NDArray[np.int64], x: Array) -> Array:
        """A subgradient at one record per run and node.

        Args:
            chosen: number of the record among the node's own; shape (runs, nodes).
            x: shape (runs, nodes, d).

        Returns:
            Shape (runs, nodes, d); zeros for nodes whose records are elsewhere.
        """
        total, here = self.everything, self.records.present
        if "starts" not in self._cache:
            self._cache["starts"] = np.array([self.records.slices[i].start for i in here])
        own = chosen if len(here) == self.nodes else chosen[:, here]
        points = x if len(here) == self.nodes else x[:, here]
        index = own + self._cache["starts"]
        rows = dense_rows(total.rows, index)
        m = np.einsum("rik,rik->ri", rows, points)
        if total.offsets is not None:
            m = m + total.offsets[index]
        rows *= total.loss.derivative(m)[..., None]
        if len(here) == self.nodes:
            return rows
        found = np.zeros_like(x)
        found[:, here] = rows
        return found

    def loops(self) -> CompiledAveraging | None:
        """Compiled rounds, where they can be had; built once."""
        if "loops" not in self._cache:
            self._cache["loops"] = CompiledAveraging.of(self.everything, self.records, self.matrix)
        held: CompiledAveraging | None = self._cache["loops"]
        return held

    def objective(self, x: Array) -> Array:
        """F at one point per run; shape (runs, d) to (runs,)."""
        data = sum(self.part(i, 0, None).value(x) for i in range(self.nodes))
        return np.asarray(data / self.nodes + self.regulariser.value(x))


def _checked_matrix(matrix: Array, network: Network) -> Array:
    """The matrix, if it is symmetric, doubly stochastic and respects the network."""
    n = network.nodes
    if matrix.shape != (n, n):
        raise InvalidInput(f"mixing needs shape ({n}, {n}); got shape={matrix.shape!r}")
    edges = np.eye(n, dtype=bool) | (network.adjacency.toarray() > 0)
    reasons = {
        "entries in [0, 1]": ((matrix >= 0) & (matrix <= 1)).all(),
        "symmetry": np.allclose(matrix, matrix.T, rtol=0, atol=1e-12),
        "rows that sum to 1": np.allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-9),
        "zeros off the edges": (matrix[~edges] == 0).all(),
    }
    missing = [reason for reason, holds in reasons.items() if not holds]
    if missing:
        raise InvalidInput(
            f"mixing needs {', '.join(missing)}; got mixing={matrix!r}; "
            "metropolis weights have all of it"
        )
    return matrix
