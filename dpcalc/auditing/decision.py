"""Which verdict follows from the evidence and the findings, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpcalc.auditing.advice import Unused, advice
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.evidence import AdversaryAccess, Evidence, Finding, Severity
from dpcalc.auditing.verdict import DEFAULT_DETECTABLE_RATIO, Outcome, strength
from dpcalc.numerals import spelt
from dpcalc.wording import at_least, at_most, confidence, runs_text

_NOTHING = Unused()


def decide(
    claim: Claim,
    evidence: Sequence[Evidence],
    findings: Sequence[Finding],
    *,
    detectable_ratio: float = DEFAULT_DETECTABLE_RATIO,
    unused: Unused = _NOTHING,
) -> tuple[Outcome, str]:
    """The outcome and its reason.

    Certain counterexamples come first; then what makes every bound void, such as runs that are not
    independent; then statistical counterexamples, other broken preconditions, and the question whether
    a violation would have been noticed.
    """
    for finding in findings:
        if finding.severity is Severity.REFUTES:
            return Outcome.REFUTED, finding.text
    for finding in findings:
        if finding.severity is Severity.PREMISE and _voids(finding):
            return Outcome.PRECONDITION_FAILED, finding.text
    refuting = [e for e in evidence if e.refutes(claim)]
    if refuting:
        best = max(refuting, key=strength)
        return Outcome.REFUTED, _refutation(claim, best)
    for finding in findings:
        if finding.severity is Severity.PREMISE:
            return Outcome.PRECONDITION_FAILED, finding.text
    for finding in findings:
        if finding.check == "pointwise" and _reaches(claim, finding, detectable_ratio):
            share = math.floor(100 * float(finding.numbers["largest"]) / claim.epsilon)
            return Outcome.NOT_REFUTED, (
                f"no lower bound exceeds the claim; {finding.text}: a search that attains {share} per "
                f"cent of it, and {100 / detectable_ratio:.3g} were asked for, would have found more "
                "if there was much more"
            )
    return _power(claim, [e for e in evidence if e.gates], detectable_ratio, unused)


def _voids(finding: Finding) -> bool:
    """Whether counted runs prove nothing: they are not independent, or the estimators fail."""
    if finding.check in ("disclosure", "control"):
        return True
    dependent = {"neighbouring runs", "the two worlds"} & set(finding.numbers.get("failed", ()))
    return finding.check == "noise" and bool(dependent)


def _reaches(claim: Claim, finding: Finding, detectable_ratio: float) -> bool:
    """Whether an outcome was found so near to the claim that a larger loss would have shown.

    A search has no error rates; how tight it is shows in the share of the claim that it attains. One
    that attains claim/detectable_ratio finds a violation by that factor if it does as well there: the
    same reading of power, and the same threshold, as for a statistical bound.
    """
    largest = float(finding.numbers.get("largest", 0.0))
    return finding.severity is Severity.HOLDS and 0 < claim.epsilon <= detectable_ratio * largest


def _refutation(claim: Claim, e: Evidence) -> str:
    what = f"{e.quantity.symbol} ≥ {at_least(e.lower)} at confidence {confidence(e.alpha)}"
    claimed = f"claimed {e.quantity.symbol} = {at_most(claim.bound(e.quantity))}"
    if e.quantity is Quantity.MU:
        return f"{what}, {claimed}: no such Gaussian curve holds ({e.method}, {_made(e)})"
    at = f" at δ = {spelt(e.delta)}" if e.quantity is Quantity.EPSILON else ""
    return f"{what}{at}, {claimed} ({e.method}, {_made(e)})"


def _power(
    claim: Claim, gating: Sequence[Evidence], detectable_ratio: float, unused: Unused
) -> tuple[Outcome, str]:
    """Whether some method would have noticed ``detectable_ratio`` times the claimed value."""
    known = [e for e in gating if e.detectable is not None]
    if not known:
        return Outcome.UNDERPOWERED, "no method says how large a violation it would have noticed"
    best = min(known, key=lambda e: (e.detectable or 0.0) / max(claim.bound(e.quantity), 1e-300))
    claimed = claim.bound(best.quantity)
    seen = best.detectable if best.detectable is not None else math.inf
    text = (
        f"with {_made(best)}, {best.method} would have noticed {_value(best.quantity, seen)} "
        f"({best.reference}); claimed {at_most(claimed)}"
    )
    if math.isfinite(seen) and seen <= detectable_ratio * claimed:
        return Outcome.NOT_REFUTED, f"no lower bound exceeds the claim; {text}"
    times = "twice" if detectable_ratio == 2 else f"{detectable_ratio:g} times"
    text += f", and {times} the claim was to be noticed"
    help_ = advice(claim, best, detectable_ratio, unused)
    return Outcome.UNDERPOWERED, f"{text}; {help_}" if help_ else text


def _made(e: Evidence) -> str:
    """What was counted: runs, or guesses about the canaries of one."""
    guessed = e.counted.get("guessed") if e.access is AdversaryAccess.ONE_RUN else None
    if guessed is None:
        return runs_text(e.runs)
    return f"{guessed:,} {'guess' if guessed == 1 else 'guesses'} about canaries of one run"


def _value(quantity: Quantity, seen: float) -> str:
    symbol = quantity.symbol
    return f"{symbol} = {seen:.4g}" if math.isfinite(seen) else f"no {symbol}, however large"
