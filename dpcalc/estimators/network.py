"""Logistic regression by objective perturbation on a simulated network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcalc.errors import InvalidInput
from dpcalc.estimators.base import PrivateClassifier
from dpcalc.training import data
from dpcalc.training.catalogue import method

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.training.method import Method

_METHODS = (
    "dual-variable-perturbation",
    "penalty-perturbation",
    "private-mr-admm",
    "private-r-admm",
)


class NetworkClassifier(PrivateClassifier):
    """Logistic regression by private ADMM on a network (zhang2018, zhang2019).

    Every broadcast of every round is covered, as if the records really were on those nodes.

    Args:
        epsilon: ε of the budget.
        delta: δ of the budget; 0 is allowed.
        method: dual-variable-perturbation, penalty-perturbation, private-r-admm or private-mr-admm.
        nodes: of the network, 2 or more.
        graph: ring, complete, star, erdos-renyi:P or @file.
        rounds: of which all, or for the recycled methods every second, look at the data.
        penalty: None for the smallest at which curvature costs nothing.
        ridge: weight of the regulariser over all nodes.
        row_bound: a public number; longer rows are shortened to it.
        fit_intercept: whether a constant column is added.
        random_state: a seed for experiments; None takes noise seeded by the operating system.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        method: str = "dual-variable-perturbation",
        nodes: int = 2,
        graph: str = "ring",
        rounds: int = 10,
        penalty: float | None = None,
        ridge: float = 1e-3,
        row_bound: float = 1.0,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.nodes = nodes
        self.graph = graph
        self.rounds = rounds
        self.penalty = penalty
        self.ridge = ridge
        self.row_bound = row_bound
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _method(self) -> Method:
        if self.method not in _METHODS:
            raise InvalidInput(f"method needs one of {', '.join(_METHODS)}; got {self.method!r}")
        given = {"rounds": self.rounds, "penalty": self.penalty, "ridge": self.ridge}
        return method(self.method).from_parameters(given)

    def _network(self, n_records: int) -> Network:
        return data.network(self.graph, self.nodes)
