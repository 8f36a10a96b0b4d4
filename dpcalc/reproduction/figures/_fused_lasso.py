"""What the figures of shang2021 share: graph-guided fused lasso on a9a, a8a and ijcnn1.

The paper takes the graph from a sparse inverse covariance of the data. Here it comes from partial
correlations of a shrunk covariance above a threshold; either is a look at the data that no bound
charges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import graph_guided
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.records import Records
from dpcalc.algorithms.problems.regularisers import lasso
from dpcalc.calibration import smallest_noise
from dpcalc.extras import need
from dpcalc.reproduction.setup import ROW_BOUNDS, ExperimentConfig, trace
from dpcalc.theorems.gradient_admm.dp_admm import DPADMM
from dpcalc.training.metrics import error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcalc.algorithms.engine.state import State
    from dpcalc.training.data import Split

Array = NDArray[np.float64]

DELTA = 1e-3
WEIGHT = 1e-5
STEPS = {"a9a": 4.0, "a8a": 4.0, "ijcnn1": 4.0}
_PARTIAL = 0.3
_SAMPLE = 20_000
_SMOOTHING = 1e-4

CHOICES = (
    "η and T are not given: 4 and 100.",
    "c is not given: the largest possible norm of a row, √14, and 2 for ijcnn1.",
    "γ = 1 diverges with this η and ‖A‖; the least that the theorems allow, ηρ‖AᵀA‖ + 1, is taken.",
    "The graph of W: partial correlations above 0.3 of a shrunk covariance. Not charged.",
    "The dual starts at zero: as printed it exposes the data, and there is no ε to compare at.",
)

NOTES = (
    "Gaussian noise on the gradients of DP curves, as printed or certified",
    "one record added or removed, every iterate released",
)
"""The noise and what it is certified for, for under a picture."""


AddOrReplace = Literal["add-remove", "replace-one"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lasso:
    """The problem on one data set.

    Attributes:
        problem: on the training records.
        split: training and held-out records.
        step_size: η.
        config: where it stands.
    """

    problem: CompositeProblem
    split: Split
    step_size: float
    config: ExperimentConfig

    def least(self) -> float:
        """The minimum of the objective, by a quasi-Newton method on a barely smoothed one.

        |z| is replaced by √(z² + τ²), which changes the objective by less than τ·λ per row of A;
        what is returned is the objective itself, so it is not below the minimum.
        """
        from scipy.optimize import minimize

        constraint = self.problem.constraint

        def smoothed(x: Array) -> tuple[float, Array]:
            z = constraint.times_A(x[None, :])[0]
            root = np.sqrt(z * z + _SMOOTHING**2)
            value = float(self.problem.value(x[None, :])[0]) + WEIGHT * float(root.sum())
            pull = constraint.times_A_transposed((WEIGHT * z / root)[None, :])[0]
            return value, self.problem.gradient(x[None, :])[0] + pull

        start = np.zeros(self.problem.dimension)
        options = {
            "maxiter": self.config.pick(500, 5000),
            "maxfun": 10_000,
            "ftol": 1e-12,
            "gtol": 1e-7,
        }
        best = minimize(smoothed, start, jac=True, method="L-BFGS-B", options=options).x[None, :]
        return float(self.problem.objective(best, -constraint.times_A(best))[0])

    def size(self) -> str:
        """The data, for under a picture."""
        return (
            f"{self.split.source}: {self.problem.count} records of {self.problem.dimension} columns"
        )

    def theorem(self, rounds: int, adjacency: AddOrReplace = "add-remove") -> DPADMM:
        """Theorem 1, c the bound on rows."""
        return DPADMM(
            n_records=self.problem.count,
            rounds=rounds,
            gradient_bound=self.problem.records.row_bound,
            sigma=1.0,
            adjacency=adjacency,
            dual_start="zero",
        )

    def printed(
        self, rounds: int, epsilon: float, adjacency: AddOrReplace = "add-remove"
    ) -> DPADMM:
        """With σ of theorem 1."""
        return self.theorem(rounds, adjacency).prescribed(epsilon, DELTA)

    def certified(
        self, rounds: int, epsilon: float, adjacency: AddOrReplace = "add-remove"
    ) -> DPADMM:
        """With the least σ that is certified."""
        return smallest_noise(self.theorem(rounds, adjacency), epsilon, DELTA)

    def all_of(self, parts: Sequence[Callable[[Lasso], Any]]) -> list[Any]:
        """What parts of a figure show, in their order; from workers where there are some."""
        return self.config.each(partial(_shown, self), parts)

    def run(
        self, key: str, rounds: int, sigma: float = 0.0
    ) -> tuple[NDArray[np.int64], dict[str, Array]]:
        """Objective and accuracy on held-out records along runs."""
        kind: Any = load(key)
        algorithm = kind(
            self.problem, rounds=rounds, penalty=1.0, step_size=self.step_size, sigma=sigma
        )
        runs = self.config.pick(3, 10) if sigma else 1
        found = trace(
            self.config,
            algorithm,
            {"objective": self._objective, "accuracy": self._accuracy},
            runs=runs,
            every=self.config.pick(2, 1),
            held_out=len(self.split.test[1]),
        )
        self.config.progress(f"{key}, {rounds} rounds, {runs} runs")
        return found

    def _objective(self, state: State) -> Array:
        return self.problem.objective(state.memory["x"], state.memory["y"])

    def _accuracy(self, state: State) -> Array:
        return 1 - error(self.problem.loss, state.memory["x"], *self.split.test)


def _shown(on: Lasso, part: Callable[[Lasso], Any]) -> Any:
    return part(on)


def lasso_on(config: ExperimentConfig, name: str) -> Lasso:
    """The problem on a data set of the paper, or on what stands in for it."""
    split = config.split(name)
    bound = ROW_BOUNDS[name] if config.has_data(name) else 1.0
    features, labels = bound * split.train[0], split.train[1]
    records = Records(features=features, labels=labels, sizes=(len(labels),), row_bound=bound)
    return Lasso(
        problem=CompositeProblem(
            records=records,
            loss=Logistic(),
            regulariser=lasso(WEIGHT),
            constraint=graph_guided(features.shape[1], edges_between(features)),
        ),
        split=split,
        step_size=STEPS[name],
        config=config,
    )


def edges_between(features: Array) -> list[tuple[int, int]]:
    """Pairs of features whose partial correlation is above the threshold."""
    need("sklearn", purpose="the graph of the features")
    from sklearn.covariance import LedoitWolf

    varying = np.flatnonzero(features[:_SAMPLE].std(axis=0) > 0)
    precision = LedoitWolf().fit(features[:_SAMPLE, varying]).precision_
    scale = np.sqrt(np.diag(precision))
    partial = np.abs(precision / np.outer(scale, scale))
    i, j = np.nonzero(np.triu(partial > _PARTIAL, 1))
    return [(int(varying[a]), int(varying[b])) for a, b in zip(i, j, strict=True)]
