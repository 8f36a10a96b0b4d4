"""Private ADMM as a noisy fixed-point iteration on the lasso of the authors' published code.

Data, measure and budgets are those of the code that comes with figure 1: 1,000 standardised normal
records of 64 features, a hidden vector with eight entries, mean squared error plus an l1 term on the
fifth that is held out, ε from 0.01 to 5 at δ = 1e-6. The code runs the federated version (batches of
users' own blocks, clipped), which no result here covers; this is the central version, whose losses
are Huber's, since squares have no finite sensitivity.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcalc.algorithms import load
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import copies
from dpcalc.algorithms.problems.losses import Huber
from dpcalc.algorithms.problems.records import split
from dpcalc.algorithms.problems.regularisers import ElasticNet
from dpcalc.calibration import smallest_noise
from dpcalc.reproduction.experiment import Curve, Experiment, Outcome, Panel
from dpcalc.reproduction.setup import trace
from dpcalc.theorems.fixed_point.fixed_point_admm import FixedPointADMM
from dpcalc.vocabulary import Release

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcalc.algorithms.engine.state import State
    from dpcalc.reproduction.setup import ExperimentConfig

    Array = NDArray[np.float64]

SCALE, WIDTH = 10.0, 1.0
"""What features are divided by, and then cut to norm 1; width of Huber's loss."""

RIDGE, L1 = 1e-3, 5e-3
"""A shared ridge on weights of scaled features; weight of the l1 norm of unscaled ones."""

PROX_STEP, RELAXATION = 30.0, 0.5
STEPS, DELTA = 100, 1e-6
EPSILONS = tuple(0.01 * 500 ** (k / 6) for k in range(7))
BUDGET = 1.0
LENGTHS = (5, 10, 20, 50, 100, 200)


@lru_cache(maxsize=1)
def _problem() -> tuple[CompositeProblem, Array, Array]:
    """The training problem, and features and responses that are held out."""
    from sklearn.model_selection import train_test_split

    rng = np.random.default_rng(18)
    x = rng.normal(size=(1000, 64))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    hidden = np.zeros(64)
    hidden[rng.choice(np.arange(64), replace=False, size=8)] = rng.uniform(size=8)
    y = x @ hidden + 0.1 * rng.normal(size=1000)
    train, test, response, held_out = train_test_split(x, y, train_size=0.8, random_state=42)
    rows = train / SCALE
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    problem = CompositeProblem(
        records=split(rows, response, row_bound=1.0),
        loss=Huber(width=WIDTH),
        regulariser=ElasticNet(l1=L1 / SCALE, l2=0.0),
        constraint=copies(64),
        ridge=RIDGE,
    )
    return problem, test, held_out


def _theorem(steps: int, release: Release) -> FixedPointADMM:
    problem, _, _ = _problem()
    return FixedPointADMM(
        sensitivity=2 * WIDTH,
        n_records=problem.count,
        steps=steps,
        prox_step=PROX_STEP,
        relaxation=RELAXATION,
        strong_convexity=RIDGE,
        smoothness=problem.loss.curvature + RIDGE,
        sigma=1.0,
        release=release,
    )


KINDS = (
    ("steps composed, as claimed", "printed", Release.EVERY_ITERATE),
    ("every iterate, certified", "certified", Release.EVERY_ITERATE),
    ("last iterate, certified", "certified", Release.LAST_ITERATE),
)
"""Name, whose noise it is, and what is released."""

_Setting = tuple[int, float, int]
"""Steps, ε, and number of the kind; without noise if ε is infinite."""


def _found(config: ExperimentConfig, setting: _Setting) -> tuple[Array, Array, float]:
    """The objective along the steps, and the certified ε."""
    steps, epsilon, kind = setting
    if epsilon == math.inf:
        return *_objectives(config, steps, 0.0), epsilon
    _, noise, release = KINDS[kind]
    start = _theorem(steps, release)
    printed = noise == "printed"
    instance = (
        start.prescribed(epsilon, DELTA) if printed else smallest_noise(start, epsilon, DELTA)
    )
    spent = instance.certified().guarantee.epsilon(DELTA) if steps == STEPS else math.nan
    x, y = _objectives(config, steps, instance.sigma)
    config.progress(f"{steps} steps, ε = {epsilon:.3g}")
    return x, y, spent


def _objectives(config: ExperimentConfig, steps: int, sigma: float) -> tuple[Any, Array]:
    """Mean squared error plus l1 term on held-out records, along the steps of every run."""
    problem, features, responses = _problem()
    kind: Any = load("fixed-point-admm")
    algorithm = kind(problem, rounds=steps, prox_step=PROX_STEP, relaxation=RELAXATION, sigma=sigma)

    def objective(state: State) -> Array:
        weights = problem.regulariser.prox(state.memory["z"], PROX_STEP) / SCALE
        errors = weights @ features.T - responses
        return np.asarray((errors**2).mean(axis=1) + L1 * np.abs(weights).sum(axis=1))

    runs = 1 if sigma == 0 else config.pick(4, 10)
    every = max(1, steps // 25)
    x, found = trace(
        config, algorithm, {"it": objective}, runs=runs, every=every, held_out=len(responses)
    )
    return x, found["it"]


def compute(config: ExperimentConfig) -> Outcome:
    """The objective over budgets; along the steps; and at the end over the number of steps."""
    every = config.pick(2, 1)
    epsilons, lengths, kinds = EPSILONS[::every], LENGTHS[::every], range(len(KINDS))
    (x, plain, _), *found = config.each(
        partial(_found, config),
        [
            (STEPS, math.inf, 0),
            *((STEPS, epsilon, kind) for epsilon in epsilons for kind in kinds),
            *((STEPS, BUDGET, kind) for kind in kinds),
            *((steps, BUDGET, kind) for steps in lengths for kind in kinds),
        ],
    )
    first, last = len(epsilons) * len(KINDS), (len(epsilons) + 1) * len(KINDS)
    level = np.full(2, plain[0, -1])
    ends = np.array([EPSILONS[0], EPSILONS[-1]])
    curves = [Curve(panel="a", name="without noise", x=ends, y=level)]
    curves += _at_the_end("a", epsilons, [y for _, y, _ in found[:first]])
    curves.append(Curve(panel="b", name="without noise", x=x, y=plain))
    for (name, noise, _), (steps, y, spent) in zip(KINDS, found[first:last], strict=True):
        curves.append(
            Curve(
                panel="b", name=name, x=steps, y=y, noise=noise, epsilon=spent, delta=DELTA,
                noisy_rounds=STEPS,
            )
        )  # fmt: skip
    curves += _at_the_end("c", lengths, [y for _, y, _ in found[last:]])
    return Outcome(curves=curves, notes=_notes())


def _at_the_end(panel: str, x: Sequence[float], found: Sequence[Array]) -> list[Curve]:
    """The last objectives over an axis, of every kind of noise in turn."""
    return [
        Curve(
            panel=panel,
            name=name,
            x=np.array(x),
            y=np.stack([values[:, -1] for values in found[kind :: len(KINDS)]], axis=1),
            noise=noise,
        )
        for kind, (name, noise, _) in enumerate(KINDS)
    ]


def _notes() -> tuple[str, ...]:
    problem, _, _ = _problem()
    return (
        "data of the authors' code, central version of the algorithm",
        f"{problem.count} training records of {problem.dimension} columns",
        f"T = {STEPS} in a and b, on the axis in c",
        "Gaussian noise on z, as claimed or certified",
        "one record replaced, every iterate released or the last one as named",
    )


def _panel(key: str, title: str, x: str, *, log_x: bool, ours: bool = True) -> Panel:
    return Panel(
        key=key, title=title, x=x, y="objective, held out", log_x=log_x, log_y=True, ours=ours
    )


EXPERIMENT = Experiment(
    reference="cyffers2023, lasso of figure 1 by the published code",
    title="ADMM as a noisy fixed-point iteration, at equal budgets",
    compute=compute,
    in_parts=True,
    panels=(
        _panel("a", "objective over ε, δ = 1e-6", "ε of the budget", log_x=True),
        _panel("b", "ε = 1, along the steps", "step", log_x=False),
        _panel("c", "ε = 1, last objective", "steps in all", log_x=True),
    ),
    choices=(
        "Data, measure and budgets are those of the published code; the paper was not available.",
        "The central version in place of the federated one; 100 steps with all records.",
        "Huber's loss of width 1 on features divided by 10 and cut to norm 1, a ridge of 1e-3.",
        "l1 weight 0.005, γ = 30, λ = 1/2, replace-one.",
    ),
)
