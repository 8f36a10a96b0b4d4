"""A report for a reviewer about the claims of a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpcalc.claims.system import SystemClaim
from dpcalc.report.composition_report import releases_table
from dpcalc.report.document import Part, Report, Section, Table, Terms
from dpcalc.report.records import attack_accuracy
from dpcalc.report.reviewing import neighbours, repeat, shown_values
from dpcalc.report.setting import risk_line
from dpcalc.report.text import attack_text, bound_text, capitalised, upper
from dpcalc.vocabulary import Verdict
from dpcalc.wording import at_least, runs_text

if TYPE_CHECKING:
    from dpcalc.auditing.result import AuditResult
    from dpcalc.claims.verdict import Judgement

DEFINITIONS = Terms(
    (
        ("HOLDS", "It is proved that no more is leaked than claimed."),
        ("LOOSE", "The same, and a claim smaller by more than 1 % is proved too."),
        (
            "REFUTED",
            "Some instance within the claim's own terms leaks more than claimed: the claim is false.",
        ),
        (
            "UNSUPPORTED",
            (
                "Neither is known: a promise it rests on was not made, or the claim lies between "
                "what is proved and what some instance is known to leak."
            ),
        ),
        ("claimed ε", "What the claim says; smaller is more private."),
        ("certified ε", "An upper bound that is proved, rounded up."),
        ("attained ε", "What some instance really leaks, rounded down."),
    )
)


def claims_report(
    title: str,
    judgements: Sequence[Judgement],
    attacks: Sequence[AuditResult | None] | None,
    *,
    command: str,
    file: Path,
    certificates: Sequence[str] | None = None,
) -> Report:
    """Verdicts, what they rest on, and how to repeat them.

    Args:
        title: of the report.
        judgements: in the order of the file.
        attacks: on them, if they were attacked.
        command: what repeats it.
        file: the claims file.
        certificates: what is said of the certificate of each.
    """
    numbered = list(enumerate(judgements, start=1))
    found = attacks or [None] * len(judgements)
    sections = [Section("Verdicts", (_table(judgements),))]
    said = [(line,) for line in certificates] if certificates else [()] * len(judgements)
    sections += [
        Section(f"{number}. {j.claim.name}", (*_parts(j, attack), *more), j.verdict.value)
        for (number, j), attack, more in zip(numbered, found, said, strict=True)
    ]
    sections.append(Section("What the words mean", (DEFINITIONS,)))
    tables = [
        t for j in judgements if isinstance(j.claim, SystemClaim) for t in j.claim.plan.tables
    ]
    again = repeat(command, file, *dict.fromkeys(tables))
    return Report(title, summary(judgements), (*sections, again))


def summary(judgements: Sequence[Judgement]) -> str:
    """One sentence or two for somebody who knows nothing of the subject."""
    counts = {v: sum(j.verdict is v for j in judgements) for v in Verdict}
    proved = counts[Verdict.HOLDS] + counts[Verdict.LOOSE]
    about = (
        "A privacy claim limits how much more anybody who sees the results can find out about one "
        "person's record."
    )
    if len(judgements) == 1:
        (only,) = judgements
        return f"{about} This claim {_OF_ONE[only.verdict]}"
    said = [
        f"{number} {'is' if number == 1 else 'are'} {word}"
        for number, word in (
            (proved, "proved"),
            (counts[Verdict.REFUTED], "false"),
            (counts[Verdict.UNSUPPORTED], "neither proved nor shown to be false"),
        )
        if number
    ]
    if len(said) == 1:
        which = "Both" if len(judgements) == 2 else f"All {len(judgements)}"
        return f"{about} {which} claims are {said[0].partition(' are ')[2]}."
    return f"{about} Of these {len(judgements)} claims {_listed(said)}."


_OF_ONE = {
    Verdict.HOLDS: "is proved.",
    Verdict.LOOSE: "is proved, and less noise would do for it.",
    Verdict.REFUTED: "is false: with some data more can be found out than it allows.",
    Verdict.UNSUPPORTED: "is neither proved nor shown to be false.",
}


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _table(judgements: Sequence[Judgement]) -> Table:
    rows = tuple(
        (
            f"{number}. {j.claim.name}",
            j.verdict.value,
            upper(j.claim.delta, 4),
            bound_text(j.claimed),
            bound_text(j.certified),
            attack_text(j.attained),
            j.claim.relation.name or "as the numbers given",
            j.claim.release,
        )
        for number, j in enumerate(judgements, start=1)
    )
    numbers = ("δ", "claimed ε", "certified ε", "attained ε ≥")
    heads = ("claim", "verdict", *numbers, "neighbours", "release")
    return Table("Claims and verdicts", heads, rows, numeric=(2, 3, 4, 5))


def _parts(judgement: Judgement, attack: AuditResult | None) -> tuple[Part, ...]:
    claim = judgement.claim
    parts: list[Part] = [capitalised(judgement.reason).rstrip(".") + "."]
    parts.append(_about(judgement))
    if risk := _risk(judgement):
        parts.append(risk)
    if isinstance(claim, SystemClaim):
        parts.append(releases_table(claim.plan, claim.delta))
    else:
        parts.append(Table("Parameters", ("parameter", "value"), shown_values(claim.inputs())))
    if claim.ours:
        rows = tuple(claim.ours.items())
        parts.append(Table("Not in the source of the claim, chosen here", ("value", "why"), rows))
    if promised := claim.promised():
        rows = tuple(promised.items())
        parts.append(
            Table("Promised by the file; nobody can check it here", ("promise", "it says"), rows)
        )
    else:
        parts.append("The file promises nothing.")
    if attack is not None:
        text = f"Attacked: {attack.verdict.outcome.value}. {attack.verdict.reason}"
        parts.append(f"{text}. {runs_text(attack.verdict.runs)}, seed {attack.verdict.seed}.")
    return tuple(parts)


def _about(judgement: Judgement) -> str:
    claim = judgement.claim
    what = f"result {claim.key}" if claim.key else "the releases listed below"
    return (
        f"About {what}. Claimed: ({bound_text(judgement.claimed)}, {upper(claim.delta)})-DP. The "
        f"adversary sees: {claim.release}. {neighbours(claim.relation)}"
    )


def _risk(judgement: Judgement) -> str:
    """What the certified ε means for an attacker who guesses; and the attained one."""
    relation = judgement.claim.relation.name
    parts = []
    if math.isfinite(judgement.certified):
        accuracy = attack_accuracy(
            judgement.claim.guarantee, judgement.certified, judgement.claim.delta
        )
        line = risk_line(accuracy, relation)
        if line and judgement.verdict is Verdict.UNSUPPORTED:
            line = f"If every promise that it rests on is kept: {line[0].lower()}{line[1:]}"
        parts.append(line)
    if judgement.attained is not None and judgement.verdict is Verdict.REFUTED:
        finite = math.isfinite(judgement.attained)
        least = f"ε = {at_least(judgement.attained)}" if finite else "more than any finite ε"
        parts.append(f"Some instance leaks {least}; claimed is less.")
    return " ".join(part for part in parts if part)
