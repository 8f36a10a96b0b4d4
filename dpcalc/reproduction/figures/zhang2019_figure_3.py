"""The proximal weight of even rounds in private MR-ADMM."""

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
    without_noise,
)
from dpcalc.reproduction.network import EXPONENTIAL, recycled

if TYPE_CHECKING:
    from dpcalc.reproduction.network import Part
    from dpcalc.reproduction.setup import ExperimentConfig


def compute(config: ExperimentConfig) -> Outcome:
    """Losses and errors for several γ, at α = 1 and α = 2."""
    on = network_of_figures(config)
    gammas = (0.1, 0.5, 1.0, 2.0, 5.0) if config.full else (0.1, 0.5, 2.0)
    parts: list[Part] = [partial(without_noise, panels="ab")]
    for panel, alpha in (("a", 1.0), ("b", 2.0)):
        for gamma in gammas:
            contender = recycled(f"γ={gamma:g}", ROUNDS, 1.01, 1.01, gamma)
            parts += matched_curves(contender, alpha, panel)
    curves, *matched = on.all_of(parts)
    half = len(matched) // 2
    for alpha, here in ((1.0, matched[:half]), (2.0, matched[half:])):
        curves += [curve for curve, _ in here]
        curves += error_curves("c", gammas, [errors for _, errors in here], f"α={alpha:g}")
    return Outcome(curves=curves, notes=on.setting(f"{ROUNDS}", EXPONENTIAL))


EXPERIMENT = Experiment(
    reference="zhang2019, figure 3",
    title="the effect of γ on private MR-ADMM, η(2k-1) = 1.01^k",
    compute=compute,
    in_parts=True,
    panels=(
        loss_panel("a", "α = 1"),
        loss_panel("b", "α = 2"),
        error_panel("c", "γ", log_x=True),
    ),
    choices=("The values of γ and the random network are not given.",),
)
