"""Results as dictionaries, from which JSON and tables are made."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcalc.claims.relations import Relation, relation_of
from dpcalc.errors import AssumptionViolated
from dpcalc.report.enclosures import enclosure
from dpcalc.report.setting import setting
from dpcalc.theorems.base import Assumption, Bound, Result, Scope, Theorem

if TYPE_CHECKING:
    from dpcalc.guarantees.base import Guarantee


def budget(theorem: Theorem, delta: float, relation: Relation | None = None) -> dict[str, Any]:
    """What `judged` says, with the accuracy of the best attack."""
    proved = theorem.certified()
    return with_attack_accuracy(judged(theorem, proved, delta, relation), proved.guarantee, delta)


def judged(
    theorem: Theorem, proved: Bound, delta: float, relation: Relation | None = None
) -> dict[str, Any]:
    """Claimed next to certified at δ, with the verdict, findings and assumptions.

    Args:
        theorem: an instance.
        proved: what it certifies.
        delta: in [0, 1).
        relation: its neighbouring relation with its basis; None if the caller has stated it.
    """
    certified = bound(proved, delta)
    claimed = _claimed(theorem, delta)
    return {
        "theorem": theorem.key,
        "inputs": theorem.inputs(),
        "claimed": claimed,
        "certified": certified,
        **instance_verdict(theorem, claimed["epsilon"], float(certified["epsilon"]), delta),
        **setting(theorem, relation or relation_of(theorem, stated=True)),
        "findings": findings(theorem),
        "assumptions": assumptions(theorem),
    }


def with_attack_accuracy(
    found: dict[str, Any], guarantee: Guarantee, delta: float
) -> dict[str, Any]:
    """The same with the accuracy of the best attack, which may cost more than all the rest."""
    certified = found["certified"]
    accuracy = attack_accuracy(guarantee, float(certified["epsilon"]), delta)
    return {**found, "certified": {**certified, "attack_accuracy": accuracy}}


def instance_verdict(
    theorem: Theorem, claimed: float | None, certified: float, delta: float
) -> dict[str, Any]:
    """The verdict on a claimed ε at δ, the reason for it, and the promises it rests on.

    ``verdict`` is None where nothing is claimed. ``provided`` lists the promises that nobody has
    made: the verdict stands if they are kept.
    """
    from dpcalc.claims.verdict import standing_of

    if claimed is None:
        return {"verdict": None, "reason": "the paper claims nothing here", "provided": []}
    found = standing_of(theorem, claimed, certified, delta)
    missing = [] if found.verdict == "REFUTED" else theorem.unattested(Scope.CERTIFIED)
    return {
        "verdict": found.verdict.value,
        "reason": found.reason,
        "provided": [a.key for a in missing],
    }


def findings(result: Result) -> list[dict[str, str]]:
    """The findings that concern an instance, with what each bears on."""
    found = result.applicable_findings()
    return [{"bearing": f.bearing.value, "text": f.text} for f in found]


def _claimed(theorem: Theorem, delta: float) -> dict[str, Any]:
    try:
        return bound(theorem.claimed(), delta)
    except AssumptionViolated as error:
        reason = "; ".join(theorem.violations_of_claim()) or str(error).removeprefix(
            f"{theorem.key}: "
        )
        return {"epsilon": None, "delta": delta, "reason": reason}


def bound(found: Bound, delta: float) -> dict[str, Any]:
    """One bound at δ: ε, δ, how it was found, the theorem's own numbers."""
    record: dict[str, Any] = {
        "epsilon": found.guarantee.epsilon(delta),
        "delta": delta,
        "method": found.method,
        **found.numbers,
    }
    worst = getattr(found.guarantee, "worst", None)
    if worst is not None and delta > 0:
        record["worst_node"] = worst(delta)
    enclosed = enclosure(found.guarantee, delta)
    if hasattr(found.guarantee, "bracket"):
        enclosed["method"] = f"{found.method}; {enclosed['method']}"
    else:
        enclosed.pop("method", None)
    return record | enclosed


def attack_accuracy(guarantee: Guarantee, epsilon: float, delta: float) -> float:
    """The best accuracy of an attack at even odds; in [1/2, 1].

    The guarantee answers by its whole curve. Where its own δ(0) is loose, one point of the curve
    may say more; both hold.

    Args:
        guarantee: the whole of it.
        epsilon: its ε at δ; may be infinite.
        delta: in [0, 1).
    """
    from dpcalc.guarantees import ApproxDP

    whole = guarantee.attack_accuracy()
    if math.isinf(epsilon):
        return whole
    return min(whole, ApproxDP(epsilon, delta).attack_accuracy())


def assumptions(result: Result) -> list[dict[str, Any]]:
    """Every assumption with what is known of it."""
    return [
        {
            "key": a.key,
            "text": a.text,
            "scope": a.scope.value,
            "state": _state(a, result),
        }
        for a in result.assumptions
    ]


def _state(assumption: Assumption, result: Result) -> str:
    if assumption.violated is not None:
        reason = assumption.violated(result)
        return "holds" if reason is None else f"violated: {reason}"
    return "attested" if assumption.key in frozenset(result.attest) else "not attested"


def violated(theorem: Theorem) -> list[str]:
    """Reasons why the certified bound does not apply."""
    return theorem.violations(Scope.CERTIFIED)


def description(result: type[Result]) -> dict[str, Any]:
    """What the ledger knows of a result."""
    from dpcalc.theorems.catalogue import family
    from dpcalc.theorems.parameters import default_of, parameters, required

    record: dict[str, Any] = {
        "key": result.key,
        "family": family(result.key),
        "title": result.title,
        "reference": result.reference,
        "statement": result.statement,
        "findings": [{"bearing": f.bearing.value, "text": f.text} for f in result.findings],
        "assumptions": [
            {
                "key": a.key,
                "text": a.text,
                "scope": a.scope.value,
                "kind": "promised" if a.promised else "checked",
            }
            for a in result.assumptions
        ],
        "parameters": [
            {
                "name": name,
                "option": "--" + name.replace("_", "-"),
                "kind": p.kind,
                "help": p.help,
                "required": name in required(result),
                **({"choices": list(p.choices)} if p.choices else {}),
                **({"default": default} if (default := default_of(result, name)) else {}),
            }
            for name, p in parameters(result).items()
        ],
        "example": dict(result.example),
        "formulas": [
            {
                "name": f.name,
                "expression": str(f.expression),
                "readable": f.shown or str(f.expression),
            }
            for f in result.from_parameters(result.example).symbolic()
        ],
    }
    if issubclass(result, Theorem):
        releases = [release.value for release in result.releases]
        record |= {"releases": releases, "status": result.status.value}
    return record


def to_json(record: Any) -> str:
    """JSON text; infinite values are the strings "inf" and "-inf"."""
    return json.dumps(_finite(record), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        if math.isnan(value):
            raise ArithmeticError("a result is not a number")
        return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_finite(v) for v in value]
    return value
