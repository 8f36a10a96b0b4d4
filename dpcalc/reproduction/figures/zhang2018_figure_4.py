"""The comparison on 100 nodes that hold the records unevenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcalc.reproduction.experiment import Experiment, Outcome
from dpcalc.reproduction.figures._private_m_admm import (
    CHOICES,
    as_printed,
    at_equal_budget,
    budgets,
    loss_panel,
    privacy_panel,
    settings,
    shown,
)
from dpcalc.reproduction.network import EXPONENTIAL, nodes

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
    chosen = settings(3.0, ROUNDS, full=config.full)
    parts = as_printed(chosen, "a") + budgets(chosen, "b") + at_equal_budget(3.0, ROUNDS, "c")
    curves = shown(on, parts)
    return Outcome(curves=curves, notes=on.setting(f"{ROUNDS} or as named", EXPONENTIAL))


EXPERIMENT = Experiment(
    reference="zhang2018, figure 4",
    title="100 nodes, records spread unevenly, α(t) = 3·q₂^(t-1)",
    compute=compute,
    in_parts=True,
    panels=(
        loss_panel("a", "accuracy"),
        privacy_panel("b", "privacy"),
        loss_panel("c", "all at certified (3, 1e-6)", ours=True),
    ),
    choices=(
        *CHOICES,
        "The network is an Erdős–Rényi graph of mean degree 10.",
        "Node i holds a share of records proportional to 1 + 2i/99.",
    ),
)
