"""Gradient-perturbed ADMM: the x-step (7) of shang2021, its exact density and its data accesses.

With v = ∇f(x') + P, (7) is x = x' - (η/γ)[v + ρAᵀ(Ax' + By - c + u')], so that the release gives
the noise back, P = -(γ/η)(x - x') - ρAᵀ(...) - ∇f(x'), with |det ∂P/∂x| = (γ/η)^d1. Given u₀ all
of y and u is a function of the x's. How u₀ comes about:

    zero       public
    printed    a function of the data: the release is impossible under data that give another u₀
    noised     a function of the noisy gradient that is released before round 1
    shared     a function of the noisy gradient of round 1, which is released instead of P's image
               x_1: x_1 follows from it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.algorithms.engine.access import DataAccess
from dpcalc.algorithms.engine.affine import AffineLaw, affine_law
from dpcalc.algorithms.engine.composite_admm import CompositeADMM
from dpcalc.algorithms.engine.implied import ImpliedNoise
from dpcalc.algorithms.engine.network_admm import same_release
from dpcalc.algorithms.engine.schedules import at, settle
from dpcalc.algorithms.problems.draws import StandardNormal
from dpcalc.algorithms.problems.noise import Gaussian, NoiseLaw, NoNoise
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.vocabulary import Adjacency

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from dpcalc.algorithms.engine.algorithm import Arrays
    from dpcalc.algorithms.engine.state import State
    from dpcalc.algorithms.problems.draws import Draw
    from dpcalc.algorithms.problems.records import Records
    from dpcalc.transcript import Transcript

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearisedADMM(CompositeADMM):
    """ADMM with a noisy gradient step.

    Attributes:
        problem: the composite problem.
        penalty: ρ, above 0.
        step_size: η, above 0.
        sigma: σ, standard deviation of the noise on every coordinate of the gradient of the mean
            loss, 0 or above; a number or one per round.
        proximal_weight: γ, above 0; η·ρ·‖AᵀA‖ + 1, the least the theorems allow, if left out. The
            paper's experiments have 1.
        initial: x₀, shape (d1,), or None for zeros. Never a function of the data.
        dual_start: "printed", "zero", "noised" or "shared".
    """

    dual_starts: ClassVar[tuple[str, ...]] = ("printed", "zero", "noised", "shared")

    step_size: float
    sigma: ArrayLike = 0.0
    proximal_weight: float | None = None

    def __post_init__(self) -> None:
        CompositeADMM.__post_init__(self)
        checks.positive("step_size", self.step_size)
        settle(self, "sigma", rounds=self.rounds, zero=True)
        largest = float(self.problem.constraint.singular_values()[0])
        gamma = self.proximal_weight
        if gamma is None:
            gamma = self.step_size * self.penalty * largest**2 + 1
        checks.positive("proximal_weight", gamma)
        object.__setattr__(self, "proximal_weight", gamma)

    # ---- running

    @property
    def _scale(self) -> float:
        """η/γ."""
        return self.step_size / float(self.proximal_weight or 0)

    def _sigma(self, t: int) -> float:
        return float(at(self.sigma, t)[0])

    def _draws(self, t: int) -> Mapping[str, Draw]:
        kind = StandardNormal((self.problem.dimension,))
        if t == 1 and self.dual_start == "noised":
            return {"noise": kind, "start": kind}
        return {"noise": kind}

    def _initial_dual(self, x: Array, unit: Arrays) -> tuple[Array, Arrays]:
        if self.dual_start in ("zero", "printed"):
            return CompositeADMM._initial_dual(self, x, unit)  # noqa: SLF001 - the base's own
        draw = unit["noise" if self.dual_start == "shared" else "start"]
        gradient = self.problem.gradient(x) + self._sigma(1) * draw
        u = self._dual_for(gradient)
        return u, {"initial_dual": u, "start_gradient": gradient}

    def _x_step(self, t: int, x: Array, u: Array, y: Array, unit: Arrays) -> tuple[Array, Arrays]:
        gradient = self.problem.gradient(x) + self._sigma(t) * unit["noise"]
        return self._moved(x, u, y, gradient), {}

    def _moved(self, x: Array, u: Array, y: Array, gradient: Array) -> Array:
        """(7) for a given, noisy or exact, gradient."""
        constraint = self.problem.constraint
        pull = self.penalty * constraint.times_A_transposed(constraint.residual(x, y) + u)
        return x - self._scale * (gradient + pull)

    # ---- densities and accesses

    def implied_noise(self, transcript: Transcript, records: Records | None = None) -> ImpliedNoise:
        """Gradient noise recovered from every x-step."""
        self._checked(transcript)
        other = self if records is None else self.with_records(records)
        d, memory = self.problem.dimension, self._memory(transcript["initial"])
        u, possible = other._start_given(transcript)  # noqa: SLF001 - the same class
        memory |= {"dual": u}
        rounds, unit, jacobian = [], [], []
        if self.dual_start == "noised":
            gap = transcript["start_gradient"] - other.problem.gradient(memory["x"])
            rounds, unit, jacobian = [0], [gap / self._sigma(1)], [-d * np.log(self._sigma(1))]
        for t in range(1, self.rounds + 1):
            sigma = self._sigma(t)
            if sigma == 0:
                raise self._no_density(f"round {t} adds no noise")
            now = {name: transcript[name][:, t - 1] for name in ("x", "y", "dual")}
            x, u = self._extrapolated(t, memory)
            y = self._y_step(x, u)
            same_release(t, now["y"], y)
            same_release(t, now["dual"], u + self.problem.constraint.residual(now["x"], y))
            gradient = other.problem.gradient(x)
            if t == 1 and self.dual_start == "shared":
                same_release(t, now["x"], self._moved(x, u, y, transcript["start_gradient"]))
                gap = transcript["start_gradient"] - gradient
                jacobian.append(-d * np.log(sigma))
            else:
                gap = (self._moved(x, u, y, gradient) - now["x"]) / self._scale
                jacobian.append(-d * np.log(self._scale * sigma))
            rounds.append(t)
            unit.append(gap / sigma)
            memory = self._follow(memory, now)
        stacked = np.stack(unit, axis=1)[:, :, None, :]
        return ImpliedNoise(
            rounds=tuple(rounds),
            unit=stacked,
            log_jacobian=np.broadcast_to(np.array(jacobian)[:, None], stacked.shape[:3]),
            law="gaussian",
            possible=possible,
        )

    def _start_given(self, transcript: Transcript) -> tuple[Array, NDArray[np.bool_]]:
        """u₀ as released, and whether these data could have led to it."""
        released, x = transcript["initial_dual"], transcript["initial"]
        if self.dual_start == "printed":
            computed = self._dual_for(self.problem.gradient(x))
        elif self.dual_start == "zero":
            computed = np.zeros_like(released)
        else:
            computed = self._dual_for(transcript["start_gradient"])
        slack = 1e-9 * (1 + np.abs(computed).max(axis=1))
        same = np.abs(released - computed).max(axis=1) <= slack
        if self.dual_start != "printed" and not same.all():
            same_release(0, released, computed)
        return released, same

    def normalised_distance(self, state: State, records: Records) -> Array:
        """See `Algorithm.normalised_distance`; the start of the dual is not part of it."""
        x, _ = self._extrapolated(state.round + 1, state.memory)
        gap = self.problem.gradient(x) - self.problem.with_records(records).gradient(x)
        return gap[:, None, :] / self._sigma(state.round + 1)

    def last_iterate_law(self, *, records: Records | None = None) -> AffineLaw:
        """The exact Gaussian law of (x_T, y_T) when every step is affine.

        Mean and covariance are propagated through the very steps that run; ``parts`` also holds the
        dual variable, which a last-iterate release keeps back: take ``marginal("x", "y")``.

        Raises:
            AssumptionViolated: if loss or regulariser is not quadratic.
        """
        twin = self if records is None else self.with_records(records)
        problem, d = twin.problem, twin.problem.dimension
        if not (problem.loss.quadratic and problem.regulariser.quadratic):
            raise AssumptionViolated(
                "a Gaussian law needs quadratic functions; got "
                f"loss={problem.loss.name!r}, regulariser={problem.regulariser!r}"
            )

        def step(t: int, state: Arrays, noise: Array) -> Arrays:
            unit = {"noise": noise[:, :d], "start": noise[:, d:]}
            return twin._advance(t, state, unit)[0]  # noqa: SLF001 - the same class

        start = self._memory(np.asarray(self.initial)[None, :])
        one = {name: values[0] for name, values in start.items()}
        return affine_law(step, one, rounds=self.rounds, noise=2 * d)

    def data_accesses(self, adjacency: Adjacency | None = None) -> tuple[DataAccess, ...]:
        """The gradient of the mean loss in every round, and the start of the dual.

        One record moves it by at most 2c/n (replace-one) or c/n (add-remove with the weight 1/n
        unchanged), c = max|φ'|·max‖x‖.
        """
        adjacency = Adjacency.REPLACE_ONE if adjacency is None else adjacency
        factors = {Adjacency.REPLACE_ONE: 2, Adjacency.ADD_REMOVE: 1}
        if adjacency not in factors:
            raise InvalidInput(
                f"adjacency needs one of {', '.join(factors)}; got adjacency={adjacency!s}"
            )
        problem = self.problem
        bound = problem.loss.derivative_bound * problem.records.row_bound
        moved = factors[adjacency] * bound / problem.count
        start = [] if self.dual_start not in ("printed", "noised") else [self._start_access(moved)]
        first = "start_gradient" if self.dual_start == "shared" else "x"
        return tuple(
            DataAccess(
                round=t,
                node=0,
                released=released,
                query=query,
                sensitivity=sensitivity,
                adjacency=adjacency,
                noise=noise,
            )
            for t, released, query, sensitivity, noise in [
                *start,
                *(
                    (t, first if t == 1 else "x", "gradient of f at x'", moved, self._law(t))
                    for t in range(1, self.rounds + 1)
                ),
            ]
        )

    def _law(self, t: int) -> NoiseLaw:
        return Gaussian(self._sigma(t)) if self._sigma(t) > 0 else NoNoise()

    def _start_access(self, moved: float) -> tuple[int, str, str, float, NoiseLaw]:
        if self.dual_start == "noised":
            return 0, "start_gradient", "gradient of f at x_0", moved, self._law(1)
        inverse = np.linalg.pinv(self.problem.constraint.A.T)
        stretch = float(np.linalg.norm(inverse, 2)) / self.penalty
        return 0, "initial_dual", "-(1/ρ)(Aᵀ)⁺∇f(x_0), without noise", stretch * moved, NoNoise()
