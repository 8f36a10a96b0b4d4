"""Logistic regression by objective perturbation on a simulated network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcalc.errors import InvalidInput
from dpcalc.estimators.classifier import PrivateClassifier
from dpcalc.training.graph import network

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.training.method import Budget, Method

_METHODS = (
    "dual-variable-perturbation",
    "gaussian-mr-admm",
    "penalty-perturbation",
    "private-mr-admm",
    "private-r-admm",
)


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkClassifier(PrivateClassifier):
    """Logistic regression by private ADMM on a network (zhang2018, zhang2019).

    Every broadcast of every round is covered, as if the records really were on those nodes. What is
    None is chosen from the number of records and columns, the nodes and the budget alone. One round
    is a local model of every node, of which the mean is taken; more cost more in noise than they gain
    in agreement, unless there is little noise (`dpcalc.training.defaults.looks`). Two nodes make one
    round: ten at ε = 10⁴ move held-out accuracy on a9a, a8a, ijcnn1 and Adult by some .0001 either
    way. The ridge follows the rule that was fitted on data sets that are named there.

    Example::

        import numpy as np
        from dpcalc.estimators import NetworkClassifier
        X = np.random.default_rng(0).normal(size=(500, 2))
        found = NetworkClassifier(epsilon=1, delta=1e-5, row_bound=4).fit(X, X[:, 0] > 0)
        print(found.certified_)

    Args:
        epsilon, delta, row_bound, fit_intercept, accountant, random_state: see
            `PrivateLinearModel`; delta may be 0.
        method: dual-variable-perturbation, penalty-perturbation, private-r-admm, private-mr-admm, or
            gaussian-mr-admm, which needs a delta above 0.
        nodes: of the network, 2 or more.
        graph: ring, complete, star, erdos-renyi:P or @file.
        rounds: of which all, or for the recycled methods every second, look at the data. Of more than
            two the model is the mean over the later half.
        penalty: None for the smallest at which curvature costs nothing.
        ridge: weight of the regulariser over all nodes.
    """

    method: str = "dual-variable-perturbation"
    nodes: int = 2
    graph: str = "ring"
    rounds: int | None = None
    penalty: float | None = None
    ridge: float | None = None

    def _method(self, n_records: int, dimension: int, budget: Budget) -> Method:
        if self.method not in _METHODS:
            raise InvalidInput(f"method needs one of {', '.join(_METHODS)}; got {self.method!r}")
        del n_records, dimension, budget  # the method knows them when it is given records
        rounds = 1 if self.nodes == 2 else None
        return self._made(self.method, "penalty ridge", rounds=rounds)

    def _network(self, n_records: int) -> Network:
        return network(self.graph, self.nodes)
