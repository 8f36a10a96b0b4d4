"""Does anything that the claim calls public change with the differing record?

Step sizes fitted to the data, column maxima, a number of rounds that depends on the residual: what
is public is seen, and what is seen and differs with probability one has no finite ε.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcalc.auditing.evidence import Finding, Severity
from dpcalc.auditing.targets.target import Target, World


def check(target: Target) -> Finding | None:
    """Public parameters that differ between the worlds; None if the target declares none."""
    if target.public is None:
        return None
    first, second = target.public(World.IN), target.public(World.OUT)
    names = sorted(set(first) | set(second))
    differing = [
        name
        for name in names
        if name not in first or name not in second or not _same(first[name], second[name])
    ]
    if differing:
        return Finding(
            check="public-parameters",
            severity=Severity.REFUTES,
            text=f"called public, but a function of the data: {', '.join(differing)}; one look at "
            "it tells the two inputs apart",
            numbers={"differing": differing},
        )
    return Finding(
        check="public-parameters",
        severity=Severity.HOLDS,
        text=f"{len(names)} public parameters are the same on both inputs",
        numbers={"parameters": names},
    )


def _same(first: Any, second: Any) -> bool:
    try:
        return bool(np.array_equal(np.asarray(first), np.asarray(second)))
    except (TypeError, ValueError):
        return bool(first == second)
