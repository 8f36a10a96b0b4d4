"""Attack on noisy gradient descent of which only the last iterate is released.

Quadratics along one direction make every law Gaussian, so that the exact likelihood ratio is known;
on a bounded domain, or in a new order every pass, the last iterate itself is the score.

    full batch           exact: attacks come within 10 per cent of the certified ε
    one pass             the first record's loss is exactly the certified one
    cyclic, constrained  below the certified ε, by as much as the proof's worst case is not reached
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpcalc.auditing import Claim, Outcome, Target, World
from dpcalc.auditing.suite.case import (
    Audit,
    Case,
    ClaimSource,
    Instance,
    SupportingTable,
    case,
    planted,
)
from dpcalc.audits.instances import noisy_gradient_descent
from dpcalc.audits.instances.noisy_steps import Descent, gaussian_target, scored_target
from dpcalc.guarantees import GDP, Guarantee
from dpcalc.theorems.catalogue import privacy_result

DELTA = 1e-3

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "noisy-gd": {
        "n_records": 10,
        "steps": 20,
        "sensitivity": 1,
        "step_size": 0.25,
        "smoothness": 2,
        "strong_convexity": 0.125,
        "sigma": 0.4,
    },
    "noisy-cgd": {
        "sensitivity": 1,
        "batch_size": 5,
        "n_batches": 4,
        "passes": 5,
        "step_size": 0.25,
        "smoothness": 4,
        "strong_convexity": 0.125,
        "sigma": 0.3,
    },
    "noisy-cgd-constrained": {
        "diameter": 4,
        "sensitivity": 1,
        "batch_size": 5,
        "n_batches": 1,
        "passes": 120,
        "step_size": 0.25,
        "smoothness": 4,
        "sigma": 1,
    },
    "noisy-sgd-constrained": {
        "diameter": 6,
        "lipschitz": 1,
        "n_records": 50,
        "batch_size": 10,
        "steps": 400,
        "step_size": 0.1,
        "smoothness": 2,
        "sigma": 1.2,
    },
    "pnsgd": {
        "lipschitz": 1,
        "step_size": 0.1,
        "smoothness": 2,
        "sigma": 1,
        "n_records": 10,
        "position": 1,
    },
    "pnsgd-strongly-convex": {
        "lipschitz": 1,
        "step_size": 0.1,
        "smoothness": 2,
        "strong_convexity": 0.5,
        "sigma": 1,
        "n_records": 10,
        "position": 8,
    },
    "pnsgd-all-users": {
        "lipschitz": 1,
        "step_size": 0.1,
        "smoothness": 2,
        "sigma": 1.5,
        "n_records": 20,
        "order": "stopping",
    },
}
"""What is attacked, one setting for each theorem."""


def theorem(key: str, **changes: Any) -> Any:
    """The theorem in its setting here."""
    kind = privacy_result(key)
    promises = [a.key for a in kind.assumptions if a.promised]
    return kind.from_parameters({**SETTINGS[key], **changes}, promises)


def instance(key: str, bound: str, **changes: Any) -> Instance:
    """The worst instance known against the printed or the certified bound."""
    paper = theorem(key, **changes)
    proved = paper.certified().guarantee
    guarantee = proved if bound == "certified" else paper.claimed().guarantee
    return Instance(
        target=_target(paper),
        claim=_claim(paper, guarantee),
        certified=proved.epsilon(DELTA),
        note=", ".join(f"{name} {value}" for name, value in SETTINGS[key].items()),
    )


def instance_of_theorem(claimed: Any, claim: Claim) -> Instance | None:
    """The worst descent known with the theorem's parameters."""
    target = noisy_gradient_descent.target(claimed)
    return None if target is None else Instance(target=target, claim=claim)


def _target(paper: Any) -> Target:
    target = noisy_gradient_descent.target(paper)
    if target is None:
        raise RuntimeError(f"{paper.key}: the setting is too long for its own attack")
    return target


def _claim(paper: Any, guarantee: Guarantee) -> Claim:
    return Claim(guarantee=guarantee, delta=DELTA, adjacency=paper.adjacency, release=paper.release)


def exact(_: int) -> list[tuple[float, ...]]:
    """Steps t; μ of the last iterate: exact, certified; of every iterate together."""
    rows: list[tuple[float, ...]] = []
    for steps in (1, 2, 5, 10, 20, 50, 100, 200):
        paper = theorem("noisy-gd", steps=steps)
        eta, jump = paper.step_size, paper.step_size * paper.sensitivity / paper.n_records / 2
        found = Descent(
            factors=np.full(steps, 1 - eta * paper.strong_convexity),
            uses=np.full(steps, jump),
            noise=eta * paper.sigma,
        ).separation()
        certified = paper.certified().guarantee.parameters()["mu"]
        each = paper.sensitivity / paper.n_records / paper.sigma
        rows.append((float(steps), found, certified, steps**0.5 * each))
    return rows


# ---- planted bugs


def _plain(noise: float, steps: int = 20, factor: float | None = None) -> Descent:
    """The full-batch setting with changes."""
    paper = theorem("noisy-gd")
    eta = paper.step_size
    factor = 1 - eta * paper.strong_convexity if factor is None else factor
    return Descent(
        factors=np.full(steps, factor),
        uses=np.full(steps, eta * paper.sensitivity / paper.n_records / 2),
        noise=eta * noise,
    )


def running(changed: Descent) -> Instance:
    """The correct model and claim, another descent that runs."""
    correct = instance("noisy-gd", "certified")
    target = replace(correct.target, run=changed.run, tilted=None)
    return replace(correct, target=target, certified=None)


def half_the_noise() -> Instance:
    """Half of the modelled noise is drawn."""
    return running(_plain(theorem("noisy-gd").sigma / 2))


def noise_reused() -> Instance:
    """Noise drawn once and used again in every step."""
    correct, plain = instance("noisy-gd", "certified"), _plain(theorem("noisy-gd").sigma)
    quiet = replace(plain, noise=0.0)
    reach = np.append(np.cumprod(plain.factors[1:]), 1.0).sum()

    def run(world: World, generator: np.random.Generator, runs: int) -> Any:
        once = plain.noise * generator.standard_normal((runs, 1))
        return quiet.run(world, generator, runs) + reach * once

    target = replace(correct.target, run=run, tilted=None)
    return replace(correct, target=target, certified=None)


def no_contraction() -> Instance:
    """Losses without curvature, sold with the bound for strongly convex ones."""
    paper = theorem("noisy-gd")
    flat = _plain(paper.sigma, steps=200, factor=1.0)
    guarantee = theorem("noisy-gd", steps=200).certified().guarantee
    target = gaussian_target(flat, name=paper.key, adjacency=paper.adjacency)
    return Instance(target=target, claim=_claim(paper, guarantee))


def average_released() -> Instance:
    """The mean of all iterates is released, sold with the bound for the last one."""
    paper = theorem("pnsgd", position=1)
    # The mean of x_1..x_n: the record's jump counts in full, later noise less and less.
    n = paper.n_records
    weights = np.arange(n, 0, -1) / n
    run = Descent(
        factors=np.ones(1),
        uses=np.array([paper.step_size * paper.lipschitz]),
        noise=paper.step_size * paper.sigma * float(np.linalg.norm(weights)),
    )
    target = scored_target(run, name=paper.key, adjacency=paper.adjacency)
    return Instance(target=target, claim=_claim(paper, paper.certified().guarantee))


def norm_for_sensitivity() -> Instance:
    """Sensitivity L where a replaced record moves a gradient by 2L."""
    paper = theorem("pnsgd")
    mu = paper.certified().guarantee.parameters()["mu"]
    return Instance(target=_target(paper), claim=_claim(paper, GDP(mu / 2)))


def _bug(key: str, title: str, made: Any) -> Case:
    return planted(key, title, made, runs=4000)


_HELD = (Outcome.NOT_REFUTED,)
_QUIET = (Outcome.NOT_REFUTED, Outcome.UNDERPOWERED)
_TITLES = {
    "noisy-gd": "full batch, strongly convex, the last of 20 steps",
    "noisy-cgd": "batches in turn, five passes",
    "noisy-cgd-constrained": "full batch on a bounded domain, 120 steps",
    "noisy-sgd-constrained": "sampled batches on a bounded domain, 400 steps",
    "pnsgd": "one pass, the first of ten records",
    "pnsgd-strongly-convex": "one pass, strongly convex, the eighth of ten records",
    "pnsgd-all-users": "one pass, random stopping, the first record",
}
_SCORED = ("noisy-cgd-constrained", "noisy-sgd-constrained", "pnsgd-strongly-convex")
"""Attacked by error rates alone, with more runs."""


def _cases() -> tuple[Case, ...]:
    found = []
    for key, title in _TITLES.items():
        runs = 20_000 if key in _SCORED else 2000
        for bound, role in (("certified", ClaimSource.CERTIFIED), ("claimed", ClaimSource.PAPER)):
            name = key if bound == "certified" else f"{key}-claimed"
            text = f"{title}, the {'certified' if bound == 'certified' else 'printed'} bound"
            made = partial(instance, key, bound)
            found.append(case(name, text, role, made, _QUIET, runs=runs, batch=5000, theorem=key))
    return tuple(found)


AUDIT = Audit(
    key="noisy-gradient-descent",
    title="Noisy gradient descent, the last iterate",
    reference="feldman2018, balle2019, altschuler2022, bok2024",
    theorem="noisy-gd",
    other_theorems=tuple(key for key in noisy_gradient_descent.KEYS if key != "noisy-gd"),
    instance_of_theorem=instance_of_theorem,
    cases=(
        *_cases(),
        _bug("half-the-noise", "half of the modelled noise is drawn", half_the_noise),
        _bug("one-draw", "noise drawn once and used again in every step", noise_reused),
        _bug("no-contraction", "losses without the promised curvature", no_contraction),
        _bug("average-released", "the mean of all iterates is released", average_released),
        _bug("norm-for-sensitivity", "sensitivity L in place of 2L", norm_for_sensitivity),
    ),
    exhibits=(
        SupportingTable(
            key="last-iterate",
            title="μ of full-batch descent: the last iterate, exact and certified, and all of them",
            columns=("steps t", "exact", "certified", "every iterate"),
            rows=exact,
            note="Hidden iterates stop the loss from growing; the certified bound is exact here.",
        ),
    ),
)
