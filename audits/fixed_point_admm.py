"""Attack on ADMM as a noisy fixed-point iteration: quadratics along the direction of one record.

With g = 0 and quadratic records of one curvature every step multiplies z by a factor and adds the
record's share and the noise, so the law is Gaussian and the likelihood ratio known.

    last iterate, strongly convex   exact: attacks come within 10 per cent of the certified ε
    noise on the inner minimiser    what is released without noise is told apart
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpcalc.auditing import Claim, Outcome, Target
from dpcalc.auditing.suite.case import Audit, Case, ClaimSource, Instance, case, planted
from dpcalc.audits.instances.noisy_steps import Descent, gaussian_target
from dpcalc.guarantees import Guarantee
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.vocabulary import Release

DELTA = 1e-3
MOST_STEPS = 50_000
"""Beyond these an instance is not simulated."""

SETTING: Mapping[str, Any] = {
    "sensitivity": 2,
    "n_records": 10,
    "steps": 20,
    "prox_step": 0.5,
    "relaxation": 0.5,
    "strong_convexity": 0.25,
    "smoothness": 2,
    "sigma": 0.4,
    "release": "last-iterate",
}
"""What is attacked."""


def theorem(**changes: Any) -> Any:
    """The theorem in the setting here."""
    kind = privacy_result("fixed-point-admm")
    promises = [a.key for a in kind.assumptions if a.promised]
    return kind.from_parameters({**SETTING, **changes}, promises)


def steps_of(paper: Any, *, noise: float = 1.0) -> Descent:
    """The iteration on quadratics of the smallest curvature.

    Args:
        paper: the theorem.
        noise: what multiplies the noise.
    """
    step, relaxed = paper.prox_step, paper.relaxation
    shrink = 1 / (1 + step * (paper.strong_convexity or 0.0))
    moved = (
        relaxed * step * paper.sensitivity / paper.n_records * shrink
    )  # half, one way or the other
    return Descent(
        factors=np.full(paper.steps, 1 + 2 * relaxed * (shrink - 1)),
        uses=np.full(paper.steps, moved),
        noise=noise * relaxed * paper.sigma,
    )


def target_of(paper: Any) -> Target | None:
    """The worst instance known; None if it is too long, or if more than the last z is released."""
    if paper.steps > MOST_STEPS:
        return None
    made = steps_of(paper)
    if paper.release == Release.AVERAGE:
        return None
    if paper.release == Release.EVERY_ITERATE:
        # The transcript is one Gaussian mechanism: every step shows its own jump and noise.
        made = replace(
            made,
            factors=np.ones(1),
            uses=np.array([made.uses[0] * np.sqrt(paper.steps)]),
        )
    return gaussian_target(made, name=paper.key, adjacency=paper.adjacency)


def instance(bound: str) -> Instance:
    """The worst instance known against the printed or the certified bound."""
    paper = theorem()
    proved = paper.certified().guarantee
    guarantee = proved if bound == "certified" else paper.claimed().guarantee
    return Instance(
        target=_made(paper),
        claim=_claim(paper, guarantee),
        certified=proved.epsilon(DELTA),
        note=", ".join(f"{name} {value}" for name, value in SETTING.items()),
    )


def instance_of_theorem(claimed: Any, claim: Claim) -> Instance | None:
    """The worst instance with the theorem's parameters."""
    target = target_of(claimed)
    return None if target is None else Instance(target=target, claim=claim)


def _made(paper: Any) -> Target:
    target = target_of(paper)
    if target is None:
        raise RuntimeError("the setting is too long for its own attack")
    return target


def _claim(paper: Any, guarantee: Guarantee) -> Claim:
    return Claim(guarantee=guarantee, delta=DELTA, adjacency=paper.adjacency, release=paper.release)


# ---- planted bugs


def half_the_noise() -> Instance:
    """Half of the noise that the claim counts on is drawn."""
    correct = instance("certified")
    target = replace(correct.target, run=steps_of(theorem(), noise=0.5).run, tilted=None)
    return replace(correct, target=target, certified=None)


def every_z() -> Instance:
    """All z are released, sold with the bound for the last one."""
    paper = theorem(steps=200)
    return Instance(
        target=_made(paper.replace(release=Release.EVERY_ITERATE)),
        claim=_claim(paper, paper.certified().guarantee),
    )


def no_curvature() -> Instance:
    """Linear records, sold with the bound for strongly convex ones."""
    paper = theorem(steps=200)
    flat = _made(theorem(steps=200, strong_convexity=None))
    return Instance(target=flat, claim=_claim(paper, paper.certified().guarantee))


def _bug(key: str, title: str, made: Any) -> Case:
    return planted(key, title, made, runs=4000)


_QUIET = (Outcome.NOT_REFUTED, Outcome.UNDERPOWERED)

AUDIT = Audit(
    key="fixed-point-admm",
    title="ADMM as a noisy fixed-point iteration, the last iterate",
    reference="cyffers2023",
    theorem="fixed-point-admm",
    instance_of_theorem=instance_of_theorem,
    cases=(
        case(
            "fixed-point-admm",
            "the last of 20 steps, the certified bound",
            ClaimSource.CERTIFIED,
            lambda: instance("certified"),
            _QUIET,
        ),
        case(
            "fixed-point-admm-claimed",
            "the last of 20 steps, the printed bound",
            ClaimSource.PAPER,
            lambda: instance("claimed"),
            _QUIET,
        ),
        _bug("half-the-noise", "half of the modelled noise is drawn", half_the_noise),
        _bug("every-z", "every z is released", every_z),
        _bug("no-curvature", "losses without the promised curvature", no_curvature),
    ),
)
