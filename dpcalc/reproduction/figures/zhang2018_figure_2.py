"""Penalty perturbation against dual variable perturbation on five nodes."""

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

    on = nodes(config, erdos_renyi(5, 0.6, 4))
    three, five = settings(3.0, ROUNDS, full=config.full), settings(5.0, ROUNDS, full=config.full)
    parts = as_printed(three, "a") + as_printed(five, "b")
    parts += budgets(three, "c") + budgets(five, "d")
    for panel, epsilon in (("e", 3.0), ("f", 1.0)):
        parts += at_equal_budget(epsilon, ROUNDS, panel)
    curves = shown(on, parts)
    return Outcome(curves=curves, notes=on.setting(f"{ROUNDS} or as named", EXPONENTIAL))


EXPERIMENT = Experiment(
    reference="zhang2018, figure 2",
    title="accuracy and privacy, η(t) = 0.5·q₁^(t-1)",
    compute=compute,
    in_parts=True,
    panels=(
        loss_panel("a", "α(t) = 3·q₂^(t-1)"),
        loss_panel("b", "α(t) = 5·q₂^(t-1)"),
        privacy_panel("c", "privacy, α(t) = 3·q₂^(t-1)"),
        privacy_panel("d", "privacy, α(t) = 5·q₂^(t-1)"),
        loss_panel("e", "all at certified (3, 1e-6)", ours=True),
        loss_panel("f", "all at certified (1, 1e-6)", ours=True),
    ),
    choices=CHOICES,
)
