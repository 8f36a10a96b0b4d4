"""Convergence of M-ADMM without noise: private penalties, and growing ones."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel
from dpcalc.reproduction.network import NetworkProblem, nodes, penalties

if TYPE_CHECKING:
    from dpcalc.reproduction.network import Part
    from dpcalc.reproduction.setup import ExperimentConfig

FIRST = np.array([0.55, 0.65, 0.6, 0.55, 0.6])
GROWTH = np.array([1.01, 1.03, 1.1, 1.2, 1.02])


def compute(config: ExperimentConfig) -> Outcome:
    """Losses along the rounds, and that of the optimum."""
    from dpcalc.algorithms.problems.networks import erdos_renyi

    on, rounds = nodes(config, erdos_renyi(5, 0.6, 4)), config.pick(60, 150)
    own = FIRST * GROWTH ** np.arange(rounds)[:, None]
    steps = {
        "θ = 0.5": 0.5,
        "θ changing: 0.5·1.01^(t-1)": penalties(0.5, 1.01, rounds),
        "θ of each node: η_i(1)": FIRST[None, :],
    }
    run = partial(NetworkProblem.run, key="m-admm", rounds=rounds)
    runs: dict[tuple[str, str], Part] = {
        ("a", name): partial(run, penalty=own, dual_step=step) for name, step in steps.items()
    }
    for growth in (1.0, 1.02, 1.1, 1.2):
        penalty = penalties(0.5, growth, rounds)
        runs["b", f"q₁ = {growth:g}"] = partial(run, penalty=penalty, dual_step=0.5)
    best, *traces = on.all_of([NetworkProblem.optimum, *runs.values()])
    curves = [
        Curve(panel=panel, name=name, x=x, y=found["loss"])
        for (panel, name), (x, found) in zip(runs, traces, strict=True)
    ]
    curves += [Curve(panel=panel, name="optimum", x=[1, rounds], y=[best, best]) for panel in "ab"]
    return Outcome(curves=curves, notes=on.setting(f"{rounds}", ""))


EXPERIMENT = Experiment(
    reference="zhang2018, figure 1",
    title="convergence of M-ADMM",
    compute=compute,
    in_parts=True,
    panels=(
        Panel(key="a", title="private penalties η_i(t)", x="round t", y="average loss", log_y=True),
        Panel(key="b", title="η(t) = 0.5·q₁^(t-1)", x="round t", y="average loss", log_y=True),
    ),
    choices=(
        "C, ρ and the network are not given: those of zhang2019, C/B = 1750/8000, ρ = 0.22.",
        "The changing and the node-dependent θ are not given.",
    ),
)
