"""What the ADMM methods of shang2021 for f(x) + g(y), Ax + By = c have in common.

Scaled dual u; one round, from x' and u' of the round before (extrapolated, if accelerated):

    y_t = argmin_y g(y) + (ρ/2)‖Ax' + By - c + u'‖²                                       (3)
    x_t = argmin_x f(x) + (ρ/2)‖Ax + By_t - c + u'‖²                                      (4)
          or, linearised at x' with gradient noise P_t ~ N(0, σ²I),
          x' - (η/γ)[∇f(x') + P_t + ρAᵀ(Ax' + By_t - c + u')]                             (7)
    u_t = u' + Ax_t + By_t - c                                                             (5)

(7) is the minimiser with the proximal term ‖x - x'‖²_G/(2η), G = γI - ηρAᵀA.

Start of the dual
    "printed"  u₀ = -(1/ρ)(Aᵀ)⁺∇f(x₀), as in algorithms 2 and 3: a look at the data without noise,
               which the first y exposes
    "zero"     u₀ = 0
    "noised"   the printed formula with a gradient that got noise of its own, which is released
    "shared"   the printed formula with the noisy gradient of round 1, which is released
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.engine.algorithm import Algorithm, Arrays
from dpcalc.algorithms.engine.recording import ArrayDescription
from dpcalc.algorithms.engine.starting_point import starting_point
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcalc.algorithms.problems.composite import CompositeProblem
    from dpcalc.algorithms.problems.draws import Draw
    from dpcalc.algorithms.problems.noise import Streams
    from dpcalc.algorithms.problems.records import Records

Array = NDArray[np.float64]
DualStart = Literal["printed", "zero", "noised", "shared"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompositeADMM(Algorithm):
    """An ADMM method with an x-step to be chosen.

    Attributes:
        problem: the composite problem.
        penalty: ρ, above 0.
        initial: x₀, shape (d1,), or None for zeros. Never a function of the data.
        dual_start: "zero" or "printed".
    """

    accelerated: ClassVar[bool] = False
    dual_starts: ClassVar[tuple[str, ...]] = ("zero", "printed")
    released: ClassVar[Mapping[str, ArrayDescription]] = {
        "initial": ArrayDescription(
            meaning="x_0, chosen without data", axes=("features",), each_round=False
        ),
        "initial_dual": ArrayDescription(
            meaning="scaled dual variable u_0",
            axes=("constraints",),
            each_round=False,
            at_the_end="dropped",
        ),
        "start_gradient": ArrayDescription(
            meaning="noisy gradient at x_0 from which u_0 is computed",
            axes=("features",),
            each_round=False,
            at_the_end="dropped",
        ),
        "x": ArrayDescription(meaning="x_t, equation (4) or (7)", axes=("features",)),
        "y": ArrayDescription(meaning="y_t, equation (3)", axes=("splits",)),
        "dual": ArrayDescription(
            meaning="scaled dual variable u_t, equation (5)",
            axes=("constraints",),
            at_the_end="dropped",
        ),
    }

    problem: CompositeProblem = field(kw_only=False)
    penalty: float
    initial: Array | None = None
    dual_start: DualStart = "zero"

    def __post_init__(self) -> None:
        checks.count("rounds", self.rounds)
        checks.positive("penalty", self.penalty)
        if self.dual_start not in self.dual_starts:
            raise InvalidInput(
                f"dual_start needs one of {', '.join(self.dual_starts)}; "
                f"got dual_start={self.dual_start!r}"
            )
        start = starting_point(self.initial, self.problem.dimension)
        object.__setattr__(self, "initial", start)

    def with_records(self, records: Records) -> Self:
        """The same method and parameters on other data."""
        return replace(self, problem=self.problem.with_records(records))

    @abstractmethod
    def _x_step(self, t: int, x: Array, u: Array, y: Array, unit: Arrays) -> tuple[Array, Arrays]:
        """x_t from x', u' and y_t, and by-products."""

    # ---- running

    def _draws(self, t: int) -> Mapping[str, Draw]:
        return {}

    def _start(self, streams: Streams) -> tuple[Arrays, Arrays]:
        x = np.array(
            np.broadcast_to(np.asarray(self.initial), (streams.runs, self.problem.dimension))
        )
        return self._memory(x), {"initial": x}

    def _memory(self, x: Array) -> Arrays:
        """Memory before round 1; the dual start is computed in round 1."""
        u = np.zeros((len(x), len(self.problem.constraint.c)))
        memory = {"x": x, "dual": u, "y": np.zeros((len(x), self.problem.constraint.B.shape[1]))}
        return memory | ({"x_before": x, "dual_before": u} if self.accelerated else {})

    def _initial_dual(self, x: Array, unit: Arrays) -> tuple[Array, Arrays]:
        """u₀ and what its computation releases."""
        if self.dual_start == "zero":
            u = np.zeros((len(x), len(self.problem.constraint.c)))
        else:
            u = self._dual_for(self.problem.gradient(x))
        return u, {"initial_dual": u}

    def _dual_for(self, gradient: Array) -> Array:
        """-(1/ρ)(Aᵀ)⁺·gradient, for every run."""
        inverse = np.linalg.pinv(self.problem.constraint.A.T)
        return -gradient @ inverse.T / self.penalty

    def _advance(self, t: int, memory: Arrays, unit: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        started: Arrays = {}
        if t == 1:
            u, started = self._initial_dual(memory["x"], unit)
            memory = memory | {"dual": u}
        x, u = self._extrapolated(t, memory)
        y = self._y_step(x, u)
        new, extra = self._x_step(t, x, u, y, unit)
        dual = u + self.problem.constraint.residual(new, y)
        released = {"x": new, "y": y, "dual": dual}
        return self._follow(memory, released), released | started, extra

    def _follow(self, memory: Arrays, released: Arrays) -> Arrays:
        """Memory after a round: what it released, and for momentum the round before."""
        after = {name: released[name] for name in ("x", "dual", "y")}
        if self.accelerated:
            after |= {"x_before": memory["x"], "dual_before": memory["dual"]}
        return after

    def _extrapolated(self, t: int, memory: Arrays) -> tuple[Array, Array]:
        """X' and u' of round ``t``: the last iterates, moved on by Nesterov's momentum.

        x̂_{t-1} = x_{t-1} + ((θ_{t-1} - 1)/θ_t)(x_{t-1} - x_{t-2}), and u alike (steps 5-7).
        """
        x, u = memory["x"], memory["dual"]
        if not self.accelerated or t == 1:
            return x, u
        weight = momentum_weights(self.rounds)[t - 2]
        return (
            x + weight * (x - memory["x_before"]),
            u + weight * (u - memory["dual_before"]),
        )

    def _y_step(self, x: Array, u: Array) -> Array:
        constraint = self.problem.constraint
        v = constraint.times_A(x) - constraint.c + u
        return constraint.y_step(self.problem.regulariser, v, self.penalty)

    def _measure(self, memory: Arrays) -> Arrays:
        x, y = memory["x"], memory["y"]
        gap = self.problem.constraint.gap(x, y)
        return {"objective": self.problem.objective(x, y), "feasibility_gap": gap}


@cache
def momentum_weights(rounds: int) -> tuple[float, ...]:
    """(θ_t - 1)/θ_{t+1} for t = 1, ..., rounds, with θ_1 = 1, θ_{t+1} = (1 + √(1 + 4θ_t²))/2."""
    weights, theta = [], 1.0
    for _ in range(rounds):
        following = (1 + math.sqrt(1 + 4 * theta**2)) / 2
        weights.append((theta - 1) / following)
        theta = following
    return tuple(weights)
