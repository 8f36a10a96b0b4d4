"""What the attacks on DP-ADMM and its accelerated form share: settings, exact laws, instances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from dpcalc.algorithms.dp_admm import DPADMM
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import copies
from dpcalc.algorithms.problems.losses import Linear
from dpcalc.algorithms.problems.records import Records, split
from dpcalc.algorithms.problems.regularisers import ridge
from dpcalc.auditing import Claim, Target
from dpcalc.auditing.gaussian.separation import separation
from dpcalc.auditing.suite.case import Instance
from dpcalc.auditing.targets.from_algorithm import algorithm_target
from dpcalc.audits.instances.admm_iteration import last_target
from dpcalc.audits.instances.neighbours import replacements, worst
from dpcalc.guarantees import GDP, ApproxDP, Guarantee
from dpcalc.theorems.gradient_admm.dp_admm import DPADMM as THEOREM
from dpcalc.vocabulary import Adjacency, Release

RECORDS = 10
DELTA = 1e-3
_ATTEST = ("gradient-bound", "public-parameters")
ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE


def theorem(
    rounds: int,
    epsilon: float,
    *,
    adjacency: Adjacency = ADD,
    start: Literal["data", "zero", "noised"] = "zero",
) -> THEOREM:
    """The paper's theorem with the noise that it prescribes for (ε, 1e-3)."""
    draft = THEOREM(
        n_records=RECORDS,
        rounds=rounds,
        gradient_bound=1.0,
        sigma=1.0,
        adjacency="add-remove" if adjacency is ADD else "replace-one",
        dual_start=start,
        attest=_ATTEST,
    )
    return draft.prescribed(epsilon, DELTA)


def algorithm(
    kind: Any = DPADMM,
    *,
    rounds: int,
    sigma: Any,
    row_bound: float = 1.0,
    curvature: float = 0.5,
    **settings: Any,
) -> Any:
    """The algorithm on ten records whose gradients are constant, g a ridge."""
    rows = np.zeros((RECORDS, 2))
    rows[0, 0] = row_bound
    problem = CompositeProblem(
        records=split(rows, np.ones(RECORDS), row_bound=row_bound),
        loss=Linear(),
        regulariser=ridge(curvature),
        constraint=copies(2),
    )
    given = {"penalty": 1.0, "step_size": 0.01, "dual_start": "zero"} | settings
    return kind(problem, rounds=rounds, sigma=sigma, **given)


def neighbour(attacked: Any, adjacency: Adjacency) -> Records:
    """The worst neighbour found; a record without a gradient stands for an absent one."""
    records = attacked.problem.records
    scales = (0.0,) if adjacency == ADD else (1.0, 0.5, 0.0)
    safe = replace(attacked, dual_start="zero")
    return worst(safe, replacements(records, scales=scales))[0]


def transcript_instance(
    kind: Any, start: str, adjacency: Adjacency, guarantee: Guarantee | None, *, epsilon: float
) -> Instance:
    """The whole transcript against the paper's claim, or against a given guarantee."""
    rounds = 5
    paper = theorem(rounds, epsilon, adjacency=adjacency)
    attacked = algorithm(kind, rounds=rounds, sigma=paper.sigma, dual_start=start)
    proved = paper.certified().guarantee
    claimed = ApproxDP(epsilon, DELTA) if guarantee is None else guarantee
    target = algorithm_target(attacked, neighbour(attacked, adjacency), adjacency=adjacency)
    return Instance(
        target=target,
        claim=claim_of(claimed, adjacency, Release.EVERY_ITERATE),
        # the printed start releases the data themselves: nothing finite holds
        certified=proved.epsilon(DELTA) if start != "printed" else np.inf,
        note=f"{rounds} rounds, {RECORDS} records, sigma = {paper.sigma:.6g}, linear losses",
    )


def certified_instance(kind: Any, adjacency: Adjacency) -> Instance:
    """The zero start against the exact Gaussian curve."""
    curve = theorem(5, 1.0, adjacency=adjacency).certified().guarantee
    return transcript_instance(kind, "zero", adjacency, curve, epsilon=1.0)


def last_iterate_instance(kind: Any, start: str, rounds: int) -> Instance:
    """(x_T, y_T) alone against the paper's (1, 1e-3), by the exact law."""
    sigma = theorem(rounds, 1.0).sigma
    attacked = algorithm(kind, rounds=rounds, sigma=sigma, dual_start=start)
    other = neighbour(attacked, ADD)
    mu = separation(*last_laws(attacked, other))[0]
    target = end_of(attacked, other, ADD)
    exact = GDP(mu).epsilon(DELTA) if mu < np.inf else np.inf
    return Instance(
        target=target,
        claim=claim_of(ApproxDP(1.0, DELTA), ADD, Release.LAST_ITERATE),
        certified=exact,
        note=f"{rounds} rounds; exact mu of the last iterate {mu:.6g}, epsilon {exact:.6g}",
    )


def end_of(attacked: Any, other: Records, adjacency: Adjacency) -> Target:
    """(x_T, y_T) alone, attacked by its exact law."""
    return last_target(
        attacked,
        other,
        *([law] for law in last_laws(attacked, other)),
        adjacency=adjacency,
        read=lambda released: np.concatenate([released["x"], released["y"]], axis=1),
    )


def last_laws(attacked: Any, other: Records) -> tuple[Any, Any]:
    """The laws of (x_T, y_T) in both worlds."""
    return (
        attacked.last_iterate_law().marginal("x", "y"),
        attacked.last_iterate_law(records=other).marginal("x", "y"),
    )


def exact_last_iterates(kind: Any, _: int) -> list[tuple[float, ...]]:
    """T, exact δ(1) of the last iterate from the printed and from the zero start, claimed δ."""
    rows = []
    for rounds in (1, 2, 3, 5, 10, 20):
        sigma = theorem(rounds, 1.0).sigma
        deltas = []
        for start in ("printed", "zero"):
            attacked = algorithm(kind, rounds=rounds, sigma=sigma, dual_start=start)
            mu = separation(*last_laws(attacked, neighbour(attacked, ADD)))[0]
            deltas.append(GDP(mu).delta(1.0))
        rows.append((float(rounds), *deltas, DELTA))
    return rows


MOST_ROUNDS = 500
"""Beyond these a claim's instance is not simulated."""


def instance_of_theorem(claimed: THEOREM, claim: Claim) -> Instance | None:
    """Ten records with the theorem's Δ/σ, rounds and start: the law depends on nothing else."""
    last = claimed.release == Release.LAST_ITERATE
    if claimed.rounds > MOST_ROUNDS or (last and claimed.regularizer != "any"):
        return None
    sigma = claimed.sigma * claimed.n_records / RECORDS / claimed.gradient_bound
    start = {"data": "printed"}.get(claimed.dual_start, claimed.dual_start)
    worst_end = _worst_end(start, claimed.rounds) if last else {}
    attacked = algorithm(rounds=claimed.rounds, sigma=sigma, dual_start=start, **worst_end)
    adjacency = Adjacency(claimed.adjacency)
    other = neighbour(attacked, adjacency)
    target = (
        end_of(attacked, other, adjacency)
        if last
        else algorithm_target(attacked, other, adjacency=adjacency)
    )
    return Instance(
        target=target,
        claim=claim,
        note=f"{RECORDS} records with the same noise multiplier",
    )


def _worst_end(start: str, rounds: int) -> dict[str, float]:
    """A ridge and a step size for which (x_T, y_T) shows much: the printed dual, or the noisy sum."""
    if start == "printed":
        return {"curvature": float(rounds), "step_size": 1e-4}
    return {"curvature": 1e-6}


def claim_of(guarantee: Guarantee, adjacency: Adjacency, release: Release) -> Claim:
    """At the δ of all settings here."""
    return Claim(guarantee=guarantee, delta=DELTA, adjacency=adjacency, release=release)
