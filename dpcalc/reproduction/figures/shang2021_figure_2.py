"""Objective and accuracy of the private methods against ε."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcalc.numerals import spelt
from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel
from dpcalc.reproduction.figures._fused_lasso import CHOICES, DELTA, NOTES, Array, Lasso, lasso_on

if TYPE_CHECKING:
    from dpcalc.reproduction.setup import ExperimentConfig

DATA = ("a9a", "a8a", "ijcnn1")
ROUNDS = 100
METHODS = (
    ("dp-admm", "DP-ADMM", ROUNDS),
    ("dp-acc-admm", "DP-AccADMM", ROUNDS),
    ("dp-acc-admm", f"DP-AccADMM {ROUNDS // 4} rounds", ROUNDS // 4),
)


def compute(config: ExperimentConfig) -> Outcome:
    """Objective, top, and held-out accuracy, bottom, at the end."""
    curves, notes = [], []
    for objective, accuracy, name in zip("abc", "def", DATA, strict=True):
        on = lasso_on(config, name)
        notes.append(on.size())
        curves += _against_epsilon(on, {"objective": objective, "accuracy": accuracy})
    notes += [f"T = {ROUNDS} or as named", *NOTES, f"ε as on the axis, δ = {spelt(DELTA)}"]
    return Outcome(curves=curves, notes=tuple(notes))


def _against_epsilon(on: Lasso, panels: dict[str, str]) -> list[Curve]:
    budgets = np.array((0.01, 0.02, 0.05, 0.1) if not on.config.full else np.arange(1, 11) / 100)
    plain = (("dp-admm", "ADMM"), ("dp-acc-admm", "AccADMM"))
    noisy = [
        (key, name + tail, rounds, noise)
        for key, name, rounds in METHODS
        for noise, tail in (("printed", ""), ("certified", ", certified"))
        if noise == "certified" or rounds == ROUNDS
    ]
    ends = on.all_of(
        [
            *(partial(_end, key=key, rounds=ROUNDS) for key, _ in plain),
            *(
                partial(_end, key=key, rounds=rounds, noise=noise, epsilon=epsilon)
                for key, _, rounds, noise in noisy
                for epsilon in budgets.tolist()
            ),
        ]
    )
    curves = [
        Curve(panel=panel, name=name, x=budgets[[0, -1]], y=end[what][:, None][:, [0, 0]])
        for (_, name), end in zip(plain, ends, strict=False)
        for what, panel in panels.items()
    ]
    for number, (_, name, rounds, noise) in enumerate(noisy):
        first = len(plain) + number * len(budgets)
        curves += [
            Curve(
                panel=panel,
                name=name,
                x=budgets,
                y=np.stack([end[what] for end in ends[first : first + len(budgets)]], axis=1),
                noise=noise,
                noisy_rounds=rounds,
            )
            for what, panel in panels.items()
        ]
    return curves


def _end(
    on: Lasso, key: str, rounds: int, noise: str = "none", epsilon: float = 0.0
) -> dict[str, Array]:
    """What is measured after the last round."""
    sigma = 0.0
    if noise != "none":
        sigma = (on.printed if noise == "printed" else on.certified)(rounds, epsilon).sigma
    return {what: values[:, -1] for what, values in on.run(key, rounds, sigma)[1].items()}


def _panel(key: str, name: str, y: str) -> Panel:
    x = "ε at δ = 1e-3 (solid: as claimed)"
    return Panel(key=key, title=name, x=x, y=y, log_x=True, log_y=y == "objective")


EXPERIMENT = Experiment(
    reference="shang2021, figure 2",
    title="objective and accuracy against ε",
    compute=compute,
    in_parts=True,
    panels=(
        *(_panel(k, name, "objective") for k, name in zip("abc", DATA, strict=True)),
        *(_panel(k, name, "held-out accuracy") for k, name in zip("def", DATA, strict=True)),
    ),
    choices=CHOICES,
)
