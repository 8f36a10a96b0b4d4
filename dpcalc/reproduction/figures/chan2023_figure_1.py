"""Optimality gap for four contraction factors; the privacy of the same chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel
from dpcalc.reproduction.figures._elastic_net import (
    CHOICES,
    ITERATIONS,
    RADII,
    RUNS,
    SIGMA,
    Step,
    gaps,
    setting,
    size,
)
from dpcalc.theorems.iteration.admm_iteration_strongly_convex import ADMMIterationStronglyConvex

if TYPE_CHECKING:
    from dpcalc.reproduction.setup import ExperimentConfig


def compute(config: ExperimentConfig) -> Outcome:
    """Mean gaps along the iterations, and μ·σ/Δ against the number of iterations."""
    curves = []
    for radius in RADII:
        step = setting(radius)
        name = f"L={step.contraction:.3f}"
        x, found = gaps(config, step, SIGMA)
        curves.append(Curve(panel="a", name=name, x=x, y=found.mean(axis=0)))
        curves += _privacy(step, name)
    notes = (
        size(),
        f"a: T = {ITERATIONS}, Gaussian noise, σ = {SIGMA:g}, mean of {RUNS} runs, no finite Δ: no ε",
        "b: bounds alone, Gaussian noise, σ = ηΔ, one user's function replaced, last iterate released",
    )
    return Outcome(curves=curves, notes=notes)


def _privacy(step: Step, name: str) -> list[Curve]:
    """√(2ρ) as claimed and μ as certified, for users as strongly convex as the paper takes them."""
    at = (1, 3, 5, 11, 21, 31, 41)
    claimed, certified = [], []
    for iterations in at:
        theorem = ADMMIterationStronglyConvex(
            sensitivity=1.0,
            step_size=step.step_size,
            penalty=step.penalty,
            sigma=step.step_size,
            iterations=iterations,
            smoothness=2 * step.radius**2,
            strong_convexity=2 * step.radius**2,
            regularizer_strong_convexity=0.2,
            coupling_norm=1.0,
            operator_norm=1.0,
            min_singular_value=1.0,
            square=True,
        )
        claimed.append((2 * theorem.claimed().numbers["rho"]) ** 0.5)
        certified.append(theorem.certified().numbers["mu"])
    return [
        Curve(panel="b", name=name, x=at, y=claimed, noise="printed"),
        Curve(panel="b", name=f"{name}, certified", x=at, y=certified, noise="certified"),
    ]


EXPERIMENT = Experiment(
    reference="chan2023, figure 1",
    title="gradient ADMM for different contraction factors",
    compute=compute,
    panels=(
        Panel(key="a", title="utility, σ = 0.01", x="iteration", y="mean gap", log_y=True),
        Panel(
            key="b",
            title="privacy, if users were strongly convex",
            x="iterations of the user, k",
            y="√(2ρ) or μ at σ = ηΔ",
            log_y=True,
            ours=True,
        ),
    ),
    choices=CHOICES,
)
