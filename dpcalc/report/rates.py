"""Convergence and utility results as records for machines and tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcalc.claims.rule import RATE, standing
from dpcalc.errors import AssumptionViolated
from dpcalc.report.records import assumptions, findings
from dpcalc.theorems.base import Scope
from dpcalc.vocabulary import Verdict

if TYPE_CHECKING:
    from rich.table import Table

    from dpcalc.theorems.convergence._base import ConvergenceResult, Rate

_LABELS = {
    "delta": "δ",
    "split": "free constant μ",
    "coupling": "free constant L",
    "slack": "constant a",
    "constant": "constant w",
    "delta_printed_conditions": "δ of (21)-(22) as printed",
    "total": "all rounds together",
    "contraction": "contraction per round in the end",
    "margin": "margin of (i)-(ii)",
    "beta": "β of the mixing matrix",
    "sigma": "σ",
    "regularization_strength": "regularisation λ",
}


_LOWER_BOUNDS = {"delta", "delta_printed_conditions", "margin"}


def comparison(result: ConvergenceResult) -> dict[str, Any]:
    """Claimed next to certified and attained, with the verdict, findings and assumptions."""
    attained = result.attained()
    claimed, certified = _claimed(result), rate(result.certified())
    reached = None if attained is None else attained.value
    return {
        "theorem": result.key,
        "inputs": result.inputs(),
        "quantity": result.quantity,
        "claimed": claimed,
        "certified": certified,
        "attained": None if attained is None else rate(attained),
        **_verdict(result, claimed["value"], certified["value"], reached),
        "findings": findings(result),
        "assumptions": assumptions(result),
    }


def _verdict(
    result: ConvergenceResult, claimed: float | None, certified: float, attained: float | None
) -> dict[str, Any]:
    if claimed is None:
        return {"verdict": None, "reason": "the paper claims nothing here", "provided": []}
    found = standing(result, claimed, certified, lambda: attained, RATE)
    missing = result.unattested(Scope.CERTIFIED) if found.verdict is not Verdict.REFUTED else []
    return {
        "verdict": found.verdict.value,
        "reason": found.reason,
        "provided": [a.key for a in missing],
    }


def rate(found: Rate) -> dict[str, Any]:
    """One value with the result's own numbers."""
    return {"value": found.value, "method": found.method, **found.numbers}


def _claimed(result: ConvergenceResult) -> dict[str, Any]:
    try:
        return rate(result.claimed())
    except AssumptionViolated as error:
        return {
            "value": None,
            "reason": "; ".join(result.violations_of_claim())
            or str(error).removeprefix(f"{result.key}: "),
        }


def table(record: Mapping[str, Any]) -> Table:
    """One row per number, one column for what is claimed, certified and attained."""
    from dpcalc.report.text import plain_table

    sides = [name for name in ("claimed", "certified", "attained") if record[name] is not None]
    skipped = ("method", "reason")
    names = dict.fromkeys(n for side in sides for n in record[side] if n not in skipped)
    rows = [
        (
            "bound" if name == "value" else _LABELS.get(name, name.replace("_", " ")),
            *(_shown(name, side, record[side].get(name)) for side in sides),
        )
        for name in names
    ]
    return plain_table(("", *sides), rows)


def verdict_line(record: Mapping[str, Any]) -> str:
    """How claimed, certified and attained compare, in a sentence."""
    claimed, certified = record["claimed"], record["certified"]
    if claimed["value"] is None:
        return f"The paper claims nothing here: {claimed['reason']}"
    a, b = float(claimed["value"]), float(certified["value"])
    if record["verdict"] == "REFUTED":
        return "The claim is refuted: a concrete problem reaches more."
    if record["verdict"] == "UNSUPPORTED":
        from dpcalc.report.text import capitalised

        return f"{capitalised(record['reason'])}."
    if a == b:
        return "The claim is certified."
    return f"The certified bound is {b / a:.4g} times the claim." if a else "The claim is zero."


def _shown(name: str, side: str, value: Any) -> str:
    """A number to a few digits: bounds outward, what is attained or larger is better down."""
    from dpcalc.report.text import upper

    if isinstance(value, float) and (side == "attained") != (name in _LOWER_BOUNDS):
        text = upper(-value)
        return text.removeprefix("-") if value >= 0 else f"-{text}"
    return upper(value)
