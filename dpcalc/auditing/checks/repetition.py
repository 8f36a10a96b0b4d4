"""Does the same generator give the same runs? Otherwise no seed repeats the audit."""

from __future__ import annotations

import numpy as np

from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.sampling.looks import looked
from dpcalc.auditing.targets.target import Target, World

NAME = "repetition"
_RUNS = 16


def check(target: Target, *, seed: int) -> Finding | None:
    """What to know about a target with randomness of its own; None if it has none."""
    first, second = (looked(target, World.IN, seed, 6, _RUNS) for _ in range(2))
    if np.array_equal(first, second):
        return None
    return Finding(
        check=NAME,
        severity=Severity.HOLDS,
        text="the same generator gave other numbers the second time: the target has randomness of "
        "its own, so a seed does not repeat this audit, and that its runs are independent cannot be "
        "seen from here",
    )
