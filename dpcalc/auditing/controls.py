"""Mechanisms whose privacy loss is known exactly: without them no audit result counts.

`controlled` runs a plan on three of them: one that leaks exactly what is claimed (refuting it would
be a mistake), one without any privacy, and one with a third of the noise that the claim needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing import gaussian_pair
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.plan import Plan
from dpcalc.auditing.target import Noise, Target, Tilted, World
from dpcalc.auditing.verdict import Outcome, decide
from dpcalc.execution import in_order
from dpcalc.guarantees import GDP
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.vocabulary import Adjacency

Array = NDArray[np.float64]

EXPOSED = 40.0
"""μ of the control without privacy."""

_LEVEL = 1e-4  # at which the exact control is tested, so that it is not a source of alarms itself


def gaussian(
    mu: float, *, scale: float = 1.0, adjacency: Adjacency = Adjacency.ADD_REMOVE
) -> Target:
    """N(μ, 1) against N(0, 1), exactly μ-GDP if the noise is drawn as modelled.

    Args:
        mu: distance of the two worlds in units of the modelled noise, above 0.
        scale: standard deviation that is really drawn; other than 1 it is a planted bug that the
            densities know nothing of.
        adjacency: what to call the pair.
    """
    checks.positive("mu", mu)

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        return scale * generator.standard_normal(runs) + (mu if world is World.IN else 0.0)

    def log_ratio(x: Array) -> Array:
        return mu * x - mu**2 / 2

    def tilted(
        _: World, a: float, moved: bool, generator: np.random.Generator, runs: int
    ) -> Tilted:
        unit = scale * generator.standard_normal(runs) + a * mu * moved
        L = mu * unit + mu**2 / 2
        return Tilted(log_ratio=L, log_tilt=a * L - (a + a**2) * mu**2 / 2)

    def noise(world: World, x: Array) -> Noise:
        return Noise(unit=(x - (mu if world is World.IN else 0.0))[:, None, None], law="gaussian")

    return Target(
        name=f"Gaussian, mu = {mu:g}" + (f", drawn at {scale:g}" if scale != 1 else ""),
        run=run,
        adjacency=adjacency,
        log_ratio=log_ratio,
        tilted=tilted,
        noise=noise,
    )


def randomised_response(epsilon: float, *, adjacency: Adjacency = Adjacency.REPLACE_ONE) -> Target:
    """One bit, told truly with probability e^ε/(1 + e^ε): exactly ε-DP, at every corner tight."""
    truth = 1 / (1 + math.exp(-epsilon))

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        bit = world is World.IN
        return np.where(generator.random(runs) < truth, bit, not bit).astype(np.float64)

    return Target(
        name=f"randomised response, epsilon = {epsilon:g}",
        run=run,
        adjacency=adjacency,
        log_ratio=lambda x: np.where(x > 0.5, epsilon, -epsilon),
    )


def laplace(epsilon: float, *, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Target:
    """Laplace noise of scale 1/ε on 1 against 0: exactly ε-DP."""

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        return generator.laplace(scale=1 / epsilon, size=runs) + (world is World.IN)

    return Target(
        name=f"Laplace, epsilon = {epsilon:g}",
        run=run,
        adjacency=adjacency,
        log_ratio=lambda x: epsilon * (np.abs(x) - np.abs(x - 1)),
    )


def exponential_norm(
    epsilon: float, dimension: int, *, adjacency: Adjacency = Adjacency.REPLACE_ONE
) -> Target:
    """Density ∝ e^{-‖b‖} around points ε apart: exactly ε-DP, hard to see in many dimensions."""
    checks.count("dimension", dimension)
    centre = np.zeros(dimension)
    centre[0] = epsilon

    def middle(world: World) -> Array:
        return centre if world is World.IN else np.zeros(dimension)

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        direction = generator.standard_normal((runs, dimension))
        radius = generator.standard_gamma(dimension, runs)
        unit = direction * (radius / np.linalg.norm(direction, axis=1))[:, None]
        return np.asarray(unit + middle(world))

    def log_ratio(x: Array) -> Array:
        return np.asarray(np.linalg.norm(x, axis=1) - np.linalg.norm(x - centre, axis=1))

    return Target(
        name=f"exponential norm, d = {dimension}, epsilon = {epsilon:g}",
        run=run,
        adjacency=adjacency,
        log_ratio=log_ratio,
        noise=lambda world, x: Noise(unit=(x - middle(world))[:, None, :], law="exponential-norm"),
        largest_log_ratio=lambda generator: log_ratio(
            np.outer(1 + generator.exponential(size=8), centre)
        ),
    )


def subsampled_gaussian(mu: float, rate: float) -> Target:
    """The record is used with probability ``rate``, then Gaussian noise: an asymmetric pair."""
    checks.positive("mu", mu)

    def run(world: World, generator: np.random.Generator, runs: int) -> Array:
        used = (generator.random(runs) < rate) & (world is World.IN)
        return np.asarray(generator.standard_normal(runs) + mu * used)

    return Target(
        name=f"subsampled Gaussian, mu = {mu:g}, rate = {rate:g}",
        run=run,
        adjacency=Adjacency.ADD_REMOVE,
        log_ratio=lambda x: np.logaddexp(
            np.log1p(-rate), np.log(rate) + mu * np.asarray(x) - mu**2 / 2
        ),
    )


def controlled(
    claim: Claim, plan: Plan, *, seed: int, executor: Executor | None = None
) -> tuple[dict[str, str], list[Finding]]:
    """The outcomes of the three controls, and a finding for each that contradicts its answer.

    Args:
        claim: what is tested.
        plan: the design; the controls use the same methods, runs and shares.
        seed: of the audit; the controls' runs are drawn apart.
        executor: who carries them out; this process if left out.
    """
    if not 0 < claim.epsilon < math.inf:
        return {}, []
    cases: dict[str, tuple[Target, Plan, Callable[[Outcome], bool]]] = {
        "leaks exactly what is claimed": (
            _leaking(claim, 1.0),
            replace(plan, alpha=min(plan.alpha, _LEVEL)),
            lambda outcome: outcome is not Outcome.REFUTED,
        ),
        "no privacy": (
            gaussian(max(EXPOSED, 4 * math.sqrt(claim.epsilon))),
            plan,
            lambda outcome: outcome is not Outcome.NOT_REFUTED,
        ),
        "a third of the noise": (_leaking(claim, 3.0), plan, lambda _: True),
    }
    outcomes, findings = {}, []
    designs = [
        (_like(target, plan), design, seed + number + 1)
        for number, (target, design, _) in enumerate(cases.values())
    ]
    found = in_order(partial(_outcome, claim), designs, executor, what="control")
    for (name, (_, _, fits)), outcome in zip(cases.items(), found, strict=True):
        outcomes[name] = outcome.value
        if not fits(outcome):
            findings.append(
                Finding(
                    check="control",
                    severity=Severity.PREMISE,
                    text=f"the control {name!r} came out {outcome.value}",
                )
            )
    return outcomes, findings


def _leaking(claim: Claim, times: float) -> Target:
    """A mechanism with the claimed privacy loss, or that of noise divided by ``times``."""
    if claim.delta == 0:
        return randomised_response(claim.epsilon * times)
    if isinstance(claim.guarantee, GDP):
        mu = claim.guarantee.mu
    elif claim.is_renyi:  # its ε(δ) would allow a larger ρ than the claim does
        mu = math.sqrt(2 * claim.bound(Quantity.RHO))
    else:
        mu = float(gaussian_pair.mu_of(claim.epsilon, claim.delta))
    return gaussian(mu * times)


def _like(target: Target, plan: Plan) -> Target:
    """The control with what the plan's methods use: a score alone, if they trust no densities."""
    if {"importance-sampling", "hockey-stick", "renyi-density", "likelihood-ratio"} & set(
        plan.methods
    ):
        return target
    return replace(target, score=target.log_ratio, log_ratio=None, tilted=None, noise=None)


@own_arithmetic
def _outcome(claim: Claim, designed: tuple[Target, Plan, int]) -> Outcome:
    from dpcalc.auditing.audit import examined
    from dpcalc.auditing.experiment import carry_out

    target, plan, seed = designed
    methods = plan.methods
    if target.tilted is None:  # randomised response has no noise to tilt
        methods = tuple(m for m in methods if m != "importance-sampling") or ("accuracy",)
    design = replace(plan, methods=methods, tilted=plan.tilted if target.tilted else 0)
    pure = replace(target, noise=None) if claim.delta == 0 else target
    experiment = carry_out(pure, claim, design, seed=seed)
    evidence, findings = examined(experiment, claim)
    return decide(claim, evidence, findings, notice=plan.notice)[0]
