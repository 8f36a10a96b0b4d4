"""Dual averaging with and without noise, and the conventional algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel
from dpcalc.reproduction.figures._svm import CHOICES, DELTA, FULL_ROUNDS, svm_on

if TYPE_CHECKING:
    from dpcalc.reproduction.setup import ExperimentConfig
    from dpcalc.theorems.dual_averaging.private_dual_averaging import PrivateDualAveraging

EPSILON = 1.0


def compute(config: ExperimentConfig) -> Outcome:
    """Suboptimality and accuracy along the rounds; without noise, printed, certified, compared."""
    on, curves = svm_on(config), []
    printed = on.printed(EPSILON)
    one, full = (on.certified(EPSILON, sampling) for sampling in ("one", "full"))
    # name, noise, theorem, settings
    kinds: list[tuple[str, str, PrivateDualAveraging | None, dict[str, Any]]] = [
        ("algorithm 1", "none", None, {"rounds": on.rounds}),
        ("Duchi et al.", "none", None, {"rounds": on.rounds, "conventional": True}),
        ("private algorithm 1", "printed", printed, {"rounds": on.rounds}),
        ("private algorithm 1, certified", "certified", one, {"rounds": on.rounds}),
        (
            "Duchi et al. with noise",
            "certified",
            one,
            {"rounds": on.rounds, "conventional": True},
        ),
        (
            f"full batch {FULL_ROUNDS} rounds",
            "certified",
            full,
            {"rounds": FULL_ROUNDS, "sampling": "full"},
        ),
    ]
    runs = on.runs(
        [
            {"sigma": 0.0 if theorem is None else theorem.sigma, **settings}
            for _, _, theorem, settings in kinds
        ]
    )
    for (name, noise, theorem, _), (x, found) in zip(kinds, runs, strict=True):
        for panel, what in (("a", "gap"), ("b", "accuracy")):
            curves.append(
                Curve(
                    panel=panel,
                    name=name,
                    x=x,
                    y=found[what],
                    noise=noise,
                    epsilon=None
                    if theorem is None
                    else theorem.certified().guarantee.epsilon(DELTA),
                    delta=None if theorem is None else DELTA,
                    noisy_rounds=None if theorem is None else theorem.rounds,
                )
            )
    return Outcome(curves=curves, notes=(*on.notes, "no noise in algorithm 1 and Duchi et al."))


EXPERIMENT = Experiment(
    reference="liu2022, figure 1",
    title="dual averaging on a ring of 20, claimed (1, 0.01)",
    compute=compute,
    in_parts=True,
    panels=(
        Panel(key="a", title="suboptimality", x="round t", y="F - minimum", log_x=True, log_y=True),
        Panel(key="b", title="accuracy", x="round t", y="held-out accuracy", log_x=True),
    ),
    choices=CHOICES,
)
