"""The comparison on 100 nodes that hold the records evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcalc.reproduction.experiment import Experiment, Outcome
from dpcalc.reproduction.figures._private_m_admm import (
    CHOICES,
    compared,
    compared_panels,
)
from dpcalc.reproduction.network import nodes

if TYPE_CHECKING:
    from dpcalc.reproduction.setup import ExperimentConfig

ROUNDS = 50


def compute(config: ExperimentConfig) -> Outcome:
    """Losses, budgets, and losses at one certified budget."""
    from dpcalc.algorithms.problems.networks import erdos_renyi

    on = nodes(config, erdos_renyi(100, 0.1, 0))
    return compared(on, ROUNDS, full=config.full)


EXPERIMENT = Experiment(
    reference="zhang2018, figure 3",
    title="100 nodes, records spread evenly, α(t) = 3·q₂^(t-1)",
    compute=compute,
    in_parts=True,
    panels=compared_panels(),
    choices=(*CHOICES, "The network is an Erdős–Rényi graph of mean degree 10."),
)
