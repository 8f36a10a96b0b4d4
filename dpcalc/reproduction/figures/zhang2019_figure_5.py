"""Private ADMM, M-ADMM, R-ADMM and MR-ADMM compared; then at equal certified budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcalc.reproduction.experiment import Curve, Experiment, Outcome
from dpcalc.reproduction.figures._private_r_admm import (
    ROUNDS,
    error_panel,
    loss_panel,
    network_of_figures,
    privacy_panel,
    without_noise,
)
from dpcalc.reproduction.network import (
    DELTA,
    EXPONENTIAL,
    ComparedMethod,
    NetworkProblem,
    dual,
    perturbed_penalty,
    privacy_curves,
    recycled,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcalc.reproduction.setup import ExperimentConfig

    Errors = dict[str, list[NDArray[np.float64]]]

ALPHAS = (2.0, 1.0, 0.5)
GROWTH = 1.04


def contenders(rounds: int) -> list[ComparedMethod]:
    """The four methods of the paper."""
    return [
        dual("ADMM", rounds, 1.0),
        perturbed_penalty("M-ADMM", rounds, GROWTH, GROWTH),
        recycled("R-ADMM", rounds, 1.0, 1.0, 0.5),
        recycled("MR-ADMM", rounds, GROWTH, GROWTH, 0.5),
    ]


def fair(rounds: int) -> list[ComparedMethod]:
    """The four again, and methods stopped after as many noisy rounds as others, and sooner."""
    half, quarter = rounds // 2, rounds // 4
    return [
        dual(f"ADMM {rounds} noisy rounds", rounds, 1.0),
        dual(f"ADMM {half} noisy rounds", half, 1.0),
        dual(f"ADMM {quarter} noisy rounds", quarter, 1.0),
        perturbed_penalty(f"M-ADMM {half} noisy rounds", half, GROWTH, GROWTH),
        recycled(f"R-ADMM {half} noisy rounds", rounds, 1.0, 1.0, 0.5),
        recycled(f"MR-ADMM {half} noisy rounds", rounds, GROWTH, GROWTH, 0.5),
        recycled(f"R-ADMM {quarter} noisy rounds", 2 * quarter, 1.0, 1.0, 0.5),
        recycled(f"MR-ADMM {quarter} noisy rounds", 2 * quarter, GROWTH, GROWTH, 0.5),
    ]


def compute(config: ExperimentConfig) -> Outcome:
    """Losses and budgets as in the paper, then at the certified budget of R-ADMM."""
    on = network_of_figures(config)
    curves = without_noise(on, "abcghi")
    printed: Errors = {}
    equal: Errors = {}
    budgets = []
    for alpha, loss, privacy, ours in zip(ALPHAS, "abc", "def", "ghi", strict=True):
        reference = contenders(ROUNDS)[2].instance(on, alpha)
        curves += _as_printed(
            on, alpha, reference.claimed().numbers["beta"], loss, privacy, printed
        )
        epsilon = reference.certified().guarantee.epsilon(DELTA)
        budgets.append(epsilon)
        for one in fair(ROUNDS):
            instance = one.calibrated(on, epsilon)
            curve, errors = one.curves(on, instance, panel=ours, noise="certified")
            curves.append(curve)
            equal.setdefault(one.name, []).append(errors)
    curves += _errors("j", ALPHAS, printed, "printed")
    curves += _errors("k", budgets, equal, "certified")
    return Outcome(curves=curves, notes=on.setting(f"{ROUNDS} or as named", EXPONENTIAL))


def _as_printed(
    on: NetworkProblem, alpha: float, claim: float, loss: str, privacy: str, errors: Errors
) -> list[Curve]:
    """Conventional methods get the noise with which the paper claims the same total."""
    curves = []
    for one in contenders(ROUNDS):
        instance = one.instance(on, alpha)
        if not one.recycled:
            instance = instance.prescribed(claim, 0.0)
        curve, found = one.curves(on, instance, panel=loss, noise="printed")
        curves.append(curve)
        curves += privacy_curves(on, one, instance.noise_level(), privacy)
        errors.setdefault(one.name, []).append(found)
    return curves


def _errors(
    panel: str, x: tuple[float, ...] | list[float], found: Errors, noise: str
) -> list[Curve]:
    return [
        Curve(panel=panel, name=name, x=x, y=np.stack(values, axis=1), noise=noise)
        for name, values in found.items()
    ]


EXPERIMENT = Experiment(
    reference="zhang2019, figure 5",
    title="private ADMM, M-ADMM, R-ADMM, MR-ADMM",
    compute=compute,
    panels=(
        *(loss_panel(k, f"α = {a:g}") for k, a in zip("abc", ALPHAS, strict=True)),
        *(privacy_panel(k, f"privacy, α = {a:g}") for k, a in zip("def", ALPHAS, strict=True)),
        *(
            loss_panel(k, f"R-ADMM's certified ε at α = {a:g}", ours=True)
            for k, a in zip("ghi", ALPHAS, strict=True)
        ),
        error_panel("j", "α of R-ADMM", log_x=True),
        error_panel("k", "certified ε at δ = 1e-6", log_x=True),
    ),
    choices=(
        "The noise of ADMM and M-ADMM is only said to give about the same P: here exactly the same.",
        "The network, and M-ADMM's penalty, are not given: 1.04^t as MR-ADMM's.",
    ),
)
