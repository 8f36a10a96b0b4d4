"""What the decentralised ADMM methods of zhang2018 and zhang2019 have in common.

In a noisy round every node broadcasts the exact minimiser

    f_i(t) = argmin O(f, D_i) + (c_i(t) + g_i(t)·ε_i(t))ᵀf + η_i(t)·V_i·‖f‖²

where c_i(t) depends only on what was broadcast before, ε has unit rate and g is the gain that turns
it into the method's linear noise. Setting the gradient to zero gives the noise back,

    ε = -(∇O(f) + c + 2ηV·f)/g,   |det ∂ε/∂f| = det(∇²O(f) + 2ηV·I)/g^d,

so the exact density of a run is a product of noise densities and determinants. A method says what
c, g and the dual update are; rounds that recycle earlier results say so and see no data.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.engine.access import DataAccess
from dpcalc.algorithms.engine.algorithm import Arrays
from dpcalc.algorithms.engine.implied import ImpliedNoise
from dpcalc.algorithms.engine.networked import NetworkAlgorithm
from dpcalc.algorithms.engine.recording import ArrayDescription
from dpcalc.algorithms.problems.draws import Draw, StandardNormal, UnitExponentialNorm
from dpcalc.algorithms.problems.noise import ExponentialNorm, Gaussian, NoiseLaw, NoNoise
from dpcalc.errors import InvalidInput
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcalc.algorithms.problems.consensus import ConsensusProblem
    from dpcalc.algorithms.problems.noise import Streams
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.transcript import Transcript

Array = NDArray[np.float64]

_INITIAL = 99  # purpose number of the random start, apart from the draws of the rounds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NetworkADMM(NetworkAlgorithm):
    """A decentralised ADMM method.

    Attributes:
        problem: the consensus problem.
        initial: f(0): "zero", "random" (standard normal, per run) or an array of shape (nodes, d).
            Never a function of the data.
    """

    released: ClassVar[Mapping[str, ArrayDescription]] = {
        "initial": ArrayDescription(
            meaning="f_i(0), chosen without data", axes=("nodes", "features"), each_round=False
        ),
        "primal": ArrayDescription(
            meaning="primal iterate f_i(t), broadcast by node i in round t",
            axes=("nodes", "features"),
        ),
    }

    problem: ConsensusProblem = field(kw_only=False)
    initial: Literal["zero", "random"] | Array = "zero"

    unit_law: ClassVar[Literal["exponential-norm", "gaussian"]] = "exponential-norm"
    """Of the noise that `_gain` multiplies."""

    # ---- what a method says about itself

    @abstractmethod
    def _penalty(self, t: int) -> Array:
        """η_i(t); shape (nodes,)."""

    @abstractmethod
    def _linear(self, t: int, memory: Arrays) -> Array:
        """c_i(t), the linear term without noise; shape (runs, nodes, d)."""

    @abstractmethod
    def _follow(self, t: int, memory: Arrays, primal: Array) -> Arrays:
        """Memory after ``primal`` was broadcast: a function of broadcasts alone."""

    def _gain(self, t: int) -> Array:
        """g_i(t), the linear noise per unit noise; zero without noise; shape (nodes,)."""
        return np.zeros(self.problem.nodes)

    def _recycled(self, t: int, memory: Arrays) -> Array | None:
        """The iterate of a round that sees no data, or None."""
        return None

    # ---- shorthand for the papers' sums over neighbours

    def sums(self, f: Array) -> Array:
        """Σ_j (f_i + f_j)."""
        return self.problem.network.degrees[:, None] * f + self.problem.network.neighbour_sum(f)

    def differences(self, f: Array) -> Array:
        """Σ_j (f_i - f_j)."""
        return self.problem.network.degrees[:, None] * f - self.problem.network.neighbour_sum(f)

    # ---- running

    def _curvature(self, t: int) -> Array:
        """2η_i(t)V_i, the curvature of the penalty."""
        return 2 * self._penalty(t) * self.problem.network.degrees

    def _draws(self, t: int) -> Mapping[str, Draw]:
        if t not in self._noisy_rounds() or not self._gain(t).any():
            return {}
        drawn = StandardNormal if self.unit_law == "gaussian" else UnitExponentialNorm
        return {"noise": drawn((self.problem.nodes, self.problem.dimension))}

    def _start(self, streams: Streams) -> tuple[Arrays, Arrays]:
        shape = (self.problem.nodes, self.problem.dimension)
        if isinstance(self.initial, str):
            if self.initial not in ("zero", "random"):
                raise InvalidInput(
                    f"initial needs 'zero', 'random' or an array; got initial={self.initial!r}"
                )
            normal = self.initial == "random"
            start = (
                streams.draw(StandardNormal(shape), _INITIAL, 0)
                if normal
                else np.zeros((streams.runs, *shape))
            )
        else:
            given = np.asarray(self.initial, dtype=np.float64)
            if given.shape != shape or not np.isfinite(given).all():
                raise InvalidInput(
                    f"initial needs finite numbers of shape={shape!r}; got shape={given.shape!r}"
                )
            start = np.array(np.broadcast_to(given, (streams.runs, *shape)))
        return self._memory(start), {"initial": start}

    def _memory(self, start: Array) -> Arrays:
        """Memory before round 1, given f(0)."""
        return {"primal": start, "dual": np.zeros_like(start)}

    def _send(self, t: int, memory: Arrays, unit: Arrays) -> tuple[Array, Arrays]:
        primal = self._recycled(t, memory)
        extra: Arrays = {}
        if primal is None:
            linear = self._linear(t, memory)
            if unit:
                linear = linear + self._gain(t)[:, None] * unit["noise"]
            found = self.problem.minimisers(linear, self._curvature(t), memory["primal"])
            primal, extra = found.points, {"gradient_norm": found.gradient_norm}
        return primal, extra

    def _receive(self, t: int, memory: Arrays, sent: Array) -> tuple[Arrays, Arrays]:
        return self._follow(t, memory, sent), {"primal": sent}

    def _measure(self, memory: Arrays) -> Arrays:
        f = memory["primal"]
        gap = np.linalg.norm(f - f.mean(axis=1, keepdims=True), axis=2).max(axis=1)
        return {
            "average_loss": self.problem.average_loss(f),
            "objective": self.problem.objective(f.mean(axis=1)),
            "consensus_gap": gap,
        }

    # ---- densities and accesses

    def _noisy_rounds(self) -> range:
        """Rounds that look at the data."""
        return range(1, self.rounds + 1)

    def implied_noise(self, transcript: Transcript, records: Records | None = None) -> ImpliedNoise:
        """Noise recovered from what every noisy round released."""
        self._checked(transcript)
        problem = self.problem if records is None else self.problem.with_records(records)
        memory = self._memory(transcript["initial"])
        unit, jacobian = [], []
        for t in range(1, self.rounds + 1):
            primal = transcript["primal"][:, t - 1]
            recycled = self._recycled(t, memory)
            if recycled is None:
                noise, log_jacobian = self._implied(t, memory, primal, problem)
                unit.append(noise)
                jacobian.append(log_jacobian)
            else:
                same_release(t, primal, recycled)
            memory = self._follow(t, memory, primal)
        return ImpliedNoise(
            rounds=tuple(self._noisy_rounds()),
            unit=np.stack(unit, axis=1),
            log_jacobian=np.stack(jacobian, axis=1),
            law=self.unit_law,
        )

    def _implied(
        self, t: int, memory: Arrays, primal: Array, problem: ConsensusProblem
    ) -> tuple[Array, Array]:
        """Unit linear noise of one round, by its optimality condition, and ln |det ∂ε/∂f|."""
        gain, curvature = self._gain(t), self._curvature(t)
        if not gain.all():
            raise self._no_density(f"round {t} adds no noise at some node")
        total = problem.gradients(primal) + self._linear(t, memory)
        unit = -(total + curvature[:, None] * primal) / gain[:, None]
        determinants = problem.hessian_log_determinants(primal, curvature)
        return unit, determinants - problem.dimension * np.log(gain)

    def data_accesses(self, adjacency: Adjacency | None = None) -> tuple[DataAccess, ...]:
        """One access per node and noisy round: the gradient of its data term.

        Replacing a record moves (C/B)Σ∇L by at most 2C·max|L'|·max‖x‖/B.
        """
        return tuple(
            self._access(t, i, replace_one_only(self.key, adjacency))
            for t in self._noisy_rounds()
            for i in range(self.problem.nodes)
        )

    def _access(self, t: int, i: int, adjacency: Adjacency) -> DataAccess:
        problem, gain = self.problem, float(self._gain(t)[i])
        law: NoiseLaw = NoNoise()
        if gain > 0:
            law = Gaussian(gain) if self.unit_law == "gaussian" else ExponentialNorm(1 / gain)
        one_record = float(problem.data_weights[i]) * problem.records.row_bound**2
        return DataAccess(
            round=t,
            node=i,
            released="primal",
            query="gradient of the node's data term at its released minimiser",
            sensitivity=self._gradient_sensitivity(i),
            adjacency=adjacency,
            noise=law,
            curvature_change=one_record * problem.loss.curvature,
            curvature_floor=self._curvature_floor(t, i),
            dimension=self.problem.dimension,
        )

    def _gradient_sensitivity(self, i: int) -> float:
        weight, row = float(self.problem.data_weights[i]), self.problem.records.row_bound
        return 2 * weight * self.problem.loss.derivative_bound * row

    def _curvature_floor(self, t: int, i: int) -> float:
        """ρ/N + 2ηV: least curvature of the minimised function without its data."""
        return self.problem.node_ridge + float(self._curvature(t)[i])


def replace_one_only(key: str, adjacency: Adjacency | None) -> Adjacency:
    """Replace-one; another adjacency would change the public number of records."""
    if adjacency not in (None, Adjacency.REPLACE_ONE):
        raise InvalidInput(
            f"{key} weighs records by a public number of records, so adjacency must be "
            f"{Adjacency.REPLACE_ONE!s}; got adjacency={adjacency!s}"
        )
    return Adjacency.REPLACE_ONE


def same_release(t: int, released: Array, computed: Array) -> None:
    """Refuse a transcript whose noiseless part is not what the public parameters give."""
    if not np.allclose(released, computed, rtol=1e-7, atol=1e-7 * (1 + np.abs(computed).max())):
        gap = float(np.abs(released - computed).max())
        raise InvalidInput(
            f"expected a transcript made with these parameters; round {t} differs by {gap:.3g} "
            "from what earlier rounds determine; use the algorithm that released it"
        )
