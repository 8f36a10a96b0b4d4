"""The regulariser's weight and the error on held-out records."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel
from dpcalc.reproduction.network import nodes
from dpcalc.training.metrics import error

if TYPE_CHECKING:
    from dpcalc.reproduction.setup import ExperimentConfig

ROUNDS = 50


def compute(config: ExperimentConfig) -> Outcome:
    """Errors after 50 rounds of ADMM, and those of the central optimum."""
    weights = np.geomspace(0.01, 100, config.pick(7, 13))
    ridges = f"{weights[0]:g} to {weights[-1]:g}"
    found = config.each(partial(_errors, config, ridges), weights.tolist())
    after, best, notes = zip(*found, strict=True)
    curves = [
        Curve(panel="a", name=f"ADMM, {ROUNDS} rounds", x=weights, y=after),
        Curve(panel="a", name="central optimum", x=weights, y=best),
    ]
    return Outcome(curves=curves, notes=notes[-1])


def _errors(
    config: ExperimentConfig, ridges: str, ridge: float
) -> tuple[float, float, tuple[str, ...]]:
    """After the rounds, and at the optimum; and the notes of the figure."""
    from dpcalc.algorithms.problems.networks import erdos_renyi

    train = 40_000 if config.has_data("adult") else None
    on = nodes(config, erdos_renyi(5, 0.6, 4), train=train, ridge=ridge)
    _, found = on.run("decentralised-admm", rounds=ROUNDS, penalty=1.0)
    central = error(on.problem.loss, on.problem.optimum()[None, :], *on.split.test)[0]
    return found["error"][0, -1], central, on.setting(f"{ROUNDS}", "", ridges=ridges)


EXPERIMENT = Experiment(
    reference="zhang2019, figure 2",
    title="the effect of ρ, C = 1750",
    compute=compute,
    in_parts=True,
    panels=(
        Panel(
            key="a",
            title="classification error",
            x="ρ",
            y="error on held-out records",
            log_x=True,
        ),
    ),
    choices=("The penalty is not given: η = 1. The choice of ρ on held-out data is not charged.",),
)
