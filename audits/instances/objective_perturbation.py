"""What the attacks on objective perturbation share: the worst data and the bounds.

Two nodes and an edge; all records but one are zero, so that only the differing one bends and moves
the attacked node's objective. The two versions of it are nearly opposite: their gradients add up,
and yet both margins can be had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.networks import complete
from dpcalc.algorithms.problems.records import Records, split
from dpcalc.auditing import Claim
from dpcalc.auditing.suite.case import Instance
from dpcalc.auditing.targets.from_algorithm import algorithm_target
from dpcalc.audits.instances.worst_outcomes import worst_log_ratios
from dpcalc.guarantees import Guarantee
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.vocabulary import Adjacency, Release

Array = NDArray[np.float64]

NODES, RECORDS, RIDGE = 2, 4, 0.4
ANGLES = (0.02, 0.1, 0.3, 1.0)
"""Between the axis and the two records; how nearly opposite they are is searched for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method under attack.

    Attributes:
        theorem: key.
        noisy: how many noisy rounds.
        make: (problem, penalty, rate of the linear noise, noisy rounds) -> the algorithm.
        rate: (penalty, rate of the linear noise) -> the theorem's noise rate.
    """

    theorem: str
    noisy: int
    make: Callable[[ConsensusProblem, float, float, int], Any]
    rate: Callable[[float, float], float]


def recycled(kind: Any) -> Method:
    """A method with noise in odd rounds, whose even rounds recycle what was broadcast.

    Even rounds are functions of the broadcasts before them, so the likelihood ratio has a term per odd
    round only.
    """

    def make(problem: ConsensusProblem, penalty: float, linear_rate: float, noisy: int) -> Any:
        return kind(
            problem,
            rounds=2 * noisy,
            penalty=penalty,
            noise_rate=linear_rate,
            proximal_weight=0.5,
            initial="random",
        )

    return Method(
        theorem="recycled-admm", noisy=2, make=make, rate=lambda _, linear_rate: linear_rate
    )


def bound(method: Method, penalty: float, linear_rate: float, *, rounds: int | None = None) -> Any:
    """The theorem for this setting."""
    kind = privacy_result(method.theorem)
    given = {
        "n_records": RECORDS,
        "n_nodes": NODES,
        "degree": 1,
        "loss_weight": float(RECORDS),
        "regularization": RIDGE,
        "penalty": penalty,
        "noise_rate": method.rate(penalty, linear_rate),
        "rounds": method.noisy if rounds is None else rounds,
    }
    return kind.from_parameters(given, [a.key for a in kind.assumptions if a.promised])


@cache
def worst_pair(method: Method, penalty: float, linear_rate: float) -> tuple[Any, Records, Array]:
    """The algorithm and the neighbour, over all angles, with the largest crafted log-ratio."""
    return searched(method, penalty, linear_rate, method.noisy)


def one_record(
    angle: float, *, weight: float, node_ridge: float
) -> tuple[ConsensusProblem, Records]:
    """One record at an angle, all others zero, and its mirror image; weight C/B and ridge ρ/N."""
    rows = np.zeros((NODES * RECORDS, 2))
    rows[0] = np.cos(angle), np.sin(angle)
    problem = ConsensusProblem(
        records=split(rows, np.ones(len(rows)), NODES),
        network=complete(NODES),
        loss=Logistic(),
        loss_weight=RECORDS * weight,
        ridge=NODES * node_ridge,
    )
    return problem, problem.records.replaced(0, [-np.cos(angle), np.sin(angle)], 1.0)


def searched(
    method: Method,
    penalty: Any,
    linear_rate: Any,
    noisy: int,
    *,
    weight: float = 1.0,
    node_ridge: float = RIDGE / NODES,
    angles: Sequence[float] = ANGLES,
) -> tuple[Any, Records, Array]:
    """The worst pair for schedules of penalty and linear rate, weight C/B and ridge ρ/N."""
    best: tuple[Any, Records, Array] | None = None
    for angle in angles:
        problem, other = one_record(angle, weight=weight, node_ridge=node_ridge)
        attacked = method.make(problem, penalty, linear_rate, noisy)
        found = worst_log_ratios(attacked, other)
        if best is None or found.max() > best[2].max():
            best = attacked, other, found
    return best  # type: ignore[return-value] # there is at least one angle


def instance(
    method: Method,
    penalty: float,
    linear_rate: float,
    guarantee: Guarantee | None = None,
    *,
    delta: float = 0.0,
) -> Instance:
    """The worst pair against the certified bound, or against a given guarantee."""
    attacked, other, found = worst_pair(method, penalty, linear_rate)
    proved = bound(method, penalty, linear_rate).certified().guarantee
    target = algorithm_target(attacked, other, adjacency=Adjacency.REPLACE_ONE)
    return Instance(
        target=replace(target, largest_log_ratio=lambda _: found),
        claim=Claim(
            guarantee=proved if guarantee is None else guarantee,
            delta=delta,
            adjacency=Adjacency.REPLACE_ONE,
            release=Release.EVERY_ITERATE,
            name="" if guarantee is not None else "certified composition",
        ),
        certified=proved.epsilon(delta),
        note=f"{method.noisy} noisy rounds, penalty {penalty:g}, linear noise of rate "
        f"{linear_rate:g}, C/B = 1; the crafted outcome reaches {found.max():.4g}",
    )


def instance_of_theorem(method: Method, claimed: Any, claim: Claim) -> Instance | None:
    """Two nodes with the theorem's ηV, ρ/N, C/B and linear rates: what a node's bound depends on.

    None if nodes differ, since it would have to be built for each of them.
    """
    N, K = claimed.n_nodes, claimed.rounds
    penalty, rate = (
        _by_round(schedule.rounds(name, K, N))
        for name, schedule in (("penalty", claimed.penalty), ("noise_rate", claimed.noise_rate))
    )
    records, degree = (
        np.array([schedule.nodes(name, N)], dtype=np.float64)
        for name, schedule in (("n_records", claimed.n_records), ("degree", claimed.degree))
    )
    tables = penalty, rate, records, degree
    if K > MOST_ROUNDS or any((table != table[:, :1]).any() for table in tables):
        return None
    pull, rate = penalty[:, 0] * degree[0, 0], rate[:, 0]
    if method.theorem == "penalty-perturbation":
        rate = rate / 2 if claimed.noise_on == "dual" else rate / (2 * pull)
    attacked, other, found = searched(
        method,
        pull,
        rate,
        K,
        weight=claimed.loss_weight / float(records[0, 0]),
        node_ridge=claimed.regularization / N,
        angles=ANGLES[:1],
    )
    target = algorithm_target(attacked, other, adjacency=Adjacency.REPLACE_ONE)
    return Instance(target=replace(target, largest_log_ratio=lambda _: found), claim=claim)


def _by_round(parts: Sequence[tuple[Sequence[float], int]]) -> Array:
    """Rows that are counted, written out; shape (rounds, nodes)."""
    return np.array([row for row, count in parts for _ in range(count)], dtype=np.float64)


MOST_ROUNDS = 60
"""Beyond these a claim's instance is not built."""

STRONG = (1.0, 1.0)
"""Penalty and rate at which the Jacobian is free."""
CURVED = (0.2, 0.1)
"""Penalty and rate at which it is not."""


def claimed(method: Method) -> Instance:
    """The printed β."""
    return instance(method, *STRONG, bound(method, *STRONG).claimed().guarantee)
