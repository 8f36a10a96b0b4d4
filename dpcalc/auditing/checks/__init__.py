"""Checks that come before statistics: one counterexample from one run, where there is one."""

from __future__ import annotations

from dpcalc.auditing.checks import (
    accounting,
    disclosure,
    neighbours,
    pointwise,
    public_parameters,
    repetition,
    sensitivity,
)
from dpcalc.auditing.claim import Claim
from dpcalc.auditing.evidence import Finding
from dpcalc.auditing.targets.target import Target

__all__ = ["deterministic_findings"]


def deterministic_findings(
    target: Target,
    claim: Claim,
    *,
    seed: int,
    error: float = disclosure.MOST_ERROR,
    seconds: float | None = None,
) -> list[Finding]:
    """The answers of all checks that apply to what is known about the target.

    Args:
        target: what is attacked.
        claim: what is tested.
        seed: of the experiment.
        error: probability with which all of them together may refute a true claim.
        seconds: for the whole audit.
    """
    found = [
        neighbours.check(target),
        sensitivity.check(target, seed=seed),
        public_parameters.check(target),
        disclosure.check(target, claim, seed=seed, error=error, seconds=seconds),
        repetition.check(target, seed=seed),
        pointwise.check(target, claim, seed=seed),
        accounting.check(target.accesses, claim),
    ]
    return [finding for finding in found if finding is not None]
