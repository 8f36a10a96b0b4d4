"""A claim about a list of releases: "our system is (1, 1e-5)-DP", with a table of its rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpcalc import checks
from dpcalc.claims.composition import Plan, Release, plan_of
from dpcalc.claims.reading import ours_of
from dpcalc.claims.relations import Relation
from dpcalc.claims.rule import verdict_on
from dpcalc.claims.tables import as_real, fields
from dpcalc.claims.verdict import Judgement, surely_attained
from dpcalc.errors import DpcalcError, InvalidInput, missing_delta, unknown_name
from dpcalc.guarantees import Guarantee
from dpcalc.guarantees.attainment import is_attained
from dpcalc.theorems.base import Scope
from dpcalc.vocabulary import Verdict
from dpcalc.wording import at_least, at_most

AS_LISTED = (
    "The releases are as listed: noise as large as said, drawn afresh each time; every record's "
    "contribution within its norm bound; records sampled as said; nothing else released."
)
"""What every verdict on a list of mechanisms rests on."""

OF_A_PLAN = ("release", "rounds", "notes", "adjacency")
FIELDS = ("name", "epsilon", "delta", "attest", "ours", *OF_A_PLAN)


@dataclass(frozen=True, slots=True)
class SystemClaim:
    """Somebody's claim about releases that they list.

    Attributes:
        name: what to call it.
        plan: the releases.
        epsilon: the claimed ε.
        delta: in [0, 1).
        attest: promises made for theorems among the releases, by key.
        ours: reasons for values that the source of the claim does not give, by field.
    """

    name: str
    plan: Plan
    epsilon: float
    delta: float
    attest: tuple[str, ...] = ()
    ours: Mapping[str, str] = field(default_factory=dict)

    key = None
    release = "all listed releases"

    @property
    def relation(self) -> Relation:
        """The neighbouring relation that all releases share."""
        return self.plan.relation

    @property
    def guarantee(self) -> Guarantee:
        """What is certified of all releases together."""
        return self.plan.total()

    def inputs(self) -> dict[str, Any]:
        """How many releases there are of every name."""
        return {"releases": sum(release.count for release in self.plan.releases)}

    def promised(self) -> dict[str, str]:
        """What the file vouches for: the list itself, and the promises of theorems in it."""
        made = _promises(self.plan.releases)
        return {"as-listed": AS_LISTED} | {key: made[key] for key in self.attest}

    def judged(self) -> Judgement:
        """The verdict: certified and attained ε of all releases together, next to the claim."""
        total = self.guarantee
        certified = total.epsilon(self.delta)
        attained = self._attained(total)
        verdict = verdict_on(self.epsilon, certified, attained)
        reason = self._reason(verdict, certified, attained)
        missing = sorted(_promises(self.plan.releases).keys() - {*self.attest})
        if missing and verdict is not Verdict.REFUTED:
            verdict, reason = Verdict.UNSUPPORTED, f"not attested: {', '.join(missing)}"
        return Judgement(self, verdict, reason, self.epsilon, certified, attained)

    def _attained(self, total: Guarantee) -> float | None:
        """A lower bound of what the releases leak about the worst neighbours; None if unknown.

        A bare guarantee, or one of a theorem, says what is leaked at most, so nothing follows.
        """
        if not all(release.mechanism for release in self.plan.releases if release.count):
            return None
        return surely_attained(total, self.delta) if is_attained(total) else None

    def _reason(self, verdict: Verdict, certified: float, attained: float | None) -> str:
        if verdict is Verdict.REFUTED and attained is not None:
            least = "no finite ε" if math.isinf(attained) else f"at least ε = {at_least(attained)}"
            return f"these releases leak {least} about the worst neighbours"
        if verdict is Verdict.UNSUPPORTED:
            proved = "nothing" if math.isinf(certified) else f"only ε = {at_most(certified)}"
            if attained is None:
                return (
                    f"{proved} is certified; what bare guarantees or theorems in the list leak at "
                    "least is not known"
                )
            least = at_least(attained)
            known = "not known to exceed the claim"
            return f"{proved} is certified; the exact ε is at least {least}, {known}"
        if verdict is Verdict.HOLDS:
            return "the claim is certified"
        if certified == 0:
            return "the certified ε is 0"
        return f"{self.epsilon / certified:.4g} times the certified ε"


def is_system(table: object) -> bool:
    """Whether a table of a claims file is about a list of releases."""
    return (
        isinstance(table, Mapping)
        and "theorem" not in table
        and bool({"release", "rounds"} & table.keys())
    )


def system_claim_from(where: str, table: Mapping[str, Any], path: Path) -> SystemClaim:
    """A claim from a table of a claims file; errors say where.

    Fields: name, epsilon, delta, adjacency, ``[[claim.release]]`` tables or ``rounds`` (a table of
    releases next to the file) with ``notes``, attest ("all" or a list; promises of theorems among
    the releases), ours.

    Args:
        where: what to call it in errors.
        table: its fields.
        path: of the claims file.
    """
    fields(where, table, FIELDS, ("epsilon",))
    try:
        epsilon = float(checks.non_negative("epsilon", as_real("epsilon", table["epsilon"])))
        delta = checks.delta(as_real("delta", table.get("delta", 0.0)))
        plan = plan_of({k: v for k, v in table.items() if k in OF_A_PLAN}, path)
        if not any(release.count for release in plan.releases):
            raise InvalidInput(
                "expected something that is released; got a count of 0 in every release"
            )
        if "delta" not in table and plan.total().needs_delta():
            raise missing_delta("this list of releases", option="delta = 1e-6")
        attest = _attested(table.get("attest", []), _promises(plan.releases))
        ours = ours_of(table.get("ours", {}), {*table, *(r.name for r in plan.releases)})
    except DpcalcError as error:
        raise InvalidInput(f"{where}: {error}") from error
    return SystemClaim(str(table.get("name", where)), plan, epsilon, delta, attest, ours)


def _promises(releases: Iterable[Release]) -> dict[str, str]:
    """Promises that theorems among the releases need, with their texts."""
    return {
        promise.key: promise.text
        for theorem in (release.theorem for release in releases)
        if theorem is not None
        for promise in theorem.replace(attest=()).unattested(Scope.CERTIFIED)
    }


def _attested(given: Any, known: Mapping[str, str]) -> tuple[str, ...]:
    if given == "all":
        return tuple(known)
    if not isinstance(given, list) or not all(isinstance(key, str) for key in given):
        raise InvalidInput(f'attest needs "all" or a list of keys; got {given!r}')
    for key in given:
        if key not in known:
            raise (
                unknown_name("promise", key, known)
                if known
                else InvalidInput(
                    f"no theorem among these releases needs a promise; got attest = {given!r}; leave "
                    "it out"
                )
            )
    return tuple(given)
