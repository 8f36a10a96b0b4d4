"""Utility of private dual averaging against ε."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcalc.numerals import spelt
from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel
from dpcalc.reproduction.figures._svm import CHOICES, DELTA, FULL_ROUNDS, SVM, svm_on

if TYPE_CHECKING:
    from dpcalc.reproduction.setup import ExperimentConfig
    from dpcalc.theorems.dual_averaging.private_dual_averaging import PrivateDualAveraging

BUDGETS = (0.2, 0.4, 0.6, 0.8, 1.0)


def compute(config: ExperimentConfig) -> Outcome:
    """Suboptimality and accuracy after three epochs; what the printed noise is really worth."""
    on, curves = svm_on(config), []
    budgets = BUDGETS if config.full else BUDGETS[::2]
    printed = [on.printed(epsilon) for epsilon in budgets]
    curves += _ends(on, "private algorithm 1", "printed", budgets, printed)
    for sampling, name in (("one", "sampling one"), ("full", f"full batch {FULL_ROUNDS} rounds")):
        made = [on.certified(epsilon, sampling) for epsilon in budgets]
        curves += _ends(on, f"{name}, certified", "certified", budgets, made, sampling)
    worth = [theorem.certified().guarantee.epsilon(DELTA) for theorem in printed]
    attained = [_attained(theorem) for theorem in printed]
    curves += [
        Curve(panel="c", name="claimed", x=budgets, y=budgets, noise="theory"),
        Curve(panel="c", name="certified", x=budgets, y=worth, noise="certified"),
        Curve(panel="c", name="attained by an instance", x=budgets, y=attained, noise="theory"),
    ]
    return Outcome(curves=curves, notes=(*on.notes, f"ε as on the axis, δ = {spelt(DELTA)}"))


def _attained(theorem: PrivateDualAveraging) -> float:
    found = theorem.attained()
    return np.nan if found is None else found.guarantee.epsilon(DELTA)


def _ends(
    on: SVM,
    name: str,
    noise: str,
    budgets: tuple[float, ...],
    made: list[PrivateDualAveraging],
    sampling: str = "one",
) -> list[Curve]:
    runs = on.runs(
        [{"rounds": one.rounds, "sigma": one.sigma, "sampling": sampling} for one in made]
    )
    return [
        Curve(
            panel=panel,
            name=name,
            x=budgets,
            y=np.stack([found[what][:, -1] for _, found in runs], axis=1),
            noise=noise,
            noisy_rounds=made[0].rounds,
        )
        for panel, what in (("a", "gap"), ("b", "accuracy"))
    ]


EXPERIMENT = Experiment(
    reference="liu2022, figure 2",
    title="utility against ε, δ = 0.01",
    compute=compute,
    in_parts=True,
    panels=(
        Panel(
            key="a",
            title="suboptimality after three epochs",
            x="ε (solid: as claimed)",
            y="F - minimum",
            log_y=True,
        ),
        Panel(key="b", title="accuracy", x="ε (solid: as claimed)", y="held-out accuracy"),
        Panel(key="c", title="what the printed noise spends", x="ε as claimed", y="ε", ours=True),
    ),
    choices=CHOICES,
)
