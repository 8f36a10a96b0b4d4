"""Objective gap of ADMM, AccADMM, DP-ADMM and DP-AccADMM."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dpcalc.numerals import spelt
from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel
from dpcalc.reproduction.figures._fused_lasso import CHOICES, DELTA, NOTES, Lasso, lasso_on

if TYPE_CHECKING:
    from dpcalc.reproduction.setup import ExperimentConfig

EPSILON = 0.1
ROUNDS = 100
PAIRS = (("dp-admm", "ADMM"), ("dp-acc-admm", "AccADMM"))


def compute(config: ExperimentConfig) -> Outcome:
    """Gaps to the minimum along the iterations."""
    curves, notes = [], []
    for panel, name in zip("abc", ("a9a", "a8a", "ijcnn1"), strict=True):
        on = lasso_on(config, name)
        notes.append(on.size())
        printed, certified = on.printed(ROUNDS, EPSILON), on.certified(ROUNDS, EPSILON)
        sigmas = (0.0, printed.sigma, certified.sigma)
        least, *runs = on.all_of(
            [
                Lasso.least,
                *(
                    partial(Lasso.run, key=k, rounds=ROUNDS, sigma=s)
                    for k, _ in PAIRS
                    for s in sigmas
                ),
            ]
        )
        for number, (_, plain) in enumerate(PAIRS):
            (x, found), *noisy = runs[3 * number : 3 * number + 3]
            curves.append(Curve(panel=panel, name=plain, x=x, y=found["objective"] - least))
            kinds = (("printed", printed), ("certified", certified))
            for (noise, instance), (x, found) in zip(kinds, noisy, strict=True):
                tail = "" if noise == "printed" else ", certified"
                curves.append(
                    Curve(
                        panel=panel,
                        name=f"DP-{plain}{tail}",
                        x=x,
                        y=found["objective"] - least,
                        noise=noise,
                        epsilon=instance.certified().guarantee.epsilon(DELTA),
                        delta=DELTA,
                        noisy_rounds=ROUNDS,
                    )
                )
    return Outcome(curves=curves, notes=(*notes, f"T = {ROUNDS}", *NOTES))


def _panel(key: str, name: str) -> Panel:
    title = f"{name}, claimed ({EPSILON:g}, {spelt(DELTA)})"
    return Panel(key=key, title=title, x="iteration", y="objective - minimum", log_y=True)


EXPERIMENT = Experiment(
    reference="shang2021, figure 1",
    title="objective gap of ADMM with and without gradient noise",
    compute=compute,
    in_parts=True,
    panels=(_panel("a", "a9a"), _panel("b", "a8a"), _panel("c", "ijcnn1")),
    choices=(
        "The ε of the figure is not given: 0.1. The abscissa is iterations, not seconds.",
        "bio_train is not distributed any more and is left out.",
        *CHOICES,
    ),
)
