"""Private ADMM, M-ADMM, R-ADMM and MR-ADMM compared; then at equal certified budget."""

from __future__ import annotations

from functools import partial
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

    from dpcalc.reproduction.network import Part
    from dpcalc.reproduction.setup import ExperimentConfig
    from dpcalc.theorems.base import Theorem

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
    curves, *budgets = on.all_of(
        [partial(without_noise, panels="abcghi"), *(partial(_budget, alpha=a) for a in ALPHAS)]
    )
    parts: list[Part] = []
    for alpha, loss, privacy, ours, epsilon in zip(
        ALPHAS, "abc", "def", "ghi", budgets, strict=True
    ):
        parts += [
            partial(_as_printed, one=one, alpha=alpha, panel=loss, privacy_panel=privacy)
            for one in contenders(ROUNDS)
        ]
        parts += [partial(_at_budget, one=one, epsilon=epsilon, panel=ours) for one in fair(ROUNDS)]
    printed: Errors = {}
    equal: Errors = {}
    for name, shown, errors in on.all_of(parts):
        curves += shown
        (printed if shown[0].noise == "printed" else equal).setdefault(name, []).append(errors)
    curves += _errors("j", ALPHAS, printed, "printed")
    curves += _errors("k", budgets, equal, "certified")
    return Outcome(curves=curves, notes=on.setting(f"{ROUNDS} or as named", EXPONENTIAL))


def _reference(on: NetworkProblem, alpha: float) -> Theorem:
    """R-ADMM with the noise of the paper."""
    return contenders(ROUNDS)[2].instance(on, alpha)


def _budget(on: NetworkProblem, alpha: float) -> float:
    return _reference(on, alpha).certified().guarantee.epsilon(DELTA)


def _as_printed(
    on: NetworkProblem, one: ComparedMethod, alpha: float, panel: str, privacy_panel: str
) -> tuple[str, list[Curve], NDArray[np.float64]]:
    """Conventional methods get the noise with which the paper claims the same total."""
    instance = one.instance(on, alpha)
    if not one.recycled:
        claim = _reference(on, alpha).claimed().numbers["beta"]
        instance = instance.prescribed(claim, 0.0)
    curve, errors = one.curves(on, instance, panel=panel, noise="printed")
    spent = privacy_curves(on, one, instance.noise_level(), privacy_panel)
    return one.name, [curve, *spent], errors


def _at_budget(
    on: NetworkProblem, one: ComparedMethod, epsilon: float, panel: str
) -> tuple[str, list[Curve], NDArray[np.float64]]:
    instance = one.calibrated(on, epsilon)
    curve, errors = one.curves(on, instance, panel=panel, noise="certified")
    return one.name, [curve], errors


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
    in_parts=True,
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
