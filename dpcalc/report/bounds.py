"""Bounds of attacked claims as cells of tables, the same in the terminal and in every report."""

from __future__ import annotations

from collections.abc import Sequence

from dpcalc.auditing.claim import Quantity
from dpcalc.auditing.result import AuditResult
from dpcalc.report.text import attack_text, bound_text

_SYMBOLS = {Quantity.EPSILON: "ε", Quantity.MU: "μ", Quantity.RHO: "ρ"}


def native_columns(results: Sequence[AuditResult]) -> tuple[str, ...]:
    """The heading of `native_cells`: none if every claim is about ε."""
    used = {result.verdict.claim.quantity for result in results} - {Quantity.EPSILON}
    names = [symbol for quantity, symbol in _SYMBOLS.items() if quantity in used]
    return (f"attack on {' or '.join(names)}",) if names else ()


def native_cells(result: AuditResult, results: Sequence[AuditResult]) -> tuple[str, ...]:
    """The lower bound in the claim's own notion; nothing if every claim is about ε.

    It stands apart from those of ε, since no bound on μ or ρ is one on ε.
    """
    if not native_columns(results):
        return ()
    claim, lower = result.verdict.claim, result.native_lower
    if claim.quantity is Quantity.EPSILON or lower is None:
        return ("—",)
    claimed = bound_text(claim.bound(claim.quantity))
    return (f"{_SYMBOLS[claim.quantity]} ≥ {attack_text(lower)}, claimed {claimed}",)
