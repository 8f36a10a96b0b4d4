"""Convergence of R-ADMM and MR-ADMM without noise."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel
from dpcalc.reproduction.network import NetworkProblem as Nodes
from dpcalc.reproduction.network import nodes, penalties

if TYPE_CHECKING:
    from dpcalc.reproduction.network import Part
    from dpcalc.reproduction.setup import ExperimentConfig

FIRST = np.array([1.0, 1.03, 1.02, 0.8, 1.01])
STEP = np.array([0.01, 0.005, 0.003, 0.015, 0.01])


def compute(config: ExperimentConfig) -> Outcome:
    """Losses along the rounds, and that of the optimum."""
    from dpcalc.algorithms.problems.networks import erdos_renyi

    rounds, train = config.pick(50, 100), 40_000 if config.has_data("adult") else None
    small = nodes(config, erdos_renyi(5, 0.6, 4), train=train)
    large = nodes(config, erdos_renyi(20, 0.3, 0), train=train)
    curves = []
    for on, size in ((small, "N=5"), (large, "N=20")):
        runs: dict[str, Part] = {
            f"ADMM {size}": partial(Nodes.run, key="decentralised-admm", rounds=rounds, penalty=0.5)
        }
        for gamma in (0.5, 1.0, 5.0):
            runs[f"γ={gamma:g} {size}"] = partial(
                Nodes.run, key="r-admm", rounds=rounds, penalty=0.5, proximal_weight=gamma
            )
        for name, (x, found) in zip(runs, on.all_of(list(runs.values())), strict=True):
            curves.append(Curve(panel="a", name=name, x=x, y=found["loss"]))
    p, count = small.problem, len(small.split.train[1])
    notes = (
        small.split.source,
        f"{count} training records of {p.records.dimension} columns on 5 or 20 nodes",
        f"ρ = {p.ridge:g}, T = {rounds}, no noise",
    )
    return Outcome(curves=[*curves, *_growing(small, rounds)], notes=notes)


def _growing(on: Nodes, rounds: int) -> list[Curve]:
    """Panels b and c: penalties that grow at different speed, γ = 0.5."""
    odd = (rounds + 1) // 2
    k = np.arange(1, odd + 1)[:, None]
    schedules: dict[tuple[str, str], Any] = {
        (panel, "R-ADMM η = 1"): penalties(1.0, 1.0, odd) for panel in "bc"
    }
    for speed in (1, 3, 5):
        schedules["b", f"q₁ = 1 + {speed}q₂"] = FIRST * (1 + speed * STEP) ** k
    for growth in (1.02, 1.05, 1.1):
        schedules["c", f"η = {growth:g}^k"] = growth**k
    runs = [
        partial(Nodes.run, key="mr-admm", rounds=rounds, penalty=penalty, proximal_weight=0.5)
        for penalty in schedules.values()
    ]
    best, *traces = on.all_of([Nodes.optimum, *runs])
    curves = [
        Curve(panel=panel, name=name, x=x, y=found["loss"])
        for (panel, name), (x, found) in zip(schedules, traces, strict=True)
    ]
    ends = [1, rounds]
    return curves + [Curve(panel=panel, name="optimum", x=ends, y=[best, best]) for panel in "abc"]


EXPERIMENT = Experiment(
    reference="zhang2019, figure 1",
    title="convergence of R-ADMM and MR-ADMM",
    compute=compute,
    in_parts=True,
    panels=(
        Panel(key="a", title="R-ADMM, η = 0.5", x="round t", y="average loss", log_y=True),
        Panel(key="b", title="η of each node", x="round t", y="average loss", log_y=True),
        Panel(key="c", title="common η", x="round t", y="average loss", log_y=True),
    ),
    choices=(
        "The random networks are not given: Erdős–Rényi graphs with p = 0.6 (N = 5) and 0.3.",
        "The growths of panel c are not given; γ of panels b and c is taken as 0.5.",
    ),
)
