"""Audits of a sweep: what an attack shows in every setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpcalc import checks
from dpcalc.auditing.suite.run import Terms, carried_out
from dpcalc.auditing.verdict import ALPHA
from dpcalc.audits.suite.catalogue import audit_of
from dpcalc.claims.tables import fields
from dpcalc.errors import DpcalcError, InvalidInput
from dpcalc.numerals import size
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.sweep.grid import Sweep

_FIELDS = ("case", "runs", "seed", "alpha", "detectable_ratio", "memory")


@own_arithmetic
def audited(sweep: Sweep, _: str | None, points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outcome, the attack's lower bound and what is proved, of cases of a built-in audit.

    Args:
        sweep: with the fields case, runs, seed, alpha, detectable_ratio and memory, each one value or
            an axis.
        points: the settings. Each has an error probability of its own: the chance that some true
            claim among n settings is refuted is at most n times alpha.
    """
    return [_row(sweep, dict(sweep.fixed) | point) for point in points]


def _row(sweep: Sweep, given: dict[str, Any]) -> dict[str, Any]:
    found = fields(f"audit {sweep.name}", given, _FIELDS)
    if "seed" not in found:
        raise InvalidInput("a sweep of audits needs a seed; got none; try seed = 1")
    audit = audit_of(sweep.name)
    audit.need_libraries()
    try:
        terms = Terms(
            share=float(found.get("alpha", ALPHA)),
            seed=checks.count("seed", found["seed"], minimum=0),
            runs=None if "runs" not in found else checks.count("runs", found["runs"], minimum=10),
            detectable_ratio=float(found.get("detectable_ratio", 2.0)),
            memory=size("memory", found["memory"]) if "memory" in found else None,
            controls=False,
        )
        case = audit.case(found["case"]) if "case" in found else audit.certified_case
        result = carried_out(terms, case)
    except DpcalcError as error:
        return {"refused": str(error)}
    verdict = result.verdict
    return {
        "outcome": verdict.outcome.value,
        "claimed": verdict.claim.epsilon,
        "lower": result.epsilon_lower,
        "certified": result.certified,
    }
