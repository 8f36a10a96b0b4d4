"""Optimality gap for different noise; and with losses that have a budget, at equal ε."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import copies
from dpcalc.algorithms.problems.data.elastic_net import elastic_net
from dpcalc.algorithms.problems.losses import Huber
from dpcalc.algorithms.problems.optimum import composite_optimum
from dpcalc.algorithms.problems.regularisers import ElasticNet
from dpcalc.calibration import smallest_noise
from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel
from dpcalc.reproduction.figures._elastic_net import CHOICES, ITERATIONS, RUNS, gaps, setting, size
from dpcalc.reproduction.setup import trace
from dpcalc.theorems.iteration.admm_iteration import ADMMIteration

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.state import State
    from dpcalc.reproduction.setup import ExperimentConfig

SIGMAS = (0.05, 0.1, 0.2, 0.5, 0.7)
DELTA = 1e-5
ROUNDS = 100
STEP = 1.0
PENALTY = 0.9


def compute(config: ExperimentConfig) -> Outcome:
    """Mean gaps along the iterations."""
    curves, step = [], setting(0.5)
    for sigma in SIGMAS:
        x, found = gaps(config, step, sigma)
        curves.append(Curve(panel="a", name=f"σ={sigma:g}", x=x, y=found.mean(axis=0)))
    notes = (
        f"{size()}, r = 0.5, β = {PENALTY:g}, mean of {RUNS} runs",
        f"a: T = {ITERATIONS}, Gaussian noise as named, no finite Δ: no ε",
        f"b and c: T = {ROUNDS}, Gaussian noise as printed or certified",
        "b and c: first user's function replaced, last iterate released",
    )
    return Outcome(curves=[*curves, *_bounded(config)], notes=notes)


def _bounded(config: ExperimentConfig) -> list[Curve]:
    """Huber's loss has Δ = 2·width·r: the first of 100 users, by the paper's bound and certified.

    Comparators have the noise that one iteration needs by itself, which protects every user.
    """
    base = elastic_net(radius=0.5, seed=18).problem
    width = 1.0
    problem = CompositeProblem(
        records=base.records,
        loss=Huber(width=width),
        regulariser=ElasticNet(l1=0.01, l2=0.2),
        constraint=copies(base.dimension),
    )
    least = composite_optimum(problem, penalty=PENALTY)[1]
    start = ADMMIteration(
        sensitivity=2 * width * 0.5,
        step_size=STEP,
        penalty=PENALTY,
        sigma=1.0,
        iterations=ROUNDS,
        smoothness=0.25,
        operator_norm=1.0,
        min_singular_value=1.0,
        square=True,
    )
    curves = []
    for epsilon in (0.5, 2.0):
        instances = (
            ("paper's noise", "printed", start.prescribed(epsilon, DELTA)),
            ("paper's noise, certified", "certified", smallest_noise(start, epsilon, DELTA)),
            (
                "local noise",
                "certified",
                smallest_noise(start.replace(iterations=1), epsilon, DELTA),
            ),
        )
        for name, noise, instance in instances:
            x, y = _gaps(config, problem, least, instance.sigma)
            worth = start.replace(sigma=instance.sigma).certified().guarantee.epsilon(DELTA)
            curves.append(
                Curve(
                    panel="b" if epsilon == 0.5 else "c",
                    name=name,
                    x=x,
                    y=y.mean(axis=0),
                    noise=noise,
                    epsilon=worth,
                    delta=DELTA,
                    noisy_rounds=ROUNDS,
                )
            )
    return curves


def _gaps(
    config: ExperimentConfig, problem: CompositeProblem, least: float, sigma: float
) -> tuple[Any, np.ndarray[Any, np.dtype[np.float64]]]:
    kind: Any = load("gradient-admm")
    algorithm = kind(
        problem,
        rounds=ROUNDS,
        penalty=PENALTY,
        step_size=STEP,
        sigma=sigma,
        order="permutation",
        initial=np.full(problem.dimension, 3.0),
    )

    def gap(state: State) -> np.ndarray[Any, np.dtype[np.float64]]:
        return problem.objective(state.memory["x"], state.memory["y"]) - least

    x, found = trace(config, algorithm, {"gap": gap}, runs=RUNS)
    return x, found["gap"]


def _panel(key: str, title: str, *, ours: bool = True) -> Panel:
    return Panel(key=key, title=title, x="iteration", y="mean gap", log_y=True, ours=ours)


EXPERIMENT = Experiment(
    reference="chan2023, figure 2",
    title="gradient ADMM for different noise",
    compute=compute,
    panels=(
        _panel("a", "r = 0.5", ours=False),
        _panel("b", "Huber loss, first user's ε = 0.5 as claimed"),
        _panel("c", "Huber loss, first user's ε = 2 as claimed"),
    ),
    choices=(*CHOICES, "Panels b and c: Huber's loss of width 1, η = 1, δ = 1e-5, 100 iterations."),
)
