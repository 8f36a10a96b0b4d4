"""Empirical risk minimisation spread over a network: the problem of zhang2018 and zhang2019.

    minimise Σ_i O(f, D_i),  O(f, D_i) = (C/B_i) Σ_n L(y f·x) + (ρ/N)·½‖f‖²

Node i of N holds the B_i records D_i. The regulariser R = ½‖f‖² is 1-strongly convex, as both
papers' assumption 5 wants and both their experiments have it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.problems import sparse
from dpcalc.algorithms.problems.declared import check_loss
from dpcalc.algorithms.problems.minimise import Minimum, minimise
from dpcalc.algorithms.problems.smooth import SmoothSum
from dpcalc.algorithms.problems.stored_rows import is_stored
from dpcalc.algorithms.problems.threads import Team, available
from dpcalc.errors import InvalidInput, NumericalFailure

if TYPE_CHECKING:
    from typing import Any

    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.algorithms.problems.records import Records

Array = NDArray[np.float64]

_LARGE = 2**23
"""Numbers in the features of all nodes from which memory counts for more than a little time."""

_ALONE = 2**18
"""Records times runs below which nodes are too little work to share."""

AT_ONCE = 4
"""Nodes that are minimised at a time, at most: each holds a number per record and run."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConsensusProblem:
    """Records, a network, a loss and the weights of loss and regulariser.

    Attributes:
        records: one group of records per node.
        network: as many nodes.
        loss: L.
        loss_weight: C, above 0; zhang2018 asks for C <= B_i.
        ridge: ρ, above 0: the weight of the regulariser in the sum over all nodes.
    """

    records: Records
    network: Network
    loss: Loss
    loss_weight: float = 1.0
    ridge: float
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        checks.positive("loss_weight", self.loss_weight)
        checks.positive("ridge", self.ridge)
        check_on_network(self.records, self.network, self.loss)

    def with_records(self, records: Records) -> Self:
        """The same problem with other data."""
        return replace(self, records=records)

    @property
    def nodes(self) -> int:
        """N."""
        return self.network.nodes

    @property
    def dimension(self) -> int:
        """D."""
        return self.records.dimension

    @property
    def data_weights(self) -> Array:
        """C/B_i of every node."""
        return self.loss_weight / np.array(self.records.sizes)

    @property
    def node_ridge(self) -> float:
        """ρ/N."""
        return self.ridge / self.nodes

    @property
    def sums(self) -> tuple[SmoothSum, ...]:
        """(C/B_i) Σ_n L of every node whose records are here; built once."""
        if "sums" not in self._cache:
            slices, weights = self.records.slices, self.data_weights
            self._cache["sums"] = tuple(
                smooth_sum(self.records, slices[i], self.loss, float(weights[i]))
                for i in self.records.present
            )
        held: tuple[SmoothSum, ...] = self._cache["sums"]
        return held

    def minimisers(self, linear: Array, curvature: Array, start: Array) -> Minimum:
        """Every node's exact minimiser of its objective plus c_iᵀf + (h_i/2)‖f‖².

        Args:
            linear: c; shape (runs, nodes, d).
            curvature: h, on top of the regulariser; shape (nodes,).
            start: where to begin; shape (runs, nodes, d).

        Returns:
            Points of shape (runs, nodes, d) and gradient norms of shape (runs, nodes); zeros for
            nodes whose records are elsewhere. Nodes are shared among threads, with the same bits on
            any number of them.
        """
        points, norms = np.zeros_like(linear), np.zeros(linear.shape[:2])
        sums = self.sums

        def solve(part: int) -> None:
            i = self.records.present[part]
            h = self.node_ridge + float(curvature[i])
            found = minimise(sums[part], linear[:, i], h, start[:, i])
            points[:, i], norms[:, i] = found.points, found.gradient_norm

        small = len(linear) * len(self.records.labels) < _ALONE
        one = small or is_stored(self.records.features)  # blocks of one node fit into the memory
        with Team(1 if one else min(available(), AT_ONCE)) as team:
            team.share(solve, len(sums))
        return Minimum(points=points, gradient_norm=norms)

    def gradients(self, points: Array) -> Array:
        """∇O(f_i, D_i) of every node at its own point; shapes (runs, nodes, d)."""
        data = [total.gradient(points[:, i]) for i, total in enumerate(self.sums)]
        return np.stack(data, axis=1) + self.node_ridge * points

    def hessian_log_determinants(self, points: Array, curvature: Array) -> Array:
        """Ln det(∇²O(f_i, D_i) + h_i·I) of every node at its own point; shape (runs, nodes)."""
        result = np.empty(points.shape[:2])
        for i, total in enumerate(self.sums):
            h = self.node_ridge + float(curvature[i])
            result[:, i] = total.log_determinant(points[:, i], h)
        return result

    def average_loss(self, points: Array) -> Array:
        """(1/N) Σ_i (1/B_i) Σ_n L(y f_i·x), the papers' L(t); shape (runs,)."""
        values = [total.value(points[:, i]) for i, total in enumerate(self.sums)]
        return np.asarray(sum(values) / (self.loss_weight * self.nodes))

    def objective(self, points: Array) -> Array:
        """Σ_i O(f, D_i) at one common point per run; shape (runs, d) to (runs,)."""
        data = np.asarray(sum(total.value(points) for total in self.sums))
        return np.asarray(data + self.ridge / 2 * np.einsum("rk,rk->r", points, points))

    def optimum(self) -> Array:
        """The minimiser of the objective; shape (d,); found centrally, by Newton's method.

        Raises:
            NumericalFailure: if Newton's method did not reach rounding error, as with a kink.
        """
        point = np.zeros((1, self.dimension))
        for _ in range(200 if self.loss.smooth else 0):
            gradient = sum(total.gradient(point) for total in self.sums) + self.ridge * point
            hessian = np.sum([total.hessian(point)[0] for total in self.sums], axis=0)
            hessian += self.ridge * np.eye(self.dimension)
            step = -np.linalg.solve(hessian, gradient[0])
            value, decrease = float(self.objective(point)[0]), -float(gradient[0] @ step)
            slack = 1e-12 * (1 + abs(value))
            if decrease <= slack:  # the last step squares this
                return np.asarray(point[0] + step)
            length = 1.0
            while self.objective(point + length * step)[0] > value - length * decrease / 4 + slack:
                length /= 2
            point = point + length * step
        raise NumericalFailure(
            f"the central optimum was not reached; got loss={self.loss.name!r}; "
            "use a differentiable loss"
        )


def smooth_sum(records: Records, part: slice, loss: Loss, weight: float) -> SmoothSum:
    """weight·Σ of the loss over some of the records."""
    rows, labels = sparse.consecutive(records.features, part), records.labels[part]
    offsets = None if loss.of_margin else -labels
    if loss.of_margin and not (labels == 1).all():
        rows = sparse.times(rows, labels)
    large = records.features.size > _LARGE
    return SmoothSum(rows=rows, offsets=offsets, loss=loss, weight=weight, large=large)


def check_on_network(records: Records, network: Network, loss: Loss) -> None:
    """Refuse records that are not one group per node, or whose labels the loss cannot have."""
    if records.nodes != network.nodes:
        raise InvalidInput(
            "expected one group of records per node; got records for "
            f"nodes={records.nodes} and a network of nodes={network.nodes}; "
            "split(features, labels, network.nodes) deals them out"
        )
    check_loss(loss)
    check_labels(records, loss)


def check_labels(records: Records, loss: Loss) -> None:
    """Refuse labels other than ±1 under a classification loss."""
    labels = records.labels
    wrong = ~(np.isin(labels, (-1.0, 1.0)) | np.isnan(labels))
    if loss.of_margin and wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInput(
            f"expected labels +1 or -1 by loss={loss.name!r}; got label={float(labels[row])!r} in "
            f"row {row}; map the two classes to +1 and -1 (--positive VALUE of a CSV file)"
        )
