"""All audits, all cases, for the dated page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpcalc.audits.engine.carry_out import carry_out, exhibited
from dpcalc.audits.engine.case import Role
from dpcalc.audits.engine.catalogue import audit_of, keys
from dpcalc.report.ledger import Entry


def entries(
    *, seed: int, alpha: float = 0.05, names: Sequence[str] = (), say: Callable[[str], None]
) -> list[Entry]:
    """Every audit carried out in full, α split over the cases of each.

    Args:
        seed: of all of them.
        alpha: per audit.
        names: of audits; all if left out.
        say: told what is under attack.
    """
    found = []
    for key in names or keys():
        audit_of(key).need_libraries()
    for key in names or keys():
        audit = audit_of(key)
        results = []
        for case in audit.cases:
            say(f"{key}: {case.title}")
            share = alpha / len(audit.cases)
            results += carry_out([case], alpha=share, seed=seed, controls=False)
        found.append(
            Entry(
                key=key,
                title=audit.title,
                reference=audit.reference,
                results=[r for r in results if r.role != Role.BUG.value],
                bugs=[r for r in results if r.role == Role.BUG.value],
                theorems={case.key: case.theorem or audit.theorem for case in audit.cases},
                tables=[exhibited(e, seed=seed) for e in audit.exhibits],
            )
        )
    return found
