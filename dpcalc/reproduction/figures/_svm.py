"""What the figures of liu2022 share: a support vector machine on a ring of twenty nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.averaging import AveragingProblem
from dpcalc.algorithms.problems.losses import Hinge
from dpcalc.algorithms.problems.networks import ring
from dpcalc.algorithms.problems.records import split as partition
from dpcalc.algorithms.problems.regularisers import ridge
from dpcalc.calibration import smallest_noise
from dpcalc.extras import need
from dpcalc.reproduction.setup import ExperimentConfig, trace
from dpcalc.theorems.dual_averaging.private_dual_averaging import PrivateDualAveraging
from dpcalc.training.metrics import error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcalc.algorithms.engine.state import State
    from dpcalc.training.data import Split

Array = NDArray[np.float64]

NODES = 20
DELTA = 0.01
RIDGE = 5e-4
PROXIMAL = 20.0
FULL_ROUNDS = 100

CHOICES = (
    "The data set epsilon (400,000 by 2,000) is replaced by a9a: q = 1628 instead of 20,000.",
    "Rows have norm at most 1, so that L = 1; the paper does not say its L.",
    "The minimum comes from a smooth solver on this data, not from stochastic descent.",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class SVM:
    """The problem with its held-out records.

    Attributes:
        problem: on the training records.
        split: training and held-out records.
        config: where it stands.
    """

    problem: AveragingProblem
    split: Split
    config: ExperimentConfig

    @property
    def q(self) -> int:
        """Records of the smallest node."""
        return min(self.problem.records.sizes)

    @property
    def rounds(self) -> int:
        """Three epochs."""
        return 3 * self.q

    @property
    def notes(self) -> tuple[str, ...]:
        """The setting, for under a picture."""
        p = self.problem.records
        return (
            f"{self.split.source}: {len(p.labels)} records of {p.dimension} columns",
            f"{NODES} nodes, q = {self.q}, T = {self.rounds} or as named",
            "Gaussian noise on subgradients, as printed or certified",
            "one record replaced, every message released",
        )

    @cached_property
    def least(self) -> float:
        """The minimum of F: of the dual quadratic programme, by scikit-learn's LinearSVC."""
        need("sklearn", purpose="the exact minimum")
        from sklearn.svm import LinearSVC

        x, y = self.split.train
        weights = 1 / (RIDGE * len(y))
        solver = LinearSVC(
            loss="hinge", C=weights, fit_intercept=False, tol=1e-6, max_iter=200_000, random_state=0
        )
        best = solver.fit(x, y).coef_
        return float(self.problem.objective(best)[0])

    def theorem(
        self, sampling: Literal["one", "mini-batch", "random-batch", "full-batch"], rounds: int
    ) -> PrivateDualAveraging:
        """Theorem 1 with L = 1."""
        return PrivateDualAveraging(
            n_records=self.q, rounds=rounds, lipschitz=1.0, sigma=1.0, sampling=sampling
        )

    def printed(self, epsilon: float) -> PrivateDualAveraging:
        """With σ of theorem 1, for the algorithm as it is written."""
        return self.theorem("one", self.rounds).prescribed(epsilon, DELTA)

    def certified(self, epsilon: float, sampling: str) -> PrivateDualAveraging:
        """With the least σ that is certified."""
        rounds = self.rounds if sampling == "one" else FULL_ROUNDS
        start = self.theorem("one" if sampling == "one" else "full-batch", rounds)
        return smallest_noise(start, epsilon, DELTA)

    def runs(self, settings: Sequence[dict[str, Any]]) -> list[Any]:
        """Of runs with these settings, in their order; from workers where there are some."""
        _ = self.least  # found once, for all workers
        return self.config.each(partial(_run, self), settings)

    def run(
        self, *, rounds: int, sigma: float = 0.0, sampling: str = "one", conventional: bool = False
    ) -> tuple[NDArray[np.int64], dict[str, Array]]:
        """Suboptimality and held-out accuracy of the mean result along runs."""
        kind: Any = load("private-dual-averaging")
        proximal = PROXIMAL + (np.sqrt(RIDGE * np.arange(1, rounds + 1)) if conventional else 0)
        algorithm = kind(
            self.problem,
            rounds=rounds,
            weights=1.0 if conventional else "linear",
            proximal=proximal,
            sigma=sigma,
            sampling=sampling,
        )
        found = trace(
            self.config,
            algorithm,
            {"gap": self._gap, "accuracy": self._accuracy},
            runs=3,
            every=max(1, rounds // self.config.pick(25, 100)),
            held_out=len(self.split.test[1]),
        )
        self.config.progress(f"dual averaging, {rounds} rounds, sampling {sampling}")
        return found

    def _gap(self, state: State) -> Array:
        return self.problem.objective(state.memory["average"].mean(axis=1)) - self.least

    def _accuracy(self, state: State) -> Array:
        mean = state.memory["average"].mean(axis=1)
        return 1 - error(self.problem.loss, mean, *self.split.test)


def _run(on: SVM, settings: dict[str, Any]) -> Any:
    return on.run(**settings)


def svm_on(config: ExperimentConfig) -> SVM:
    """The problem on a9a, or on what stands in for it."""
    split = config.split("a9a")
    features, labels = split.train
    used = len(labels) // NODES * NODES
    return SVM(
        problem=AveragingProblem(
            records=partition(features[:used], labels[:used], NODES),
            network=ring(NODES),
            loss=Hinge(),
            regulariser=ridge(RIDGE),
            mixing="uniform",
        ),
        split=split,
        config=config,
    )
