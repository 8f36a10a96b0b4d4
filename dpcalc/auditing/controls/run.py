"""The controls of an audit: the same design on mechanisms whose answer is known.

Three of them: one that leaks exactly what is claimed (refuting it would be a mistake), one without
any privacy, and one with a third of the noise that the claim needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial

from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.controls.mechanisms import gaussian, randomised_response
from dpcalc.auditing.design import Plan
from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.experiment import carry_out
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.lower_bounds import examined
from dpcalc.auditing.targets.target import Target
from dpcalc.auditing.verdict import Outcome, decide
from dpcalc.execution import in_order
from dpcalc.guarantees import GDP
from dpcalc.numerics.arithmetic import own_arithmetic

EXPOSED = 40.0
"""μ of the control without privacy."""

_LEVEL = 1e-4  # at which the exact control is tested, so that it is not a source of alarms itself


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
    target, plan, seed = designed
    methods = plan.methods
    if target.tilted is None:  # randomised response has no noise to tilt
        methods = tuple(m for m in methods if m != "importance-sampling") or ("accuracy",)
    design = replace(plan, methods=methods, tilted=plan.tilted if target.tilted else 0)
    pure = replace(target, noise=None) if claim.delta == 0 else target
    experiment = carry_out(pure, claim, design, seed=seed)
    evidence, findings = examined(experiment, claim)
    return decide(claim, evidence, findings, notice=plan.notice)[0]
