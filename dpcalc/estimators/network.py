"""Logistic regression by objective perturbation on a simulated network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcalc.errors import InvalidInput
from dpcalc.estimators.base import PrivateClassifier
from dpcalc.training.graph import network

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.training.method import Method

_METHODS = (
    "dual-variable-perturbation",
    "penalty-perturbation",
    "private-mr-admm",
    "private-r-admm",
)


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkClassifier(PrivateClassifier):
    """Logistic regression by private ADMM on a network (zhang2018, zhang2019).

    Every broadcast of every round is covered, as if the records really were on those nodes.

    Args:
        epsilon, delta, row_bound, fit_intercept, random_state: see `PrivateLinearModel`; delta may
            be 0.
        method: dual-variable-perturbation, penalty-perturbation, private-r-admm or private-mr-admm.
        nodes: of the network, 2 or more.
        graph: ring, complete, star, erdos-renyi:P or @file.
        rounds: of which all, or for the recycled methods every second, look at the data.
        penalty: None for the smallest at which curvature costs nothing.
        ridge: weight of the regulariser over all nodes.
    """

    method: str = "dual-variable-perturbation"
    nodes: int = 2
    graph: str = "ring"
    rounds: int = 10
    penalty: float | None = None
    ridge: float = 1e-3

    def _method(self) -> Method:
        if self.method not in _METHODS:
            raise InvalidInput(f"method needs one of {', '.join(_METHODS)}; got {self.method!r}")
        return self._made(self.method, "rounds penalty ridge")

    def _network(self, n_records: int) -> Network:
        return network(self.graph, self.nodes)
