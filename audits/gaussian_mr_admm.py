"""Attack on recycled ADMM with Gaussian objective perturbation: all broadcasts, exact densities.

Two nodes that start far out, where both versions of the differing record have linear losses: their
gradients are constant and nearly opposite, so that every noisy round is noise moved by twice one
record's gradient. That is all but a cosine of what is certified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from dpcalc.algorithms.gaussian_mr_admm import GaussianMRADMM
from dpcalc.algorithms.problems.draws import UnitExponentialNorm
from dpcalc.algorithms.problems.records import Records
from dpcalc.auditing import Claim, Outcome
from dpcalc.auditing.suite.case import Audit, Case, ClaimSource, Instance, planted
from dpcalc.auditing.targets.from_algorithm import algorithm_target
from dpcalc.audits.bugs.generic import run_by
from dpcalc.audits.bugs.objective_perturbation import EarlyStoppedProblem
from dpcalc.audits.instances.objective_perturbation import NODES, one_record
from dpcalc.guarantees import GDP, Guarantee
from dpcalc.theorems.objective_perturbation.gaussian_objective_perturbation import (
    GaussianObjectivePerturbation,
)
from dpcalc.theorems.schedule import Schedule
from dpcalc.vocabulary import Adjacency, Release

ANGLE, FAR = 0.1, 1e3
SIGMA, PENALTY, NOISY, DELTA = 1.5, 1.0, 3, 1e-3
MOST_ROUNDS = 60
"""Beyond these a claim's instance is not built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The algorithm on the worst data, and the neighbouring data."""

    attacked: Any
    other: Records


def pair(sigma: Sequence[float], stiffness: Sequence[float], *, weight: float = 1.0) -> Pair:
    """σ and λ of every noisy round, and one record's weight."""
    ridge = min(stiffness) / 10
    problem, other = one_record(ANGLE, weight=weight, node_ridge=ridge)
    attacked = GaussianMRADMM(
        problem,
        rounds=2 * len(sigma),
        penalty=(np.array(stiffness)[:, None] - ridge) / 2,
        sigma=np.array(sigma)[:, None],
        proximal_weight=0.5,
        initial=np.tile([0.0, -FAR], (NODES, 1)),
    )
    return Pair(attacked=attacked, other=other)


def bound(
    adjacency: Literal["add-remove", "replace-one"] = "replace-one",
) -> GaussianObjectivePerturbation:
    """The theorem for the setting of the cases."""
    return GaussianObjectivePerturbation(
        regularization=Schedule(2 * PENALTY / 0.9),
        sigma=Schedule(SIGMA),
        rounds=NOISY,
        adjacency=adjacency,
    )


def instance(guarantee: Guarantee | None = None) -> Instance:
    """The worst pair against the certified bound, or against a given guarantee."""
    made = pair([SIGMA] * NOISY, [2 * PENALTY / 0.9] * NOISY)
    proved = bound().certified().guarantee
    return Instance(
        target=algorithm_target(made.attacked, made.other, adjacency=Adjacency.REPLACE_ONE),
        claim=Claim(
            guarantee=proved if guarantee is None else guarantee,
            delta=DELTA,
            adjacency=Adjacency.REPLACE_ONE,
            release=Release.EVERY_ITERATE,
            name="" if guarantee is not None else "certified composition",
        ),
        certified=proved.epsilon(DELTA),
        note=f"{NOISY} noisy rounds, standard deviation {SIGMA:g} in units of one record's gradient",
    )


def instance_of_theorem(claimed: Any, claim: Claim) -> Instance | None:
    """Two nodes with the theorem's gradient, stiffness and noise in every round.

    None for a record that is added or removed, or whose curvature is not that of a row of norm 1.
    """
    rounds = claimed.rounds
    plain = claimed.largest_curvature * 4 == claimed.gradient_bound
    if claimed.adjacency != Adjacency.REPLACE_ONE or rounds > MOST_ROUNDS or not plain:
        return None
    made = pair(
        _by_round(claimed.sigma, rounds),
        _by_round(claimed.regularization, rounds),
        weight=claimed.gradient_bound,
    )
    target = algorithm_target(made.attacked, made.other, adjacency=Adjacency.REPLACE_ONE)
    return Instance(target=target, claim=claim)


def _by_round(schedule: Schedule, rounds: int) -> list[float]:
    return [row[0] for row, n in schedule.rounds("schedule", rounds, 1) for _ in range(n)]


# ---- planted bugs


def one_gradient() -> Instance:
    """The shift of one record's gradient, where two differ."""
    return instance(bound("add-remove").certified().guarantee)


def one_round() -> Instance:
    """One of the noisy rounds is charged."""
    return instance(GDP(2 / SIGMA))


def other_noise() -> Instance:
    """Noise of density e^{-|b|} under the name of normal noise."""
    correct, made = instance(), pair([SIGMA] * NOISY, [2 * PENALTY / 0.9] * NOISY)
    shape = (NODES, 2)

    def drawn(self: Any, t: int) -> Any:
        return {"noise": UnitExponentialNorm(shape)} if t in self._noisy_rounds() else {}

    kind = type("Impostor", (GaussianMRADMM,), {"_draws": drawn, "__slots__": ()})
    given = {e.name: getattr(made.attacked, e.name) for e in fields(made.attacked) if e.init}
    actual = kind(given.pop("problem"), **given)
    target = run_by(correct.target, actual, made.other)
    return Instance(target=target, claim=correct.claim)


def early_stopped() -> Instance:
    """An inner solver that stops early."""
    correct, made = instance(), pair([SIGMA] * NOISY, [2 * PENALTY / 0.9] * NOISY)
    p = made.attacked.problem
    problem = EarlyStoppedProblem(
        records=p.records, network=p.network, loss=p.loss, loss_weight=p.loss_weight, ridge=p.ridge
    )
    target = run_by(correct.target, replace(made.attacked, problem=problem), made.other)
    return Instance(target=target, claim=correct.claim)


AUDIT = Audit(
    key="gaussian-mr-admm",
    title="Recycled ADMM with Gaussian objective perturbation",
    reference="Kifer, Smith and Thakurta 2012; zhang2019, algorithm 3",
    theorem="gaussian-objective-perturbation",
    other_theorems=("gaussian-objective-perturbation-profile",),
    libraries=("networkx",),
    cases=(
        Case(
            key="certified",
            title=f"the certified composition at δ = {DELTA:g}",
            role=ClaimSource.CERTIFIED,
            instance=instance,
            expected=(Outcome.NOT_REFUTED, Outcome.UNDERPOWERED),
        ),
        planted("one-gradient", "the shift of one record where two differ", one_gradient),
        planted("one-round", "one of the noisy rounds charged", one_round),
        planted("other-noise", "noise of density e^{-|b|} for normal noise", other_noise),
        planted("hasty-solver", "an inner solver that stops early", early_stopped),
    ),
    instance_of_theorem=instance_of_theorem,
)
