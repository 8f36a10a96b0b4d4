"""Support vector machine by private dual averaging on a simulated network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcalc.estimators.base import PrivateClassifier
from dpcalc.training.graph import network

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.training.method import Method


@dataclass(eq=False, repr=False, kw_only=True)
class AveragingClassifier(PrivateClassifier):
    """Hinge loss plus ridge by private dual averaging on a network (liu2022).

    Every message of every round is covered; delta is above 0.

    Args:
        epsilon, delta, row_bound, fit_intercept, random_state: see `PrivateLinearModel`.
        loss: hinge, logistic or smoothed-hinge.
        sampling: full, the mean over all records of a node, or one, drawn at random.
        nodes: of the network, 2 or more.
        graph: ring, complete, star, erdos-renyi:P or @file.
        rounds: T.
        ridge: weight of the regulariser |x|²/2.
        proximal: γ, the weight of |x|²/2 next to all rounds.
    """

    loss: str = "hinge"
    sampling: str = "full"
    nodes: int = 2
    graph: str = "ring"
    rounds: int = 100
    ridge: float = 5e-4
    proximal: float = 20.0

    def _method(self) -> Method:
        return self._made("private-dual-averaging", "loss sampling rounds ridge proximal")

    def _network(self, n_records: int) -> Network:
        return network(self.graph, self.nodes)
