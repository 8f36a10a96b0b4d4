"""A release of means, with mistakes to plant in it."""

from __future__ import annotations

from dpcalc.auditing import (
    Severity,
    Verdict,
)
from dpcalc.vocabulary import Adjacency

REPLACE = Adjacency.REPLACE_ONE


def raised(verdict: Verdict) -> set[str]:
    return {f.check for f in verdict.findings if f.severity in (Severity.REFUTES, Severity.PREMISE)}
