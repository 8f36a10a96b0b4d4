"""The growth of the penalty in private MR-ADMM."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dpcalc.reproduction.experiment import Experiment, Outcome
from dpcalc.reproduction.figures._private_r_admm import (
    ROUNDS,
    error_curves,
    error_panel,
    loss_panel,
    matched_curves,
    network_of_figures,
    privacy_panel,
    without_noise,
)
from dpcalc.reproduction.network import EXPONENTIAL, privacy_curves, recycled

if TYPE_CHECKING:
    from dpcalc.reproduction.network import Part
    from dpcalc.reproduction.setup import ExperimentConfig


def compute(config: ExperimentConfig) -> Outcome:
    """Losses, budgets and errors for several growths, at α = 2 and α = 1."""
    on = network_of_figures(config)
    growths = (1.01, 1.02, 1.03, 1.04, 1.05) if config.full else (1.01, 1.03, 1.05)
    parts: list[Part] = [partial(without_noise, panels="ab")]
    for panel, privacy, alpha in (("a", "c", 2.0), ("b", "d", 1.0)):
        for growth in growths:
            contender = recycled(f"q₁={growth:g}", ROUNDS, growth, growth, 0.5)
            spent = partial(privacy_curves, contender=contender, noise_rate=alpha, panel=privacy)
            parts += [*matched_curves(contender, alpha, panel), spent]
    curves, *found = on.all_of(parts)
    half = len(found) // 2
    for alpha, here in ((2.0, found[:half]), (1.0, found[half:])):
        errors = []
        for first, second, spent in zip(here[::3], here[1::3], here[2::3], strict=True):
            curves += [first[0], second[0], *spent]
            errors += [first[1], second[1]]
        curves += error_curves("e", growths, errors, f"α={alpha:g}")
    return Outcome(curves=curves, notes=on.setting(f"{ROUNDS}", EXPONENTIAL))


EXPERIMENT = Experiment(
    reference="zhang2019, figure 4",
    title="the effect of η(2k-1) = q₁^k on private MR-ADMM, γ = 0.5",
    compute=compute,
    in_parts=True,
    panels=(
        loss_panel("a", "α = 2"),
        loss_panel("b", "α = 1"),
        privacy_panel("c", "privacy, α = 2"),
        privacy_panel("d", "privacy, α = 1"),
        error_panel("e", "q₁"),
    ),
    choices=("The random network is not given.",),
)
