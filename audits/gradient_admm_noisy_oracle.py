"""Attack on gradient ADMM with noise on the gradient (chan2023, algorithm 4).

The noise that reaches x is η(I + ηβAᵀA)⁻¹ξ, smaller along the rows of A. Bounds for noise on the
iterate with σ replaced by ησ' miss that: with A = B = 1, f = 0, g ≈ 0, η = 1, β = 100, Δ = σ' = 1 the
exact μ² after three iterations is 0.5, and the shortcut says 0.0001.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpcalc.algorithms.gradient_admm_noisy_oracle import GradientADMMNoisyOracle
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import copies
from dpcalc.algorithms.problems.losses import Linear
from dpcalc.algorithms.problems.records import split
from dpcalc.algorithms.problems.regularisers import ridge
from dpcalc.auditing import Claim, Outcome
from dpcalc.auditing.gaussian.separation import separation
from dpcalc.auditing.suite.case import Audit, ClaimSource, Instance, SupportingTable, case, planted
from dpcalc.auditing.targets.from_algorithm import algorithm_target
from dpcalc.audits.bugs.generic import run_by
from dpcalc.audits.instances.admm_iteration import last_target
from dpcalc.audits.instances.linear_users import theorem
from dpcalc.audits.instances.neighbours import replacements, worst
from dpcalc.guarantees import GDP, Guarantee
from dpcalc.vocabulary import Adjacency, Release

DELTA = 1e-5
PENALTY = 100.0
_FUNCTIONS = Adjacency.NEIGHBOURING_FUNCTIONS


def amplification(iterations: int, noise_in: str) -> Any:
    """The bound for noise on the gradient, or the shortcut: noise on the state with σ = ησ'."""
    return theorem(
        iterations=iterations,
        sensitivity=1.0,
        step_size=1.0,
        penalty=PENALTY,
        smoothness=0.0,
        noise_in=noise_in,
    )


def _mu_squared(iterations: int, noise_in: str) -> float:
    """μ² by amplification; the shortcut without its local bound, which is smaller and as wrong."""
    bound = amplification(iterations, noise_in)
    if noise_in == "gradient" or iterations < 2:
        return float(bound.certified().guarantee.parameters()["mu"]) ** 2
    return float(bound.kernels().mu_squared(bound.sigma, iterations))


def algorithm(rounds: int) -> Any:
    """One dimension, gradients of ±½ for the first user and 0 for all others."""
    rows = np.zeros((rounds, 1))
    rows[0] = 0.5
    problem = CompositeProblem(
        records=split(rows, np.ones(rounds), row_bound=0.5),
        loss=Linear(),
        regulariser=ridge(1e-4),
        constraint=copies(1),
    )
    return GradientADMMNoisyOracle(
        problem, rounds=rounds, penalty=PENALTY, step_size=1.0, sigma=1.0, gradient_gap=1.0
    )


def last_iterate(iterations: int, noise_in: str) -> Instance:
    """(x_T, λ_T) against the certified bound or the shortcut."""
    attacked = algorithm(iterations)
    other = worst(attacked, replacements(attacked.problem.records))[0]
    each = attacked.last_iterate_law(), attacked.last_iterate_law(records=other)
    mu = separation(*each)[0]
    guarantee = GDP(float(_mu_squared(iterations, noise_in)) ** 0.5)
    proved = amplification(iterations, "gradient").certified().guarantee
    target = last_target(attacked, other, *([law] for law in each))
    return Instance(
        target=target,
        claim=_claim(guarantee, Release.LAST_ITERATE),
        certified=proved.epsilon(DELTA),
        note=f"{iterations} iterations, penalty {PENALTY:g}; exact mu² {mu**2:.5g}",
    )


def transcript() -> Instance:
    """All iterates against the local bound Δ/σ'."""
    attacked = algorithm(4)
    other = worst(attacked, replacements(attacked.problem.records))[0]
    local = amplification(1, "gradient").certified().guarantee
    return Instance(
        target=algorithm_target(attacked, other, adjacency=_FUNCTIONS),
        claim=_claim(local, Release.EVERY_ITERATE),
        certified=local.epsilon(DELTA),
    )


def deviation_for_variance() -> Instance:
    """Noise of variance 0.6² where 0.6 was to be the variance."""
    correct = transcript()
    attacked = algorithm(4)
    other = worst(attacked, replacements(attacked.problem.records))[0]
    actual = replace(attacked, sigma=0.6)
    return Instance(target=run_by(correct.target, actual, other), claim=correct.claim)


def curve(_: int) -> list[tuple[float, ...]]:
    """k, μ² of the last iterate: exact, certified, shortcut."""
    rows = []
    for k in (1, 2, 3, 4, 6, 8, 12, 16):
        attacked = algorithm(k)
        other = worst(attacked, replacements(attacked.problem.records))[0]
        mu = separation(attacked.last_iterate_law(), attacked.last_iterate_law(records=other))
        bounds = (_mu_squared(k, kind) for kind in ("gradient", "state"))
        rows.append((float(k), mu[0] ** 2, *bounds))
    return rows


def _claim(guarantee: Guarantee, release: Release) -> Claim:
    return Claim(guarantee=guarantee, delta=DELTA, adjacency=_FUNCTIONS, release=release)


_HELD = (Outcome.NOT_REFUTED,)

AUDIT = Audit(
    key="gradient-admm-noisy-oracle",
    title="Noisy gradient ADMM, noise on the gradient",
    reference="chan2023, algorithm 4, corollary 9.4",
    theorem="admm-iteration",
    cases=(
        case(
            "shortcut",
            "the last of 3 iterations, sigma replaced by step size times sigma",
            ClaimSource.PAPER,
            partial(last_iterate, 3, "state"),
            (Outcome.REFUTED,),
            alpha=1e-6,
        ),
        case(
            "last-iterate",
            "the last of 3 iterations, the certified bound",
            ClaimSource.CERTIFIED,
            partial(last_iterate, 3, "gradient"),
            _HELD,
        ),
        case("local", "all iterates, the local bound", ClaimSource.CERTIFIED, transcript, _HELD),
        planted(
            "deviation-for-variance",
            "a variance drawn as a standard deviation",
            deviation_for_variance,
        ),
        planted(
            "far-shortcut", "the shortcut after 8 iterations", partial(last_iterate, 8, "state")
        ),
    ),
    exhibits=(
        SupportingTable(
            key="amplification",
            title="μ² of the last iterate: exact law, certified bound, shortcut",
            columns=("iterations k", "exact", "certified", "shortcut"),
            rows=curve,
            note="The shortcut falls below the exact loss; the certified bound never does.",
        ),
    ),
)
