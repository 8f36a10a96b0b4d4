"""The rounds of dual averaging (liu2022, equations (2)-(5)).

Round t, for every node i:
    x_i(t)   = argmin_x ⟨z_i(t), x⟩ + A(t)h(x) + γ(t)·½‖x‖²                    (2), (5)
    ĝ_i(t)   a subgradient of node i's loss at x_i(t)
    m_i(t)   = z_i(t) + a(t)(ĝ_i(t) + ν_i(t)),  ν ~ N(0, σ²I)                   the message sent
    z_i(t+1) = Σ_j w_ij m_j(t)                                                  (3), (4)
with z(1) = 0 and A(t) = a(1) + ... + a(t). The result is x̃_i(T) = Σ_t a(t)x_i(t)/A(T).

Gradients
    "iterates"  ĝ_i(t) at x_i(t), as printed
    "averages"  at x̃_i(t), the mean up to this round, as Cutkosky 2019 does. With a(t) = t, h = 0 and
                one node these are heavy-ball steps, momentum (t-1)/(t+2) and step 2t/((t+2)γ); a
                quadratic loss F of curvature at most γ/2 then falls as 1/T², not as 1/T

Sampling
    "one"     ĝ at one record, drawn uniformly and independently in every round at every node
    "cyclic"  mean of ĝ over batches of consecutive records, fixed in advance, in turn
    "full"    mean of ĝ over all records of the node
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.engine.algorithm import Arrays
from dpcalc.algorithms.engine.networked import NetworkAlgorithm
from dpcalc.algorithms.engine.record_sampling import RecordSampling, check_sampling
from dpcalc.algorithms.engine.recording import ArrayDescription
from dpcalc.algorithms.engine.schedules import schedule
from dpcalc.algorithms.engine.state import State
from dpcalc.algorithms.problems.draws import StandardNormal, UniformIndex
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.vocabulary import Release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from dpcalc.algorithms.problems.averaging import AveragingProblem
    from dpcalc.algorithms.problems.carried import CarriedRounds
    from dpcalc.algorithms.problems.compiled_averaging import CompiledAveraging
    from dpcalc.algorithms.problems.draws import Draw
    from dpcalc.algorithms.problems.noise import Streams

Array = NDArray[np.float64]
GradientsAt = Literal["iterates", "averages"]

_PAYS = 2**22  # numbers in all messages of one run from which it pays to load numba

_A_ROUND = (
    *("step", "_units", "_draws", "_advance", "_send", "_receive", "_point", "_queried"),
    *("_a", "_total"),
)
"""What rounds consist of: whoever has one of these of its own goes round by round."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AveragingRounds(NetworkAlgorithm):
    """The rounds of dual averaging over a network.

    Attributes:
        problem: the averaging problem.
        weights: a(t), above 0: a number, one per round, or "linear" for a(t) = t.
        proximal: γ(t), 0 or above: a number or one per round, not decreasing. 0 needs a strongly
            convex regulariser.
        sigma: σ, standard deviation of the noise on every coordinate of a subgradient.
        sampling: "one", "cyclic" or "full".
        batch_size: of cyclic batches; must divide every node's number of records.
        gradients_at: "iterates" or "averages".
    """

    full_release: ClassVar[Release] = Release.EVERY_MESSAGE
    released: ClassVar[Mapping[str, ArrayDescription]] = {
        "message": ArrayDescription(
            meaning="message z_i(t) + a(t)(subgradient + noise) that node i sent in round t",
            axes=("nodes", "features"),
            at_the_end="dropped",
        ),
        "average": ArrayDescription(
            meaning="result of node i, the weighted mean of x_i(1), ..., x_i(T)",
            axes=("nodes", "features"),
            each_round=False,
        ),
    }

    problem: AveragingProblem = field(kw_only=False)
    weights: ArrayLike | Literal["linear"] = 1.0
    proximal: ArrayLike
    sigma: float = 0.0
    sampling: RecordSampling = "one"
    batch_size: int | None = None
    gradients_at: GradientsAt = "iterates"
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    _drawn: dict[str, Draw] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        checks.count("rounds", self.rounds)
        checks.non_negative("sigma", self.sigma)
        linear = isinstance(self.weights, str)
        if linear and self.weights != "linear":
            raise InvalidInput(f"weights needs numbers or 'linear'; got weights={self.weights!r}")
        a = np.arange(1.0, self.rounds + 1) if linear else self.weights
        settled = {
            "weights": schedule("weights", a, rounds=self.rounds)[:, 0],
            "proximal": schedule("proximal", self.proximal, rounds=self.rounds, zero=True)[:, 0],
        }
        for name, values in settled.items():
            object.__setattr__(self, name, values)
        if (np.diff(settled["proximal"]) < 0).any():
            raise InvalidInput("proximal needs numbers that do not decrease from round to round")
        if settled["proximal"].min() == 0 and self.problem.regulariser.strong_convexity == 0:
            raise AssumptionViolated(
                "proximal = 0 needs a strongly convex regulariser; got "
                f"regulariser={self.problem.regulariser.name!r}; take proximal above 0"
            )
        check_sampling(self.sampling, self.batch_size, self.problem.records.sizes)
        if self.gradients_at not in get_args(GradientsAt):
            raise InvalidInput(
                f"gradients_at needs 'iterates' or 'averages'; got gradients_at={self.gradients_at!r}"
            )

    @property
    def _batch(self) -> int:
        return int(self.batch_size or 0)

    def _a(self, t: int) -> float:
        return float(np.asarray(self.weights, dtype=np.float64)[t - 1])

    def _total(self, t: int) -> float:
        """A(t)."""
        if "A" not in self._cache:
            self._cache["A"] = np.cumsum(np.asarray(self.weights, dtype=np.float64))
        return float(self._cache["A"][t - 1])

    def _batches(self, i: int) -> int:
        return self.problem.records.sizes[i] // self._batch if self.sampling == "cyclic" else 1

    # ---- running

    def _loops(self) -> CompiledAveraging | None:
        """Compiled rounds where they pay: a property of one run, so that its bits are its own."""
        if "loops" not in self._cache:
            many = self.rounds * self.problem.nodes * self.problem.dimension >= _PAYS
            fit = many and self.sampling == "one" and self.sigma > 0
            self._cache["loops"] = self.problem.loops() if fit else None
        held: CompiledAveraging | None = self._cache["loops"]
        return held

    def _draws(self, t: int) -> Mapping[str, Draw]:
        if not self._drawn and (self.sigma > 0 or self.sampling == "one"):
            self._drawn.update(self._drawn_each_round())
        return self._drawn

    def _drawn_each_round(self) -> dict[str, Draw]:
        draws: dict[str, Draw] = {}
        if self.sigma > 0:
            draws["noise"] = StandardNormal((self.problem.nodes, self.problem.dimension))
        if self.sampling == "one":
            sizes = self.problem.records.sizes
            draws["index"] = UniformIndex((self.problem.nodes,), high=sizes)
        return draws

    def _start(self, streams: Streams) -> tuple[Arrays, Arrays]:
        zero = np.zeros((streams.runs, self.problem.nodes, self.problem.dimension))
        return {"z": zero, "sum": zero, "next": self._point(1, zero)}, {}

    def _point(self, t: int, z: Array) -> Array:
        """x(t), equation (5)."""
        gamma = float(np.asarray(self.proximal, dtype=np.float64)[t - 1])
        return self.problem.regulariser.argmin(z, weight=self._total(t), ridge=gamma)

    def _queried(self, t: int, x: Array, before: Array) -> Array:
        """Where gradients of round t are taken, from x(t) and Σ a(s)x(s) over rounds before t."""
        if self.gradients_at == "iterates":
            return x
        return np.asarray((self._a(t) * x + before) / self._total(t))

    def _mean_gradient(self, t: int, x: Array) -> Array:
        """Mean subgradient over the node's records, or over the batch of round ``t``."""
        found = np.zeros_like(x)
        for i in self.problem.records.present:
            batch = (t - 1) % self._batches(i)
            found[:, i] = self.problem.part(i, batch, self.batch_size).gradient(x[:, i])
        return found

    def _send(self, t: int, memory: Arrays, unit: Arrays) -> tuple[Array, Arrays]:
        x, loops = self._queried(t, memory["next"], memory["sum"]), self._loops()
        if loops is not None:
            sigma, a, z, noise = self.sigma, self._a(t), memory["z"], unit["noise"]
            return loops.messages(unit["index"], x, z, noise, sigma, a), {}
        if self.sampling == "one":
            gradient = self.problem.record_gradients(unit["index"], x)
        else:
            gradient = self._mean_gradient(t, x)
        if self.sigma > 0:
            noise = np.multiply(unit["noise"], self.sigma, out=unit["noise"])  # drawn for this step
            gradient = np.add(gradient, noise, out=noise)
        gradient *= self._a(t)
        return np.add(memory["z"], gradient, out=gradient), {}

    def _receive(self, t: int, memory: Arrays, sent: Array) -> tuple[Arrays, Arrays]:
        x, loops = memory["next"], self._loops()
        if loops is None:
            z = self.problem.mix(sent)
            total = self._a(t) * x
            total += memory["sum"]
            average = total / self._total(t)
        else:
            z = loops.mixed(sent)
            total, average = loops.added_up(x, self._a(t), memory["sum"], self._total(t))
        following = self._point(t + 1, z) if t < self.rounds else x
        memory = {"z": z, "sum": total, "x": x, "next": following, "average": average}
        return memory, {"message": sent, "average": average}

    def _carried(self) -> CarriedRounds | None:
        """Several rounds at once where they are compiled, and those of this class."""
        if "carried" not in self._cache:
            from dpcalc.algorithms.problems.carried import CarriedRounds

            own = all(getattr(type(self), n) is getattr(AveragingRounds, n) for n in _A_ROUND)
            loops = self._loops() if own and self.gradients_at == "iterates" else None
            self._cache["carried"] = CarriedRounds.of(loops, self.problem.regulariser)
        held: CarriedRounds | None = self._cache["carried"]
        return held

    def _leap(self, state: State, until: int) -> State:
        carried, first = self._carried(), state.round + 1
        if carried is None:
            return self.step(state)
        totals = [self._total(t) for t in range(first, until + 1)]
        a, gamma = (np.asarray(each)[first - 1 : until] for each in (self.weights, self.proximal))
        kinds, before = self._draws(first), (state.memory["z"], state.memory["sum"])
        rounds, z, total, x, sent = carried.carried(
            state.streams,
            (kinds["noise"], kinds["index"]),
            first,
            carried.schedule(a, np.array(totals), gamma),
            self.sigma,
            *before,
        )
        t = state.round + rounds
        following = self._point(t + 1, z) if t < self.rounds else x
        average = (1 / self._total(t)) * total
        return State(
            owner=self,
            round=t,
            streams=state.streams,
            memory={"z": z, "sum": total, "x": x, "next": following, "average": average},
            released={"message": sent, "average": average},
        )

    def _measure(self, memory: Arrays) -> Arrays:
        x, average = memory["x"], memory["average"]
        gap = np.linalg.norm(x - x.mean(axis=1, keepdims=True), axis=2).max(axis=1)
        return {"objective": self.problem.objective(average.mean(axis=1)), "consensus_gap": gap}
