"""The worst gradient ADMM known for the parameters of amplification by iteration.

Users have linear functions with a common ridge, g is a ridge too, so every law is Gaussian and known
exactly; one user's gradient is ±Δ/2 along an axis. Axis and curvatures are searched for by the exact
μ of the last iterate: the largest and the least singular direction of A, its kernel if there is one,
the least and the largest curvature, and a g that pulls more or less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.algorithms.gradient_admm import GradientADMM
from dpcalc.algorithms.gradient_admm_noisy_oracle import GradientADMMNoisyOracle
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.constraints import Constraint
from dpcalc.algorithms.problems.losses import Linear
from dpcalc.algorithms.problems.records import Records, split
from dpcalc.algorithms.problems.regularisers import ridge
from dpcalc.auditing import Claim, Target, World
from dpcalc.auditing.gaussian.separation import separation
from dpcalc.auditing.suite.case import Instance
from dpcalc.auditing.targets.gaussian_release import gaussian_release
from dpcalc.audits.instances.noisy_steps import Normal
from dpcalc.vocabulary import Adjacency, Release

Array = NDArray[np.float64]

MOST_ROUNDS = 1500
"""Beyond these an instance is not built."""
MOST_STOPS = 60
"""Beyond these laws of a random end are not computed."""
TRIAL_ROUNDS = 40
"""Settings are compared on at most this many."""

_PULLS = (1e-6, 0.2, 2.0)
"""Weights of g that are tried where none is prescribed."""


def instance_of_theorem(theorem: Any, claim: Claim) -> Instance | None:
    """The setting for a theorem on gradient ADMM; None if it would take too long."""
    made = _all_users if theorem.key == "admm-iteration-all-users" else _one_user
    target = made(theorem)
    return None if target is None else Instance(target=target, claim=claim)


def state(released: Any) -> Array:
    """(x, λ) as one vector."""
    return np.concatenate([released["x"], released["dual"]], axis=1)


def _one_user(theorem: Any) -> Target | None:
    """The user who comes first, in every pass."""
    gap = theorem.pass_length or theorem.iterations
    rounds = (theorem.passes - 1) * gap + theorem.iterations
    if rounds > MOST_ROUNDS:
        return None
    trial = min(rounds, TRIAL_ROUNDS)
    _, made = max(
        ((_mu(*_pair(theorem, trial, gap, *s)), s) for s in _settings(theorem)),
        key=lambda found: found[0],
    )
    here, other = _pair(theorem, rounds, gap, *made)
    return last_target(
        here, other, [here.last_iterate_law()], [here.last_iterate_law(records=other)]
    )


def _all_users(theorem: Any) -> Target | None:
    """A user in a random place of one order, or a random end; others have the same functions."""
    n, first = theorem.users, theorem.first_stop()
    stopping = theorem.order == "stopping"
    if n > MOST_ROUNDS or theorem.passes > 1 or (stopping and n + 1 - first > MOST_STOPS):
        return None
    trial = min(n, TRIAL_ROUNDS)
    _, made = max(
        ((_mu(*_pair(theorem, trial, trial, *s)), s) for s in _settings(theorem)),
        key=lambda found: found[0],
    )
    if stopping:
        here, other = _pair(theorem, n, n, *made, place=first - 1, stopping=(first, n))
        ends = range(first, n + 1)
        each = [
            [here.last_iterate_law(order=range(end), records=data).marginal("x") for end in ends]
            for data in (here.problem.records, other)
        ]
        # λ alone is known for certain after one round; x is enough to look at.
        return last_target(here, other, *each, read=lambda released: released["x"])
    here, other = _pair(theorem, n, n, *made, order="permutation")
    covariance = here.last_iterate_law().covariance
    # All users move the state alike, so a place only decides how long ago the gradient came.
    moved = [_noiseless(theorem, n, made, world) for world in World]
    return last_target(
        here, other, *([Normal(mean, covariance) for mean in means] for means in moved)
    )


def _noiseless(theorem: Any, rounds: int, made: tuple[Any, ...], world: World) -> Array:
    """(x, λ) after 1, 2, ... rounds without noise, the user coming first."""
    pair = _pair(theorem, rounds, rounds, *made, sigma=0.0)
    run = pair[0] if world is World.IN else pair[0].with_records(pair[1])
    seen = run.run(0, runs=1)
    return np.concatenate([seen["x"][0], seen["dual"][0]], axis=1)


def _settings(theorem: Any) -> Iterator[tuple[int, float, float]]:
    """Axis, curvature of the users, weight of g."""
    axes = range(2 if theorem.square else 3)
    least = getattr(theorem, "strong_convexity", 0.0)
    prescribed = getattr(theorem, "regularizer_strong_convexity", None)
    pulls = _PULLS if prescribed is None else (prescribed, 4 * prescribed)
    return product(axes, sorted({least, theorem.smoothness}), pulls)


def _pair(
    theorem: Any,
    rounds: int,
    users: int,
    axis: int,
    curvature: float,
    pull: float,
    *,
    place: int = 0,
    sigma: float | None = None,
    **more: Any,
) -> tuple[Any, Records]:
    """The algorithm, and the users with the opposite gradient at one place."""
    low, high = theorem.min_singular_value, theorem.operator_norm
    A = np.diag([low, high]) if theorem.square else np.diag([low, high, 0.0])[:2]
    size = getattr(theorem, "coupling_norm", high) / high
    half = theorem.sensitivity / 2
    rows = np.zeros((users, A.shape[1]))
    rows[place, axis] = half
    problem = CompositeProblem(
        records=split(rows, np.ones(users), row_bound=half),
        loss=Linear(),
        regulariser=ridge(pull),
        constraint=Constraint(A=A, B=-size * np.eye(2), c=np.zeros(2)),
        ridge=curvature,
    )
    kind = GradientADMMNoisyOracle if theorem.noise_in == "gradient" else GradientADMM
    made = kind(
        problem,
        rounds=rounds,
        penalty=theorem.penalty,
        step_size=theorem.step_size,
        sigma=theorem.sigma if sigma is None else sigma,
        gradient_gap=theorem.sensitivity,
        **more,
    )
    return made, problem.records.replaced(place, -rows[place], 1.0)


def _mu(attacked: Any, other: Records) -> float:
    """μ of the last iterate."""
    here, there = attacked.last_iterate_law(), attacked.last_iterate_law(records=other)
    return separation(here, there)[0]


def last_target(
    attacked: Any,
    other: Records,
    here: Any,
    there: Any,
    *,
    adjacency: Adjacency = Adjacency.NEIGHBOURING_FUNCTIONS,
    read: Callable[[Any], Array] = state,
) -> Target:
    """The last iterate of a method on two data sets, with its exact laws.

    Args:
        attacked: on the data of the world IN.
        other: data of the world OUT.
        here: the laws in the world IN of what is read; one, or several by equal chance.
        there: those in the world OUT.
        adjacency: of the two data sets.
        read: released -> the vector that the laws describe.
    """
    pair = {World.IN: attacked, World.OUT: attacked.with_records(other)}
    return gaussian_release(
        lambda world, generator, runs: pair[world].run(
            generator, runs=runs, release=Release.LAST_ITERATE
        ),
        read,
        here,
        there,
        name=attacked.key,
        adjacency=adjacency,
        described="the last iterate, whose law is known",
    )
