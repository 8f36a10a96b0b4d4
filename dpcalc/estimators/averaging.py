"""Support vector machine by private dual averaging on a simulated network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcalc.estimators.classifier import PrivateClassifier
from dpcalc.training.defaults import (
    averaging_rounds,
    noise_norm,
    proximal_weight,
    too_many_rounds,
)
from dpcalc.training.graph import network
from dpcalc.training.method import get_loss

if TYPE_CHECKING:
    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.training.method import Budget, Method


@dataclass(eq=False, repr=False, kw_only=True)
class AveragingClassifier(PrivateClassifier):
    """Hinge loss plus ridge by private dual averaging on a network (liu2022).

    Every message of every round is covered; delta is above 0. What is None is chosen from the number
    of records and columns and the budget alone, by the rules of `dpcalc.training.defaults`, which
    were fitted on data sets that are named there.

    Example::

        import numpy as np
        from dpcalc.estimators import AveragingClassifier
        X = np.random.default_rng(0).normal(size=(500, 2))
        found = AveragingClassifier(epsilon=1, delta=1e-5, row_bound=4).fit(X, X[:, 0] > 0)
        print(found.certified_)

    Args:
        epsilon, delta, row_bound, fit_intercept, accountant, random_state: see
            `PrivateLinearModel`.
        loss: hinge, logistic or smoothed-hinge; or a `Loss` of your own, whose declared bounds are
            checked.
        sampling: full, the mean over all records of a node, or one, drawn at random.
        gradients_at: iterates, as in the paper, or averages, the weighted means of the iterates so
            far; both spend the same. Averages learn in fewer rounds, but are left with more of the
            noise, and with more of what nodes differ by: if None, they are taken for budgets so large
            that iterates would need over 16,000 rounds, where every node hears all others and
            `sampling` is full.
        nodes: of the network, 2 or more.
        graph: ring, complete, star, erdos-renyi:P or @file.
        rounds: T.
        ridge: weight of the regulariser |x|²/2.
        proximal: γ, the weight of |x|²/2 next to all rounds.
    """

    loss: str | Loss = "hinge"
    sampling: str = "full"
    gradients_at: str | None = None
    nodes: int = 2
    graph: str = "ring"
    rounds: int | None = None
    ridge: float = 0.0
    proximal: float | None = None

    def _method(self, n_records: int, dimension: int, budget: Budget) -> Method:
        # Half of the noise in a mean over two nodes is that of the other.
        noise = noise_norm(n_records, dimension, budget.epsilon, budget.delta) * math.sqrt(
            self.nodes
        )
        at = self.gradients_at or self._gradients_at(n_records, noise)
        curvature = self._curvature() if at == "averages" else None
        rounds = averaging_rounds(noise, curvature) if self.rounds is None else self.rounds
        return self._made(
            "private-dual-averaging",
            "loss sampling ridge",
            gradients_at=at,
            rounds=rounds,
            proximal=proximal_weight(noise, rounds, curvature),
        )

    def _gradients_at(self, n_records: int, noise: float) -> str:
        joined = self._network(n_records).degrees.min() == self.nodes - 1
        fit = joined and self.sampling == "full" and too_many_rounds(noise)
        return "averages" if fit else "iterates"

    def _curvature(self) -> float:
        """Of the loss; at a kink that of a mean over margins of density 1."""
        loss = get_loss(self.loss)
        return loss.curvature if loss.smooth else loss.derivative_bound

    def _network(self, n_records: int) -> Network:
        return network(self.graph, self.nodes)
