"""ADMM as a noisy fixed-point iteration: proximal steps on all records, noise on z.

Source: cyffers2023, private ADMM in the central setting.

    x_{t-1} = prox_γg(z_{t-1})                                     public from z on
    z_t = z_{t-1} + 2λ[prox_γf(2x_{t-1} - z_{t-1}) - x_{t-1} + ξ_t/2],   ξ_t ~ N(0, σ²I)

f is the mean loss, g the regulariser of a composite problem with A = I, B = -I, c = 0. What is
released is z; the inner minimiser prox_γf(...) is not, since it carries no noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.engine.access import DataAccess
from dpcalc.algorithms.engine.algorithm import Algorithm, Arrays
from dpcalc.algorithms.engine.implied import ImpliedNoise
from dpcalc.algorithms.engine.network_admm import replace_one_only
from dpcalc.algorithms.engine.recording import ArrayDescription
from dpcalc.algorithms.engine.starting_point import starting_point
from dpcalc.algorithms.problems.draws import StandardNormal
from dpcalc.algorithms.problems.noise import Gaussian, NoiseLaw, NoNoise
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcalc.algorithms.engine.state import State
    from dpcalc.algorithms.problems.composite import CompositeProblem
    from dpcalc.algorithms.problems.draws import Draw
    from dpcalc.algorithms.problems.noise import Streams
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.transcript import Transcript
    from dpcalc.vocabulary import Adjacency

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FixedPointADMM(Algorithm):
    """Relaxed Douglas-Rachford steps with Gaussian noise on the shared variable.

    Attributes:
        problem: the composite problem, with A = I, B = -I and c = 0.
        prox_step: γ, above 0.
        relaxation: λ, above 0 and at most 1.
        sigma: σ, standard deviation of ξ on every coordinate, 0 or above.
        initial: z₀, shape (d,), or None for zeros. Never a function of the data.
    """

    key = "fixed-point-admm"
    reference = "cyffers2023, private ADMM, central setting"
    released: ClassVar[Mapping[str, ArrayDescription]] = {
        "initial": ArrayDescription(
            meaning="z_0, chosen without data", axes=("features",), each_round=False
        ),
        "z": ArrayDescription(meaning="z_t", axes=("features",)),
        "x": ArrayDescription(meaning="prox_γg(z_t)", axes=("features",)),
    }

    problem: CompositeProblem = field(kw_only=False)
    prox_step: float
    relaxation: float = 1.0
    sigma: float = 0.0
    initial: Array | None = None

    def __post_init__(self) -> None:
        checks.count("rounds", self.rounds)
        checks.positive("prox_step", self.prox_step)
        checks.non_negative("sigma", self.sigma)
        if not 0 < self.relaxation <= 1:
            raise InvalidInput(
                f"relaxation needs a number above 0 and at most 1; got relaxation={self.relaxation!r}"
            )
        constraint, d = self.problem.constraint, self.problem.dimension
        one = np.eye(d)
        if not (
            np.array_equal(constraint.A, one)
            and np.array_equal(constraint.B, -one)
            and not constraint.c.any()
        ):
            raise InvalidInput(
                f"{self.key} needs the constraint x - y = 0; got another one; "
                "use dpcalc.algorithms.problems.constraints.copies"
            )
        object.__setattr__(self, "initial", starting_point(self.initial, d))

    @classmethod
    def example(cls) -> Self:
        """Logistic regression on 30 records of three features with an l1 term."""
        from dpcalc.algorithms.problems.builtin import graph_guided_example
        from dpcalc.algorithms.problems.constraints import copies

        problem = replace(graph_guided_example(), constraint=copies(3), ridge=0.1)
        return cls(problem, rounds=3, prox_step=2.0, relaxation=0.5, sigma=0.3)

    def with_records(self, records: Records) -> Self:
        """The same method and parameters on other data."""
        return replace(self, problem=self.problem.with_records(records))

    # ---- running

    def _draws(self, t: int) -> Mapping[str, Draw]:
        return {"noise": StandardNormal((self.problem.dimension,))}

    def _start(self, streams: Streams) -> tuple[Arrays, Arrays]:
        z = np.array(
            np.broadcast_to(np.asarray(self.initial), (streams.runs, self.problem.dimension))
        )
        return {"z": z}, {"initial": z}

    def _advance(self, t: int, memory: Arrays, unit: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        noiseless, accuracy = self._moved(memory["z"])
        z = noiseless + self._scale * unit["noise"]
        return {"z": z}, {"z": z, "x": self._outer(z)}, {"gradient_norm": accuracy[:, None]}

    @property
    def _scale(self) -> float:
        """λσ."""
        return self.relaxation * self.sigma

    def _outer(self, z: Array) -> Array:
        """prox_γg."""
        return self.problem.regulariser.prox(z, self.prox_step)

    def _moved(self, z: Array) -> tuple[Array, Array]:
        """Z + 2λ[prox_γf(2x - z) - x], and the norm of the gradient at the inner minimiser."""
        x = self._outer(z)
        found = self.problem.x_step(z - 2 * x, 1 / self.prox_step, x)
        return z + 2 * self.relaxation * (found.points - x), found.gradient_norm

    def _measure(self, memory: Arrays) -> Arrays:
        x = self._outer(memory["z"])
        return {"objective": self.problem.objective(x, x)}

    # ---- densities and accesses

    def implied_noise(self, transcript: Transcript, records: Records | None = None) -> ImpliedNoise:
        """What z moved beyond its noiseless step."""
        self._checked(transcript)
        if self.sigma == 0:
            raise self._no_density("no noise is added")
        other = self if records is None else self.with_records(records)
        before = transcript["initial"]
        unit = []
        for t in range(self.rounds):
            after = transcript["z"][:, t]
            unit.append((after - other._moved(before)[0]) / self._scale)  # noqa: SLF001 - same class
            before = after
        stacked = np.stack(unit, axis=1)[:, :, None, :]
        jacobian = -self.problem.dimension * np.log(self._scale)
        return ImpliedNoise(
            rounds=tuple(range(1, self.rounds + 1)),
            unit=stacked,
            log_jacobian=np.full(stacked.shape[:3], jacobian),
            law="gaussian",
        )

    def normalised_distance(self, state: State, records: Records) -> Array:
        """See `Algorithm.normalised_distance`."""
        z = state.memory["z"]
        gap = self.with_records(records)._moved(z)[0] - self._moved(z)[0]  # noqa: SLF001 - the same class
        return -gap[:, None, :] / self._scale

    def data_accesses(self, adjacency: Adjacency | None = None) -> tuple[DataAccess, ...]:
        """The proximal map of the mean loss in every round.

        Replacing a record changes a gradient of f by at most 2c/n, c = max|φ'|·max‖x‖, and so the
        proximal point by γ/(1 + γρ₀) as much.
        """
        adjacency = replace_one_only(self.key, adjacency)
        problem = self.problem
        bound = problem.loss.derivative_bound * problem.records.row_bound
        moved = 2 * bound / problem.count * self.prox_step / (1 + self.prox_step * problem.ridge)
        law: NoiseLaw = Gaussian(self._scale) if self.sigma > 0 else NoNoise()
        return tuple(
            DataAccess(
                round=t,
                node=0,
                released="z",
                query="2λ times the proximal point of f",
                sensitivity=2 * self.relaxation * moved,
                adjacency=adjacency,
                noise=law,
            )
            for t in range(1, self.rounds + 1)
        )


ALGORITHM = FixedPointADMM
