"""All audits, all cases, for the dated page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING

from dpcalc.auditing.suite.case import Case, ClaimSource
from dpcalc.auditing.suite.run import carry_out_all
from dpcalc.auditing.verdict import ALPHA
from dpcalc.audits.suite.catalogue import audit_of, keys
from dpcalc.report.ledger import Entry

if TYPE_CHECKING:
    from dpcalc.store import Store


def entries(
    *,
    seed: int,
    alpha: float = ALPHA,
    names: Sequence[str] = (),
    say: Callable[[str], None],
    executor: Executor | None = None,
    store: Store | None = None,
) -> list[Entry]:
    """Every audit carried out in full, α split over the cases of each.

    Args:
        seed: of all of them.
        alpha: per audit.
        names: of audits; all if left out.
        say: told what is under attack.
        executor: who does the work; this process if left out.
        store: where runs are kept as they are made; every audit has a section of its own.
    """
    found = []
    for key in names or keys():
        audit_of(key).need_libraries()
    for key in names or keys():
        audit = audit_of(key)
        results, tables = carry_out_all(
            audit.cases,
            audit.exhibits,
            alpha=alpha,
            seed=seed,
            controls=False,
            begin=partial(_said, say, key),
            executor=executor,
            checkpoint=None if store is None else store.section(key),
        )
        found.append(
            Entry(
                key=key,
                title=audit.title,
                reference=audit.reference,
                results=[r for r in results if r.role != ClaimSource.BUG.value],
                bugs=[r for r in results if r.role == ClaimSource.BUG.value],
                theorems={case.key: case.theorem or audit.theorem for case in audit.cases},
                tables=tables,
            )
        )
    return found


def _said(say: Callable[[str], None], key: str, case: Case) -> None:
    say(f"{key}: {case.title}")
