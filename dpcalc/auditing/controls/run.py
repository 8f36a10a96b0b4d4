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
from dpcalc.auditing.decision import decide
from dpcalc.auditing.design import AuditDesign
from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.experiment import carry_out
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.lower_bounds import evaluate
from dpcalc.auditing.targets.target import Target
from dpcalc.auditing.verdict import Outcome
from dpcalc.execution import in_order
from dpcalc.guarantees import GDP
from dpcalc.numerics.arithmetic import own_arithmetic

EXPOSED = 40.0
"""μ of the control without privacy."""

_LEVEL = 1e-4  # at which the exact control is tested, so that it is not a source of alarms itself


def run_controls(
    claim: Claim, design: AuditDesign, *, seed: int, executor: Executor | None = None
) -> tuple[dict[str, str], list[Finding]]:
    """The outcomes of the three controls, and a finding for each that contradicts its answer.

    Args:
        claim: what is tested.
        design: the design; the controls use the same methods, runs and shares.
        seed: of the audit; the controls' runs are drawn apart.
        executor: who carries them out; this process if left out.
    """
    if not 0 < claim.epsilon < math.inf:
        return {}, []
    cases: dict[str, tuple[Target, AuditDesign, Callable[[Outcome], bool]]] = {
        "leaks exactly what is claimed": (
            _leaking(claim, 1.0),
            replace(design, alpha=min(design.alpha, _LEVEL)),
            lambda outcome: outcome is not Outcome.REFUTED,
        ),
        "no privacy": (
            gaussian(max(EXPOSED, 4 * math.sqrt(claim.epsilon))),
            design,
            lambda outcome: outcome is not Outcome.NOT_REFUTED,
        ),
        "a third of the noise": (_leaking(claim, 3.0), design, lambda _: True),
    }
    outcomes, findings = {}, []
    designs = [
        (_like(target, design), own, seed + number + 1)
        for number, (target, own, _) in enumerate(cases.values())
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


def _like(target: Target, design: AuditDesign) -> Target:
    """The control with what the design's methods use: a score alone, if they trust no densities."""
    if {"importance-sampling", "hockey-stick", "renyi-density", "likelihood-ratio"} & set(
        design.methods
    ):
        return target
    return replace(target, score=target.log_ratio, log_ratio=None, tilted=None, noise=None)


@own_arithmetic
def _outcome(claim: Claim, designed: tuple[Target, AuditDesign, int]) -> Outcome:
    target, design, seed = designed
    methods = design.methods
    if target.tilted is None:  # randomised response has no noise to tilt
        methods = tuple(m for m in methods if m != "importance-sampling") or ("accuracy",)
    fitted = replace(design, methods=methods, tilted=design.tilted if target.tilted else 0)
    pure = replace(target, noise=None) if claim.delta == 0 else target
    experiment = carry_out(pure, claim, fitted, seed=seed)
    evidence, findings = evaluate(experiment, claim)
    return decide(claim, evidence, findings, detectable_ratio=design.detectable_ratio)[0]
