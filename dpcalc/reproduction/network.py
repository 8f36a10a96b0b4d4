"""The problem of zhang2018 and zhang2019: logistic regression over a network, on Adult.

Away from Adult the loss weight keeps its ratio to the number of records per node, on which the
printed privacy bounds depend.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.accounting.contour.shared import sharing
from dpcalc.algorithms import load
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.records import split as partition
from dpcalc.calibration import smallest_noise
from dpcalc.reproduction.experiment import Curve
from dpcalc.reproduction.setup import ExperimentConfig, trace
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.training.metrics import error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.engine.state import State
    from dpcalc.algorithms.problems.networks import Network
    from dpcalc.theorems.base import Theorem
    from dpcalc.training.data import Split

    Part = Callable[["NetworkProblem"], Any]
    """A part of a figure: what it shows of a problem."""

Array = NDArray[np.float64]

DELTA = 1e-6
"""δ at which certified budgets of the pure-DP papers are compared."""

EXPONENTIAL = "exponential-norm noise, density ∝ exp(-α‖v‖), as printed or certified"
"""The noise of the private methods of both papers."""

WEIGHT_PER_RECORD = 1750 / 8000
"""C/B of zhang2019."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NetworkProblem:
    """A consensus problem with its held-out records.

    Attributes:
        problem: on the training records.
        split: training and held-out records.
        config: where it stands.
    """

    problem: ConsensusProblem
    split: Split
    config: ExperimentConfig

    def setting(self, rounds: str, noise: str, *, ridges: str | None = None) -> tuple[str, ...]:
        """What the curves rest on, for under a picture.

        Args:
            rounds: T.
            noise: its kind and where it is from, as `EXPONENTIAL`; empty without noise, where
                nothing is private and no neighbours are said.
            ridges: the values of ρ along an axis; left out where it is the problem's alone.
        """
        p = self.problem
        size = f"{len(self.split.train[1])} training records of {p.records.dimension} columns"
        ridge = f"{p.ridge:g}" if ridges is None else ridges
        private = (noise, "one record replaced, every iterate released")
        return (
            self.split.source,
            f"{size} on {p.nodes} nodes",
            f"ρ = {ridge}, T = {rounds}",
            *(private if noise else ("no noise",)),
        )

    def theorem(self, key: str, **parameters: Any) -> Theorem:
        """The privacy result ``key`` for this problem."""
        p = self.problem
        kind: Any = privacy_result(key)
        made: Theorem = kind(
            n_records=[list(p.records.sizes)],
            n_nodes=p.nodes,
            degree=[p.network.degrees.tolist()],
            loss_weight=p.loss_weight,
            regularization=p.ridge,
            dimension=p.records.dimension,
            **parameters,
        )
        return made

    def average_loss(self, state: State) -> Array:
        """The papers' L(t)."""
        return self.problem.average_loss(state.memory["primal"])

    def test_error(self, state: State) -> Array:
        """Share of held-out records that the mean of the nodes gets wrong."""
        mean = state.memory["primal"].mean(axis=1)
        return error(self.problem.loss, mean, *self.split.test)

    def optimum(self) -> float:
        """L at the minimiser of the whole objective."""
        best = np.tile(self.problem.optimum(), (1, self.problem.nodes, 1))
        return float(self.problem.average_loss(best)[0])

    def all_of(self, parts: Sequence[Part]) -> list[Any]:
        """What parts of a figure show, in their order; from workers where there are some."""
        return self.config.each(partial(_shown, self), parts)

    def run(self, key: str, **parameters: Any) -> tuple[NDArray[np.int64], dict[str, Array]]:
        """Loss and test error along runs of an algorithm, one run if it adds no noise."""
        kind: Any = load(key)
        algorithm: Algorithm = kind(self.problem, **parameters)
        private = "noise_rate" in parameters
        measures: dict[str, Callable[[State], Array]] = {
            "loss": self.average_loss,
            "error": self.test_error,
        }
        runs = self.config.pick(3, 10) if private else 1
        held_out = len(self.split.test[1])
        found = trace(self.config, algorithm, measures, runs=runs, held_out=held_out)
        self.config.progress(f"{key}, {algorithm.rounds} rounds, {runs} runs")
        return found


def _shown(on: NetworkProblem, part: Part) -> Any:
    return part(on)


def nodes(
    config: ExperimentConfig,
    network: Network,
    *,
    train: int | None = None,
    sizes: Sequence[int] | None = None,
    ridge: float = 0.22,
) -> NetworkProblem:
    """Adult, or what stands in for it, dealt out to a network."""
    split = config.split("adult", train=train)
    features, labels = split.train
    if sizes is not None:
        scale = len(labels) / sum(sizes)
        sizes = [max(1, int(size * scale)) for size in sizes]
    records = partition(features, labels, network.nodes, sizes=sizes)
    return NetworkProblem(
        problem=ConsensusProblem(
            records=records,
            network=network,
            loss=Logistic(),
            loss_weight=WEIGHT_PER_RECORD * float(np.mean(records.sizes)),
            ridge=ridge,
        ),
        split=split,
        config=config,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMethod:
    """A private method in a comparison.

    Attributes:
        name: in the legend.
        key: of the algorithm.
        theorem: key of its theorem.
        rounds: in all.
        recycled: whether only odd rounds look at the data.
        algorithm: further parameters of the algorithm.
        bound: further parameters of the theorem.
    """

    name: str
    key: str
    theorem: str
    rounds: int
    recycled: bool
    algorithm: dict[str, Any]
    bound: dict[str, Any]

    @property
    def noisy(self) -> int:
        """Rounds that look at the data."""
        return (self.rounds + 1) // 2 if self.recycled else self.rounds

    def instance(self, on: NetworkProblem, noise_rate: Any) -> Theorem:
        """Its theorem with this noise."""
        return on.theorem(self.theorem, rounds=self.noisy, noise_rate=noise_rate, **self.bound)

    def calibrated(
        self, on: NetworkProblem, epsilon: float, delta: float = DELTA, shape: Any = 1
    ) -> Theorem:
        """Its theorem with the least certified noise for a budget."""
        return smallest_noise(self.instance(on, shape), epsilon, delta)

    def curves(
        self, on: NetworkProblem, instance: Theorem, *, panel: str, noise: str, suffix: str = ""
    ) -> tuple[Curve, Array]:
        """Its loss along the rounds with the noise of a theorem's instance, and its test error."""
        rates = rate_table(instance, self.noisy, on.problem.nodes)
        rounds, found = on.run(self.key, rounds=self.rounds, noise_rate=rates, **self.algorithm)
        curve = Curve(
            panel=panel,
            name=self.name + suffix,
            x=rounds,
            y=found["loss"],
            noise=noise,
            epsilon=instance.certified().guarantee.epsilon(DELTA),
            delta=DELTA,
            noisy_rounds=self.noisy,
        )
        return curve, found["error"][:, -1]


def rate_table(instance: Theorem, noisy: int, n_nodes: int) -> Array:
    """The noise rates of an instance as an algorithm takes them."""
    from dpcalc.training.method import table

    schedule: Any = getattr(instance, "noise_rate")  # noqa: B009 # all of this family have it
    return table("noise_rate", schedule, noisy, n_nodes)


def penalties(first: float, growth: float, count: int) -> Array:
    """η(k) = first·growth^(k-1) for k = 1, ..., count, as a column."""
    return np.asarray(first * growth ** np.arange(count))[:, None]


def dual(name: str, rounds: int, penalty: float) -> ComparedMethod:
    """Conventional ADMM with a noised dual variable."""
    return ComparedMethod(
        name=name,
        key="dual-variable-perturbation",
        theorem="penalty-perturbation",
        rounds=rounds,
        recycled=False,
        algorithm={"penalty": penalty},
        bound={"penalty": penalty, "noise_on": "dual"},
    )


def perturbed_penalty(name: str, rounds: int, first: float, growth: float) -> ComparedMethod:
    """M-ADMM with noise in a growing penalty; the dual step is the first penalty."""
    return ComparedMethod(
        name=name,
        key="penalty-perturbation",
        theorem="penalty-perturbation",
        rounds=rounds,
        recycled=False,
        algorithm={"penalty": penalties(first, growth, rounds), "dual_step": first},
        bound={"penalty": f"{first!r}:{growth!r}", "dual_step": first},
    )


def recycled(
    name: str, rounds: int, first: float, growth: float, proximal_weight: float
) -> ComparedMethod:
    """R-ADMM, or MR-ADMM if the penalty grows."""
    noisy = (rounds + 1) // 2
    return ComparedMethod(
        name=name,
        key="private-mr-admm",
        theorem="recycled-admm",
        rounds=rounds,
        recycled=True,
        algorithm={
            "penalty": penalties(first, growth, noisy),
            "proximal_weight": proximal_weight,
        },
        bound={"penalty": f"{first!r}:{growth!r}"},
    )


def privacy_curves(
    on: NetworkProblem, contender: ComparedMethod, noise_rate: Any, panel: str
) -> list[Curve]:
    """P(t) as the paper has it, and the certified ε at δ = `DELTA`, along the rounds."""
    from dataclasses import replace

    at = sorted({*range(5, contender.rounds + 1, 5), 1, contender.rounds})
    instances = [replace(contender, rounds=t).instance(on, noise_rate) for t in at]
    claimed = [instance.claimed().numbers["beta"] for instance in instances]
    with sharing():  # the rounds before are those of the longer runs
        certified = [instance.certified().guarantee.epsilon(DELTA) for instance in instances]
    return [
        Curve(panel=panel, name=contender.name, x=at, y=claimed, noise="printed"),
        Curve(
            panel=panel, name=f"{contender.name}, certified", x=at, y=certified, noise="certified"
        ),
    ]
