"""Noisy gradient ADMM (chan2023): one user's gradient per iteration, in a chosen order.

State (x, λ); in iteration t with the private function f_t of one user

    y  = argmin_y g(y) - ⟨λ, By⟩ + (β/2)‖Ax + By - c‖²
    λ⁺ = λ - β(Ax + By - c)
    x⁺ = M⁻¹[x - η(∇f_t(x) + ξ) + ηAᵀ(λ⁺ + β(c - By))] + ζ,   M = I + ηβAᵀA

and (x⁺, λ⁺) goes on. Algorithm 1 noises the iterate (ζ ~ N(0, σ²I), ξ = 0), algorithm 4 the oracle
(ξ ~ N(0, σ²I), ζ = 0). Either is undone: ζ = x⁺ - (noiseless step), ξ = -Mζ/η.

Users come in one of the orders of `user_order.UserOrder`. With ``stopping = (first, last)`` a run stops
after a uniform number of rounds in that range; what was released last stays. Of a full release
order and stopping round are part; of a last-iterate release they are not.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.engine.access import DataAccess
from dpcalc.algorithms.engine.affine import AffineLaw, affine_law
from dpcalc.algorithms.engine.algorithm import Algorithm, Arrays
from dpcalc.algorithms.engine.gradient_step import GradientStep
from dpcalc.algorithms.engine.implied import ImpliedNoise
from dpcalc.algorithms.engine.network_admm import same_release
from dpcalc.algorithms.engine.recording import ArrayDescription
from dpcalc.algorithms.engine.starting_point import starting_point
from dpcalc.algorithms.engine.user_order import Order, UserOrder
from dpcalc.algorithms.problems.draws import StandardNormal
from dpcalc.algorithms.problems.noise import Gaussian, NoiseLaw, NoNoise
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcalc.algorithms.engine.state import State
    from dpcalc.algorithms.problems.composite import CompositeProblem
    from dpcalc.algorithms.problems.draws import Draw
    from dpcalc.algorithms.problems.noise import Streams
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.transcript import Transcript

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyGradientADMM(Algorithm):
    """Gradient ADMM over users.

    Attributes:
        problem: the composite problem; every record is a user.
        penalty: β, above 0.
        step_size: η, above 0.
        sigma: standard deviation of the noise, 0 or above.
        order: "fixed", "permutation" or "with-replacement".
        stopping: None, or the first and the last round after which a run may stop.
        initial: x_0, shape (d1,), or None for zeros; λ_0 = 0. Never a function of the data.
        gradient_gap: Δ, the largest ‖∇f - ∇f'‖ between neighbouring functions; twice the bound on
            one gradient if left out, infinite for the squared loss.
    """

    released: ClassVar[Mapping[str, ArrayDescription]] = {
        "initial": ArrayDescription(
            meaning="x_0, chosen without data", axes=("features",), each_round=False
        ),
        "x": ArrayDescription(meaning="noisy primal iterate x_t", axes=("features",)),
        "dual": ArrayDescription(meaning="dual variable λ_t", axes=("constraints",)),
        "order": ArrayDescription(
            meaning="user whose function the round used; -1 after stopping",
            axes=(),
            at_the_end="diagnostic",
        ),
    }

    problem: CompositeProblem = field(kw_only=False)
    penalty: float
    step_size: float
    sigma: float
    order: Order = "fixed"
    stopping: tuple[int, int] | None = None
    initial: Array | None = None
    gradient_gap: float | None = None
    _cache: dict[str, GradientStep] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        checks.count("rounds", self.rounds)
        checks.positive("penalty", self.penalty)
        checks.positive("step_size", self.step_size)
        checks.non_negative("sigma", self.sigma)
        _ = self._user_order  # checks order and stopping
        start = starting_point(self.initial, self.problem.dimension)
        object.__setattr__(self, "initial", start)
        gap = self.gradient_gap
        if gap is None:
            gap = 2 * self.problem.loss.derivative_bound * self.problem.records.row_bound
        checks.non_negative_or_infinite("gradient_gap", gap)
        object.__setattr__(self, "gradient_gap", gap)

    def with_records(self, records: Records) -> Self:
        """The same method and parameters with other users."""
        return replace(self, problem=self.problem.with_records(records))

    @property
    def _user_order(self) -> UserOrder:
        return UserOrder(
            users=self.problem.count,
            rounds=self.rounds,
            order=self.order,
            stopping=self.stopping,
        )

    @property
    def _step(self) -> GradientStep:
        """One iteration, without noise."""
        if "step" not in self._cache:
            self._cache["step"] = GradientStep(
                problem=self.problem, penalty=self.penalty, step_size=self.step_size
            )
        return self._cache["step"]

    # ---- what the two variants differ in

    @abstractmethod
    def _displacement(self, unit: Array) -> Array:
        """What unit noise adds to x⁺."""

    @abstractmethod
    def _unit(self, displacement: Array) -> Array:
        """The unit noise that adds this to x⁺."""

    @abstractmethod
    def _log_scale(self) -> float:
        """ln|det ∂(displacement)/∂(unit)|."""

    @abstractmethod
    def _sensitivity(self) -> tuple[str, float]:
        """The query that is noised, and how far neighbouring functions move it."""

    # ---- running

    def _draws(self, t: int) -> Mapping[str, Draw]:
        return {"noise": StandardNormal((self.problem.dimension,))}

    def _start(self, streams: Streams) -> tuple[Arrays, Arrays]:
        x = np.array(
            np.broadcast_to(np.asarray(self.initial), (streams.runs, self.problem.dimension))
        )
        dual = np.zeros((len(x), len(self.problem.constraint.c)))
        return {"x": x, "dual": dual} | self._user_order.draw(streams), {"initial": x}

    def _advance(self, t: int, memory: Arrays, unit: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        users = memory["order"][:, t - 1]
        x, dual, y = self._step(memory["x"], memory["dual"], users)
        x = x + self._displacement(unit["noise"])
        if "stop" in memory:
            going = memory["stop"] >= t
            x = np.where(going[:, None], x, memory["x"])
            dual = np.where(going[:, None], dual, memory["dual"])
            users = np.where(going, users, -1)
        released = {"x": x, "dual": dual}
        if self._user_order.random:
            released["order"] = users
        return memory | {"x": x, "dual": dual, "y": y}, released, {}

    def _measure(self, memory: Arrays) -> Arrays:
        x, y = memory["x"], memory["y"]
        gap = self.problem.constraint.gap(x, y)
        return {"objective": self.problem.objective(x, y), "feasibility_gap": gap}

    # ---- densities, laws and accesses

    def implied_noise(self, transcript: Transcript, records: Records | None = None) -> ImpliedNoise:
        """What was added to every iterate, given the order in which users came."""
        self._checked(transcript)
        if self.sigma == 0:
            raise self._no_density("sigma is 0")
        problem = self.problem if records is None else self.problem.with_records(records)
        twin = replace(self, problem=problem)
        x = transcript["initial"]
        dual = np.zeros((len(x), len(problem.constraint.c)))
        turns = self._user_order
        orders = transcript["order"] if turns.random else turns.cyclic(transcript.runs)
        unit = np.zeros((len(x), self.rounds, 1, problem.dimension))
        for t in range(1, self.rounds + 1):
            users = orders[:, t - 1]
            mean, new, _ = twin._step(x, dual, np.maximum(users, 0))  # noqa: SLF001
            now, going = transcript["x"][:, t - 1], users >= 0
            same_release(t, transcript["dual"][:, t - 1], np.where(going[:, None], new, dual))
            unit[:, t - 1, 0] = np.where(going[:, None], self._unit(now - mean), 0)
            x, dual = now, transcript["dual"][:, t - 1]
        active = orders >= 0
        return ImpliedNoise(
            rounds=tuple(range(1, self.rounds + 1)),
            unit=unit,
            log_jacobian=np.full(unit.shape[:3], -self._log_scale()),
            law="gaussian",
            active=active[:, :, None],
            log_chance=turns.log_chance(active.sum(axis=1)),
        )

    def normalised_distance(self, state: State, records: Records) -> Array:
        """See `Algorithm.normalised_distance`."""
        users, memory = state.memory["order"][:, state.round], state.memory
        here, there = (
            algorithm._step(memory["x"], memory["dual"], users)[0]  # noqa: SLF001
            for algorithm in (self, self.with_records(records))
        )
        return self._unit(here - there)[:, None, :]

    def last_iterate_law(
        self, *, order: Sequence[int] | None = None, records: Records | None = None
    ) -> AffineLaw:
        """The exact Gaussian law of (x_T, λ_T) when every step is affine.

        Mean and covariance are propagated through the very steps that run.

        Args:
            order: the users in turn; its length is T. The fixed order if left out.
            records: other users.

        Raises:
            AssumptionViolated: if loss or regulariser is not quadratic.
        """
        twin = self if records is None else self.with_records(records)
        problem = twin.problem
        if not (problem.loss.quadratic and problem.regulariser.quadratic):
            raise AssumptionViolated(
                "a Gaussian law needs quadratic functions; got "
                f"loss={problem.loss.name!r}, regulariser={problem.regulariser!r}"
            )
        users = range(self.rounds) if order is None else order
        turns = np.array([int(user) % problem.count for user in users])
        memory = {"x": np.asarray(self.initial), "dual": np.zeros(len(problem.constraint.c))}

        def step(t: int, state: Arrays, noise: Array) -> Arrays:
            now = np.full(len(noise), turns[t - 1])
            x, dual, _ = twin._step(state["x"], state["dual"], now)  # noqa: SLF001
            return {"x": x + twin._displacement(noise), "dual": dual}  # noqa: SLF001

        return affine_law(step, memory, rounds=len(turns), noise=problem.dimension)

    def data_accesses(self, adjacency: Adjacency | None = None) -> tuple[DataAccess, ...]:
        """One per round: the gradient step of the user whose turn it is."""
        if adjacency not in (None, Adjacency.NEIGHBOURING_FUNCTIONS, Adjacency.REPLACE_ONE):
            raise InvalidInput(
                f"adjacency needs {Adjacency.NEIGHBOURING_FUNCTIONS!s} or "
                f"{Adjacency.REPLACE_ONE!s}; got adjacency={adjacency!s}"
            )
        query, moved = self._sensitivity()
        law: NoiseLaw = Gaussian(self.sigma) if self.sigma > 0 else NoNoise()
        rate = 1 / self.problem.count if self.order == "with-replacement" else 1.0
        return tuple(
            DataAccess(
                round=t,
                node=(t - 1) % self.problem.count if self.order == "fixed" else None,
                released="x",
                query=query,
                sensitivity=moved,
                adjacency=adjacency or Adjacency.NEIGHBOURING_FUNCTIONS,
                noise=law,
                sampling_rate=rate,
            )
            for t in range(1, self.rounds + 1)
        )
