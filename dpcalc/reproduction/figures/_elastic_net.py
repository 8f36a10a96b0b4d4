"""What the figures and tables of chan2023 share: gradient ADMM on the elastic net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.data.elastic_net import elastic_net
from dpcalc.algorithms.problems.optimum import composite_optimum
from dpcalc.numerics.precise import round_up
from dpcalc.reproduction.setup import ExperimentConfig, trace
from dpcalc.theorems.iteration.admm_iteration_strongly_convex import (
    ADMMIterationStronglyConvex,
    admissible_steps,
)

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.state import State

Array = NDArray[np.float64]

RADII = {0.5: 0.9, 0.3: 0.5, 0.15: 0.3, 0.1: 0.15}
"""β for every r, as table 1 has them."""

PRINTED_STEPS = {0.5: 1.95, 0.3: 4.81, 0.15: 20.0, 0.1: 43.3}
STRONG = 0.2
"""μ_g of c₁‖y‖₁ + c₂‖y‖² with c₂ = 0.1."""

RUNS, ITERATIONS = 100, 50
SIGMA = 0.01

CHOICES = (
    "The number of iterations is not given: 50.",
    "The step size is the midpoint of the admissible interval, as the text says.",
    "Squares have no finite Δ, and rank-one Hessians no strong convexity: no budget applies here.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A setting of table 1.

    Attributes:
        radius: r.
        penalty: β.
        step_size: η, the midpoint of the admissible interval.
        contraction: L.
    """

    radius: float
    penalty: float
    step_size: float
    contraction: float


def setting(radius: float, step_size: float | None = None) -> Step:
    """β, η and L for a radius."""
    nu, beta = 2 * radius**2, RADII[radius]
    low, high = admissible_steps(
        penalty=beta,
        smoothness=nu,
        strong_convexity=nu,
        regularizer_strong_convexity=STRONG,
        coupling_norm=1.0,
    )
    eta = float((low + high) / 2) if step_size is None else step_size
    theorem = ADMMIterationStronglyConvex(
        sensitivity=1.0,
        step_size=eta,
        penalty=beta,
        sigma=1.0,
        iterations=3,
        smoothness=nu,
        strong_convexity=nu,
        regularizer_strong_convexity=STRONG,
        coupling_norm=1.0,
        operator_norm=1.0,
        min_singular_value=1.0,
        square=True,
    )
    contraction = round_up(theorem.norm().contraction)
    return Step(radius=radius, penalty=beta, step_size=eta, contraction=contraction)


def size() -> str:
    """The data, for under a picture."""
    problem = elastic_net(radius=0.5, seed=18).problem
    return f"generated: {problem.count} users of {problem.dimension} columns"


def gaps(
    config: ExperimentConfig,
    step: Step,
    sigma: float,
    *,
    rounds: int = ITERATIONS,
    runs: int = RUNS,
) -> tuple[NDArray[np.int64], Array]:
    """Optimality gaps of every run after every iteration; users drawn with replacement."""
    problem = elastic_net(radius=step.radius, seed=18).problem
    kind: Any = load("gradient-admm")
    algorithm = kind(
        problem,
        rounds=rounds,
        penalty=step.penalty,
        step_size=step.step_size,
        sigma=sigma,
        order="with-replacement",
        initial=np.full(problem.dimension, 3.0),
    )
    least = composite_optimum(problem, penalty=step.penalty)[1]

    def gap(state: State) -> Array:
        return problem.objective(state.memory["x"], state.memory["y"]) - least

    x, found = trace(config, algorithm, {"gap": gap}, runs=runs)
    config.progress(f"r = {step.radius:g}, σ = {sigma:g}")
    return x, found["gap"]
