"""Contraction factors and iterations to convergence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcalc.reproduction.experiment import Experiment, Outcome, Table
from dpcalc.reproduction.figures._elastic_net import (
    CHOICES,
    PRINTED_STEPS,
    RADII,
    SIGMA,
    gaps,
    setting,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcalc.reproduction.setup import ExperimentConfig

PRINTED = {0.5: (0.95, 26), 0.3: (0.91, 13), 0.15: (0.85, 7), 0.1: (0.80, 6)}
LAG = 5
LEVEL = 0.05


def compute(config: ExperimentConfig) -> Outcome:
    """One row per radius: printed and computed."""
    rows: list[tuple[object, ...]] = []
    for radius, beta in RADII.items():
        step = setting(radius)
        found = gaps(config, step, SIGMA)[1]
        contraction, iterations = PRINTED[radius]
        eta = PRINTED_STEPS[radius]
        rows.append(
            (
                f"{radius**2:g}",
                f"{beta:g}",
                eta,
                f"{step.step_size:.4g}",
                contraction,
                f"{step.contraction:.4f}",
                iterations,
                converged(found),
            )
        )
    columns = (
        "r²",
        "β",
        "η printed",
        "η mid",
        "L printed",
        "L",
        "iterations printed",
        "iterations",
    )
    return Outcome(table=Table(columns=columns, rows=tuple(rows)), notes=("σ = 0.01, 100 runs",))


def converged(found: NDArray[np.float64]) -> int:
    """The first iteration whose gaps do not differ significantly from those five later."""
    from scipy.stats import ttest_ind

    for t in range(found.shape[1] - LAG):
        if ttest_ind(found[:, t], found[:, t + LAG]).pvalue > LEVEL:
            return t + 1
    return found.shape[1]


EXPERIMENT = Experiment(
    reference="chan2023, table 1",
    title="contraction and iterations to convergence",
    compute=compute,
    choices=(*CHOICES, "The level of the test is lost in the source: 95 %."),
)
