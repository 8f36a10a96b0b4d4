"""What an audit's report says to somebody who knows nothing of the subject."""

from __future__ import annotations

from collections.abc import Sequence

from dpcalc.auditing.result import AuditResult
from dpcalc.auditing.verdict import Outcome

_ABOUT = (
    "An audit attacks a program: it tries to find out from what is published whether one person's "
    "record was among the data, and holds its success against what is claimed."
)

_OF_ONE = {
    Outcome.REFUTED: "This claim is false: more can be found out than it allows.",
    Outcome.NOT_REFUTED: "Nothing beyond this claim was found, which is evidence for it and no proof.",
    Outcome.UNDERPOWERED: "Nothing beyond this claim was found, by an attack too weak to say more.",
    Outcome.PRECONDITION_FAILED: "There is no verdict on this claim: something that it or the audit "
    "relies on does not hold.",
}

_OF_MANY = {
    Outcome.REFUTED: "{is_} false: more can be found out than allowed",
    Outcome.NOT_REFUTED: "{is_} not refuted, which is evidence and no proof",
    Outcome.UNDERPOWERED: "met an attack too weak to say more",
    Outcome.PRECONDITION_FAILED: "{has} no verdict, as something relied on does not hold",
}

MEANINGS = (
    ("REFUTED", "A counterexample, or a lower bound above the claim at the stated confidence."),
    (
        "NOT REFUTED",
        (
            "No lower bound exceeds the claim, and a violation of the size asked for would have been "
            "noticed in four of five repetitions. That is no proof of privacy."
        ),
    ),
    ("UNDERPOWERED", "The same, but a violation of that size would have been missed."),
    (
        "PRECONDITION FAILED",
        "Something that the claim's proof or the audit relies on is false; no bound counts.",
    ),
    ("claimed ε", "What the claim allows at its δ; smaller is more private."),
    ("certified ε", "An upper bound that is proved for what was attacked, rounded up."),
    ("attack ε", "What the attack has shown at least, for any mechanism whatever, rounded down."),
)
"""Words of a report with what they mean."""


def summary(results: Sequence[AuditResult]) -> str:
    """One or two sentences."""
    if len(results) == 1:
        return f"{_ABOUT} {_OF_ONE[results[0].verdict.outcome]}"
    counts = [(o, sum(r.verdict.outcome is o for r in results)) for o in Outcome]
    said = [
        f"{n} " + _OF_MANY[o].format(is_="is" if n == 1 else "are", has="has" if n == 1 else "have")
        for o, n in counts
        if n
    ]
    return f"{_ABOUT} Of {len(results)} claims {'; '.join(said)}." if said else _ABOUT
