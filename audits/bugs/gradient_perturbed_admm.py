"""Mistakes planted in DP-ADMM and its accelerated form; every audit must catch them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from dpcalc.algorithms.dp_admm import DPADMM
from dpcalc.algorithms.problems.records import Records
from dpcalc.auditing import Claim, Target, World
from dpcalc.auditing.suite.case import Instance
from dpcalc.auditing.targets.from_algorithm import algorithm_target
from dpcalc.audits.bugs.generic import fitted_parameter, noise_reused, run_by, seed_reused
from dpcalc.audits.instances.gradient_perturbed_admm import (
    ADD,
    RECORDS,
    algorithm,
    claim_of,
    neighbour,
    theorem,
)
from dpcalc.guarantees import GDP
from dpcalc.vocabulary import Release


@cache
def _correct(kind: Any = DPADMM) -> tuple[Any, Records, Target, Claim, float]:
    """The zero start, add-remove, with its certified curve."""
    paper = theorem(5, 1.0)
    attacked = algorithm(kind, rounds=5, sigma=paper.sigma)
    other = neighbour(attacked, ADD)
    target = algorithm_target(attacked, other, adjacency=ADD)
    proved = paper.certified().guarantee
    return attacked, other, target, claim_of(proved, ADD, Release.EVERY_ITERATE), paper.sigma


def less_noise(kind: Any, times: float | None) -> Instance:
    """σ·times is drawn; σ² in place of σ if times is left out."""
    attacked, other, target, claim, sigma = _correct(kind)
    drawn = sigma**2 if times is None else sigma * times
    return Instance(target=run_by(target, replace(attacked, sigma=drawn), other), claim=claim)


def one_round_charged(kind: Any) -> Instance:
    """μ of one round is sold as that of the whole run."""
    _, _, target, claim, sigma = _correct(kind)
    return Instance(
        target=target,
        claim=claim_of(GDP(1 / RECORDS / sigma), ADD, claim.release),
        note="the guarantee of one of five rounds",
    )


def decaying_noise(kind: Any) -> Instance:
    """Noise that shrinks from round to round, accounted for at its first value."""
    _, other, _, claim, sigma = _correct(kind)
    attacked = algorithm(kind, rounds=5, sigma=sigma * 0.6 ** np.arange(5.0))
    return Instance(target=algorithm_target(attacked, other, adjacency=ADD), claim=claim)


def clipped_mean(kind: Any) -> Instance:
    """The mean gradient is clipped instead of every record's: a long record passes whole."""
    _, _, _, claim, sigma = _correct(kind)
    attacked = algorithm(kind, rounds=5, sigma=sigma, row_bound=3.0)
    other = neighbour(attacked, ADD)
    return Instance(target=algorithm_target(attacked, other, adjacency=ADD), claim=claim)


def repeated_seed(kind: Any) -> Instance:
    """All noise comes from one fixed seed."""
    _, _, target, claim, _ = _correct(kind)
    return Instance(target=seed_reused(target), claim=claim)


def repeated_noise(kind: Any) -> Instance:
    """Noise is drawn once and used again in every round."""
    attacked, other, target, claim, _ = _correct(kind)
    return Instance(target=run_by(target, noise_reused(attacked), other), claim=claim)


def fitted_step(kind: Any) -> Instance:
    """The step size is one over the data's largest curvature, called public."""
    attacked, other, target, claim, _ = _correct(kind)
    lengths = {
        World.IN: float(np.linalg.norm(attacked.problem.records.features)),
        World.OUT: float(np.linalg.norm(other.features)),
    }
    steps = {world: 1 / (1 + length) for world, length in lengths.items()}
    return Instance(target=fitted_parameter(target, "step_size", steps), claim=claim)


BUGS: tuple[tuple[str, str, Any, tuple[Any, ...]], ...] = (
    ("half-the-noise", "half of the modelled noise is drawn", less_noise, (0.5,)),
    ("variance-for-deviation", "sigma squared is drawn in place of sigma", less_noise, (None,)),
    ("one-round-charged", "one round's budget sold as the run's", one_round_charged, ()),
    ("decaying-noise", "decaying noise accounted for at its first value", decaying_noise, ()),
    ("clipped-mean", "clipping after averaging", clipped_mean, ()),
    ("one-seed", "one seed for both worlds and all runs", repeated_seed, ()),
    ("one-draw", "noise drawn once and used again in every round", repeated_noise, ()),
    ("fitted-step", "a step size computed from the data", fitted_step, ()),
)
"""Name, title, setting and its arguments."""
