"""Noisy gradient ADMM that stops at random: the user in the middle (chan2023, section 8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcalc.algorithms.gradient_admm import GradientADMM
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import Constraint
from dpcalc.algorithms.problems.losses import Squared
from dpcalc.algorithms.problems.records import split
from dpcalc.algorithms.problems.regularisers import no_regulariser
from dpcalc.auditing import Claim
from dpcalc.auditing.suite.case import Instance
from dpcalc.audits.instances.admm_iteration import last_target
from dpcalc.guarantees import GDP, ApproxDP
from dpcalc.vocabulary import Adjacency, Release

GAP = 2.0
"""Δ: two opposite gradients of norm one."""

USERS, MIDDLE = 16, 7
"""How many users, and the place of the one in the middle."""

STOPPING_EPSILON = 1.0
"""At which δ is averaged over the positions."""


def stopping(positions: int) -> Instance:
    """The middle user under stopping on the upper half; δ(1) averaged over this many positions.

    x₁ lies in the kernel of A. The middle user's function has curvature 1/η, so their step forgets
    what came before, and from there on x₁ performs a random walk: with t iterations left, own one
    included, the loss is exactly μ = ηΔ/(σ√t). The other users push x₁ so far that the stopping
    round can be read off it.
    """
    step, sigma = 0.5, 0.5
    walk, epsilon = step * GAP / sigma, STOPPING_EPSILON
    attacked = _stopped_algorithm(step, sigma)
    records = attacked.problem.records
    other = records.replaced(MIDDLE, records.features[MIDDLE], -records.labels[MIDDLE])
    each = [
        [
            attacked.last_iterate_law(order=range(stop), records=data).marginal("x")
            for stop in range(MIDDLE + 1, USERS + 1)
        ]
        for data in (records, other)
    ]
    target = last_target(attacked, other, *each, read=lambda released: released["x"])
    deltas = [GDP(walk / np.sqrt(t)).delta(epsilon) for t in range(1, positions + 1)]
    claimed = float(np.mean(deltas))
    return Instance(
        target=target,
        claim=Claim(
            guarantee=ApproxDP(epsilon, claimed),
            delta=claimed,
            adjacency=Adjacency.NEIGHBOURING_FUNCTIONS,
            release=Release.LAST_ITERATE,
            name=f"({epsilon:g}, {claimed:.4g})-DP, mean over 1..{positions}",
        ),
        certified=epsilon if positions == USERS - MIDDLE else None,
        note=f"{USERS} users, stopping uniform on {MIDDLE + 1}..{USERS}, user {MIDDLE + 1}",
    )


def _stopped_algorithm(step: float, sigma: float) -> Any:
    """Squared losses ½(rx₁ - y)²: long rows for the middle user, short ones with far labels else."""
    long, short, offset = step**-0.5, 1e-3, 40.0
    rows, labels = np.zeros((USERS, 2)), np.full(USERS, -offset / short)
    rows[:, 0], rows[MIDDLE, 0] = short, long
    labels[MIDDLE] = GAP / 2 / long
    problem = CompositeProblem(
        records=split(rows, labels, row_bound=2.0),
        loss=Squared(),
        regulariser=no_regulariser(),
        constraint=Constraint(A=np.array([[0.0, 1.0]]), B=-np.eye(1), c=np.zeros(1)),
    )
    return GradientADMM(
        problem,
        rounds=USERS,
        penalty=1.0,
        step_size=step,
        sigma=sigma,
        stopping=(MIDDLE + 1, USERS),
        gradient_gap=GAP,
    )
