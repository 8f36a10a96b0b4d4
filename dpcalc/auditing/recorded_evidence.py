"""Evidence from counts and guesses that were recorded elsewhere, and the verdict from it."""

from __future__ import annotations

from typing import Any

from dpcalc.auditing.advice import Unused
from dpcalc.auditing.claim import Claim
from dpcalc.auditing.decision import decide
from dpcalc.auditing.estimators import (
    bayesian,
    clopper_pearson,
    one_run,
    one_run_curve,
    one_run_exact,
    renyi,
)
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.estimators.reference_mechanisms import Outcomes
from dpcalc.auditing.evidence import Evidence, Finding
from dpcalc.auditing.sampling.observations import Counts
from dpcalc.auditing.verdict import Verdict, strength
from dpcalc.auditing.versions import versions

_NOTHING = Unused()


def from_guesses(claim: Claim, guesses: Guesses, alpha: float) -> list[Evidence]:
    """The bound on ε, and on μ for a curve, the exact ones where they take seconds.

    Either errs only if the count of right guesses is in an upper tail of probability at most α. One
    such tail holds the other: both may spend α.
    """
    exact = claim.delta > 0 and guesses.guessed <= one_run_exact.MOST
    plain = one_run_exact if exact else one_run
    found = [plain.evidence(guesses, claim, alpha=alpha)]
    if claim.is_curve:
        few = guesses.guessed <= one_run_exact.MOST_FOR_CURVES
        curve = one_run_exact.curve_evidence if few else one_run_curve.evidence
        found.append(curve(guesses, claim, alpha=alpha))
    return found


def from_counts(
    claim: Claim,
    counts: Counts,
    alpha: float,
    *,
    outcomes: Outcomes = Outcomes.DISCRETE,
    share: float = 1.0,
) -> list[Evidence]:
    """The rectangle gives ε, μ and ρ at once: one event of probability α, no split."""
    kind: dict[str, Any] = {"outcomes": outcomes, "share": share}
    found = [clopper_pearson.evidence(counts, claim, alpha=alpha, **kind)]
    if claim.is_curve:
        found.append(clopper_pearson.curve_evidence(counts, claim, alpha=alpha))
    if claim.is_renyi:
        found.append(renyi.evidence(counts, claim, alpha=alpha, **kind))
    return [*found, bayesian.evidence(counts, claim, alpha=alpha)]


def recorded_verdict(
    name: str,
    claim: Claim,
    evidence: list[Evidence],
    alpha: float,
    runs: int,
    detectable_ratio: float,
    findings: tuple[Finding, ...] = (),
    seed: int | None = None,
    unused: Unused = _NOTHING,
) -> Verdict:
    """What the evidence says of the claim; the strongest first."""
    outcome, reason = decide(
        claim, evidence, findings, detectable_ratio=detectable_ratio, unused=unused
    )
    return Verdict(
        target=name,
        claim=claim,
        outcome=outcome,
        reason=reason,
        evidence=tuple(sorted(evidence, key=strength, reverse=True)),
        findings=findings,
        alpha=alpha,
        runs=runs,
        seed=seed,
        detectable_ratio=detectable_ratio,
        versions=versions(),
    )
