"""Pure privacy bounds the log-likelihood ratio at every outcome: is one outcome beyond it?

Where the densities are positive and continuous, one point with |ln(p/q)| > ε has a neighbourhood
of positive probability on which the ratio exceeds e^ε, so no run needs to be made. Random runs
never get there in many dimensions: audits of pure claims live from this check.
"""

from __future__ import annotations

import numpy as np

from dpcalc.auditing.claim import Claim
from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.sampling.runner import Stage, generator
from dpcalc.auditing.targets.target import Target
from dpcalc.wording import at_most

_ROUNDING = 1e-9


def check(target: Target, claim: Claim, *, seed: int) -> Finding | None:
    """The largest ratio found against the claimed ε; None if the claim is not pure."""
    if claim.delta > 0 or target.largest_log_ratio is None:
        return None
    found = np.abs(np.asarray(target.largest_log_ratio(generator(seed, Stage.CHECKS, 5)), float))
    if found.size == 0 or np.isnan(found).any():
        return Finding(
            check="pointwise",
            severity=Severity.UNDECIDED,
            text="no outcome with a density under both inputs was found",
        )
    largest = float(found.max())
    broken = largest > claim.epsilon * (1 + _ROUNDING)
    claimed = at_most(claim.epsilon, 6)
    text = (
        f"an outcome has |ln(p/q)| = {largest:.6g}, above the claimed ε = {claimed} "
        "(by the declared densities)"
        if broken
        else f"the largest |ln(p/q)| found is {largest:.6g}, claimed {claimed}"
    )
    return Finding(
        check="pointwise",
        severity=Severity.REFUTES if broken else Severity.HOLDS,
        text=text,
        numbers={"largest": largest, "outcomes": int(found.size), "claimed": claim.epsilon},
    )
