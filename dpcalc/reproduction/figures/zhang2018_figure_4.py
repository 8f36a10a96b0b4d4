"""The comparison on 100 nodes that hold the records unevenly."""

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


def uneven(count: int) -> list[int]:
    """Sizes that grow threefold from the first node to the last; public, and scaled to the data."""
    return [1000 + 2000 * i // (count - 1) for i in range(count)]


def compute(config: ExperimentConfig) -> Outcome:
    """Losses, budgets, and losses at one certified budget."""
    from dpcalc.algorithms.problems.networks import erdos_renyi

    on = nodes(config, erdos_renyi(100, 0.1, 0), sizes=uneven(100))
    return compared(on, ROUNDS, full=config.full)


EXPERIMENT = Experiment(
    reference="zhang2018, figure 4",
    title="100 nodes, records spread unevenly, α(t) = 3·q₂^(t-1)",
    compute=compute,
    in_parts=True,
    panels=compared_panels(),
    choices=(
        *CHOICES,
        "The network is an Erdős–Rényi graph of mean degree 10.",
        "Node i holds a share of records proportional to 1 + 2i/99.",
    ),
)
