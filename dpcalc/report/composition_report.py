"""A report for a reviewer about a list of releases and its budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.claims.system import AS_LISTED
from dpcalc.errors import shortened
from dpcalc.report.document import Report, Section, Table, Terms
from dpcalc.report.enclosures import enclosure_line
from dpcalc.report.reviewing import neighbours, repeat, shown_values
from dpcalc.report.setting import risk_line
from dpcalc.report.text import upper
from dpcalc.wording import spelt_count

if TYPE_CHECKING:
    from dpcalc.claims.composition import Plan, Release

_MOST_ROWS = 200


def composition_report(
    plan: Plan, record: Mapping[str, Any], *, command: str, file: Path
) -> Report:
    """The budget of a list of releases, what it rests on, and how to repeat it.

    Args:
        plan: the releases.
        record: what `compose` answers.
        command: what repeats it.
        file: the composition file.
    """
    found = record["certified"]
    epsilon, delta = upper(found["epsilon"]), upper(found["delta"])
    answer = [
        f"All releases together are ({epsilon}, {delta})-DP.",
        neighbours(plan.relation),
    ]
    if "method" in found:
        answer.append(f"Found by: {enclosure_line(dict(found))}.")
    if risk := risk_line(found["attack_accuracy"], plan.relation.name):
        answer.append(risk)
    sections = (
        Section("Answer", tuple(answer), _verdict(record)),
        Section("Releases", (releases_table(plan, found["delta"]),)),
        Section("What it rests on", (AS_LISTED,)),
        Section("What the words mean", (WORDS,)),
        repeat(command, *dict.fromkeys((file, *plan.tables))),
    )
    return Report(f"Privacy budget: {file.name}", _summary(plan, record), sections)


WORDS = Terms(
    (
        ("ε", "How much more anybody can find out about one record; smaller is more private."),
        ("δ", "The probability with which ε may fail."),
        ("certified", "Proved, an upper bound, rounded up."),
        ("neighbours", "Two data sets that nobody shall be able to tell apart."),
    )
)


def releases_table(plan: Plan, delta: float) -> Table:
    """Every release with its count and what one of it costs; equal rows once, the first of many."""
    counted = plan.counted()
    rows = tuple(
        (release.name, spelt_count(count), upper(release.guarantee.epsilon(delta)), _said(release))
        for release, count in counted[:_MOST_ROWS]
    )
    more = f"; {len(counted) - _MOST_ROWS} more" if len(counted) > _MOST_ROWS else ""
    heads = ("release", "count", f"ε of one at δ = {upper(delta)}", "parameters")
    return Table(f"Releases{more}", heads, rows, numeric=(1, 2))


def _said(release: Release) -> str:
    """What the file says of a release, but for what its name says."""
    shown = [
        f"{name} = {value}"
        for name, value in shown_values(release.parameters)
        if value != release.name and f"{name} {value}" != release.name
    ]
    return shortened(", ".join(shown) or "–", 400)


def _verdict(record: Mapping[str, Any]) -> str:
    if "within_budget" not in record:
        return ""
    return "WITHIN BUDGET" if record["within_budget"] else "BUDGET EXCEEDED"


def _summary(plan: Plan, record: Mapping[str, Any]) -> str:
    found = record["certified"]
    count = f"{record['releases']:,} release{'s' if record['releases'] != 1 else ''}"
    cost = f"at most ε = {upper(found['epsilon'])}"
    if math.isinf(found["epsilon"]):
        cost = "no finite ε"
    budget = ""
    if "budget" in record:
        kept = "keeps to" if record["within_budget"] else "exceeds"
        budget = f", which {kept} the budget of {upper(record['budget']['epsilon'])}"
    risk = risk_line(found["attack_accuracy"], plan.relation.name)
    return (
        f"{count} of results about the same records cost a privacy budget of {cost} at δ = "
        f"{upper(found['delta'])}{budget}. {risk}"
    ).strip()
