"""The comparison on 100 nodes that hold the records evenly."""

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


def compute(config: ExperimentConfig) -> Outcome:
    """Losses, budgets, and losses at one certified budget."""
    from dpcalc.algorithms.problems.networks import erdos_renyi

    on = nodes(config, erdos_renyi(100, 0.1, 0))
    chosen = settings(3.0, ROUNDS, full=config.full)
    parts = as_printed(chosen, "a") + budgets(chosen, "b") + at_equal_budget(3.0, ROUNDS, "c")
    curves = shown(on, parts)
    return Outcome(curves=curves, notes=on.setting(f"{ROUNDS} or as named", EXPONENTIAL))


EXPERIMENT = Experiment(
    reference="zhang2018, figure 3",
    title="100 nodes, records spread evenly, α(t) = 3·q₂^(t-1)",
    compute=compute,
    in_parts=True,
    panels=(
        loss_panel("a", "accuracy"),
        privacy_panel("b", "privacy"),
        loss_panel("c", "all at certified (3, 1e-6)", ours=True),
    ),
    choices=(*CHOICES, "The network is an Erdős–Rényi graph of mean degree 10."),
)
