"""Attack on noisy gradient ADMM with noise on the iterate (chan2023).

Users have linear functions with a common ridge, so every law is Gaussian and known exactly; the
first user's gradient points one way in one world and the opposite way in the other.

    local           the user's iteration, all iterates released
    last iterate    only (x_T, λ_T): below the certified curve at every T, and falling
    stopping        uniform on the upper half, the user in the middle has 1 to n/2 iterations left:
                    averaging over 1..n is too small, even with the exact loss of every position
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dpcalc.algorithms.gradient_admm import GradientADMM
from dpcalc.auditing import Claim, Outcome
from dpcalc.auditing.gaussian.separation import separation
from dpcalc.auditing.suite.case import Audit, ClaimSource, Instance, SupportingTable, case, planted
from dpcalc.auditing.targets.from_algorithm import algorithm_target
from dpcalc.audits.bugs.generic import run_by
from dpcalc.audits.instances import admm_iteration
from dpcalc.audits.instances.admm_iteration import last_target
from dpcalc.audits.instances.linear_users import algorithm, neighbour, theorem
from dpcalc.audits.instances.random_stopping import MIDDLE, USERS, stopping
from dpcalc.guarantees import GDP, Guarantee
from dpcalc.vocabulary import Adjacency, Release

DELTA = 1e-5
_FUNCTIONS = Adjacency.NEIGHBOURING_FUNCTIONS


def transcript(rounds: int, guarantee: Guarantee | None = None) -> Instance:
    """All iterates, against the local bound or against a given guarantee."""
    attacked = algorithm(rounds)
    local = theorem(iterations=1).certified().guarantee
    target = algorithm_target(attacked, neighbour(attacked), adjacency=_FUNCTIONS)
    return Instance(
        target=target,
        claim=_claim(guarantee or local, Release.EVERY_ITERATE),
        certified=local.epsilon(DELTA),
        note=f"{rounds} iterations, the first user's function is exchanged",
    )


def amplified_transcript() -> Instance:
    """The last iterate's bound, although every iterate is released."""
    return transcript(33, theorem(iterations=33).certified().guarantee)


def last_iterate(iterations: int, bound: str) -> Instance:
    """(x_T, λ_T) alone against the printed or the certified amplification."""
    attacked = algorithm(iterations)
    other = neighbour(attacked)
    each = attacked.last_iterate_law(), attacked.last_iterate_law(records=other)
    mu = separation(*each)[0]
    paper = theorem(iterations=iterations)
    guarantee = (paper.certified() if bound == "certified" else paper.claimed()).guarantee
    target = last_target(attacked, other, *([law] for law in each))
    return Instance(
        target=target,
        claim=_claim(guarantee, Release.LAST_ITERATE),
        certified=paper.certified().guarantee.epsilon(DELTA),
        note=f"{iterations} iterations; exact mu {mu:.5g}, exact epsilon "
        f"{GDP(mu).epsilon(DELTA):.5g}",
    )


def built(key: str, bound: str) -> Instance:
    """The worst instance known for another theorem on the same iteration."""
    paper = theorem(key, **_BUILT[key])
    proved = paper.certified().guarantee
    guarantee = proved if bound == "certified" else paper.claimed().guarantee
    made = admm_iteration.instance_of_theorem(paper, _claim(guarantee, Release.LAST_ITERATE))
    if made is None:
        raise RuntimeError(f"{key}: the setting is too long for its own attack")
    return replace(made, certified=proved.epsilon(DELTA), note=f"parameters {_BUILT[key]}")


_BUILT: Mapping[str, Mapping[str, Any]] = {
    "admm-iteration-strongly-convex": {
        "iterations": 3,
        "step_size": 1.753086,
        "penalty": 0.9,
        "sigma": 4,
        "smoothness": 0.5,
        "strong_convexity": 0.5,
        "regularizer_strong_convexity": 0.2,
        "coupling_norm": 1,
    },
    "admm-iteration-all-users": {"users": 30, "order": "permutation"},
}
_BUILT_TITLES = {
    "admm-iteration-strongly-convex": "strongly convex users, the last of 3 iterations",
    "admm-iteration-all-users": "30 users in random order, the last iterate",
}


def curve(_: int, kind: Any = GradientADMM, **changes: Any) -> list[tuple[float, ...]]:
    """k, and ε at 1e-5 of the last iterate: exact, certified, claimed, local."""
    rows: list[tuple[float, ...]] = []
    for k in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32):
        attacked = algorithm(k, kind)
        other = neighbour(attacked)
        mu = separation(attacked.last_iterate_law(), attacked.last_iterate_law(records=other))
        paper = theorem(iterations=k, **changes)
        rows.append(
            (
                float(k),
                GDP(mu[0]).epsilon(DELTA),
                paper.certified().guarantee.epsilon(DELTA),
                paper.claimed().guarantee.epsilon(DELTA),
                theorem(iterations=1, **changes).certified().guarantee.epsilon(DELTA),
            )
        )
    return rows


# ---- planted bugs


def half_the_noise() -> Instance:
    """Half of the modelled noise is drawn."""
    correct = transcript(5)
    attacked = algorithm(5)
    actual = replace(attacked, sigma=0.5)
    return Instance(target=run_by(correct.target, actual, neighbour(attacked)), claim=correct.claim)


def state_without_damping() -> Instance:
    """Noise is added before the linear system is solved, so it is damped as the signal is."""
    attacked = algorithm(5)
    damping = 1 + attacked.step_size * attacked.penalty
    correct = transcript(5)
    actual = replace(attacked, sigma=attacked.sigma / damping)
    return Instance(target=run_by(correct.target, actual, neighbour(attacked)), claim=correct.claim)


def wider_functions() -> Instance:
    """Users whose gradients differ by twice the promised Δ."""
    attacked = algorithm(5, gradient_gap=1.0)
    local = theorem(iterations=1, sensitivity=1.0).certified().guarantee
    target = algorithm_target(attacked, neighbour(attacked), adjacency=_FUNCTIONS)
    return Instance(target=target, claim=_claim(local, Release.EVERY_ITERATE))


def _claim(guarantee: Guarantee, release: Release) -> Claim:
    return Claim(guarantee=guarantee, delta=DELTA, adjacency=_FUNCTIONS, release=release)


_HELD, _BROKEN = (Outcome.NOT_REFUTED,), (Outcome.REFUTED,)

AUDIT = Audit(
    key="gradient-admm",
    title="Noisy gradient ADMM, noise on the iterate",
    reference="chan2023, lemma 3.2, theorem 6.1, section 8",
    theorem="admm-iteration",
    other_theorems=("admm-iteration-strongly-convex", "admm-iteration-all-users"),
    instance_of_theorem=admm_iteration.instance_of_theorem,
    cases=(
        case(
            "local",
            "all iterates, the certified local bound",
            ClaimSource.CERTIFIED,
            partial(transcript, 5),
            _HELD,
        ),
        *(
            case(
                f"last-iterate-{k}",
                f"the last of {k} iterations, the certified amplification",
                ClaimSource.CERTIFIED,
                partial(last_iterate, k, "certified"),
                _HELD,
            )
            for k in (3, 9)
        ),
        case(
            "last-iterate-claimed",
            "the last of 9 iterations, the printed amplification",
            ClaimSource.PAPER,
            partial(last_iterate, 9, "claimed"),
            _HELD,
        ),
        case(
            "stopping-over-all",
            "stopping on the upper half, averaged over 1..n",
            ClaimSource.PAPER,
            partial(stopping, USERS),
            _BROKEN,
            alpha=1e-6,
            tilted=8000,
            theorem="admm-iteration-all-users",
        ),
        case(
            "stopping-over-half",
            "stopping on the upper half, averaged over the middle user's positions",
            ClaimSource.CERTIFIED,
            partial(stopping, USERS - MIDDLE),
            _HELD,
            tilted=8000,
            theorem="admm-iteration-all-users",
        ),
        *(
            case(
                f"{key.removeprefix('admm-iteration-')}-{bound}",
                f"{_BUILT_TITLES[key]}, the {'printed' if bound == 'claimed' else bound} bound",
                ClaimSource.PAPER if bound == "claimed" else ClaimSource.CERTIFIED,
                partial(built, key, bound),
                _HELD,
                theorem=key,
            )
            for key in _BUILT
            for bound in ("certified", "claimed")
        ),
        planted("half-the-noise", "half of the modelled noise", half_the_noise),
        planted(
            "amplified-transcript",
            "the last iterate's bound for a released transcript",
            amplified_transcript,
        ),
        planted(
            "noise-before-solving",
            "noise added before the linear system is solved",
            state_without_damping,
        ),
        planted("wider-functions", "functions further apart than promised", wider_functions),
    ),
    exhibits=(
        SupportingTable(
            key="amplification",
            title="ε of the last iterate at δ = 1e-5: exact law against the bounds",
            columns=("iterations k", "exact", "certified", "claimed", "local"),
            rows=curve,
            note="The exact loss of this instance lies below the certified curve at every k.",
        ),
    ),
)
