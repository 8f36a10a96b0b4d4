"""Attacks on claims, next to what is claimed and what is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcalc.report.bounds import native_cells, native_columns
from dpcalc.report.layout import print_table
from dpcalc.report.text import attack_text, bound_text, console, escaped, hanging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcalc.auditing.result import AuditResult
    from dpcalc.claims.verdict import Judgement


def print_attacks(judgements: Sequence[Judgement], attacks: Sequence[AuditResult | None]) -> None:
    """Print a table of the attacks on claims, and what refutes.

    Args:
        judgements: of the claims.
        attacks: one for each; None where no audit knows such a mechanism.
    """
    carried_out = [found for found in attacks if found is not None]
    rows = []
    for number, (j, found) in enumerate(zip(judgements, attacks, strict=True), start=1):
        outcome = "no audit for these parameters" if found is None else found.verdict.outcome.value
        attack = None if found is None else found.epsilon_lower
        shown = "—" if attack is None else f"≥ {attack_text(attack)}"
        own = tuple("—" for _ in native_columns(carried_out))
        if found is not None:
            own = native_cells(found, carried_out)
        cells = (*own, bound_text(j.claimed), shown, bound_text(j.certified), outcome)
        rows.append((str(number), escaped(j.claim.name), *cells))
    out = console()
    out.print("\n[bold]Attacks[/]")
    own = native_columns(carried_out)
    heads = ("", "claim", *own, "claimed ε", "attack ε", "certified ε", "outcome")
    print_table(out, heads, rows)
    for number, found in enumerate(attacks, start=1):
        if found is not None and (found.refuted or found.contradicts_proof):
            out.print(hanging(f"{number:>3}  ", escaped(found.verdict.reason)))
