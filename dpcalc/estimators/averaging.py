"""Support vector machine by private dual averaging on a simulated network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcalc.estimators.base import PrivateClassifier
from dpcalc.training import data
from dpcalc.training.catalogue import method

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.training.method import Method


class AveragingClassifier(PrivateClassifier):
    """Hinge loss plus ridge by private dual averaging on a network (liu2022).

    Every message of every round is covered.

    Args:
        epsilon: ε of the budget.
        delta: δ of the budget, above 0.
        loss: hinge, logistic or smoothed-hinge.
        sampling: full, the mean over all records of a node, or one, drawn at random.
        nodes: of the network, 2 or more.
        graph: ring, complete, star, erdos-renyi:P or @file.
        rounds: T.
        ridge: weight of the regulariser |x|²/2.
        proximal: γ, the weight of |x|²/2 next to all rounds.
        row_bound: a public number; longer rows are shortened to it.
        fit_intercept: whether a constant column is added.
        random_state: a seed for experiments; None takes noise seeded by the operating system.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        loss: str = "hinge",
        sampling: str = "full",
        nodes: int = 2,
        graph: str = "ring",
        rounds: int = 100,
        ridge: float = 5e-4,
        proximal: float = 20.0,
        row_bound: float = 1.0,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.loss = loss
        self.sampling = sampling
        self.nodes = nodes
        self.graph = graph
        self.rounds = rounds
        self.ridge = ridge
        self.proximal = proximal
        self.row_bound = row_bound
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _method(self) -> Method:
        names = ("loss", "sampling", "rounds", "ridge", "proximal")
        return method("private-dual-averaging").from_parameters(
            {n: getattr(self, n) for n in names}
        )

    def _network(self, n_records: int) -> Network:
        return data.network(self.graph, self.nodes)
