"""Attacked claims as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import dpcalc
from dpcalc.auditing.result import AuditResult
from dpcalc.numerals import spelt
from dpcalc.report.audit_words import MEANINGS, summary
from dpcalc.report.bounds import native_cells, native_columns
from dpcalc.report.page import markdown_rows, plain
from dpcalc.report.text import attack_text, bound_text, capitalised
from dpcalc.wording import at_least, confidence, runs_text


def markdown(
    title: str, results: Sequence[AuditResult], tables: Sequence[Any] = (), *, command: str = ""
) -> str:
    """Verdicts, bounds and findings as Markdown; arguments as of `audit_html.page`."""
    when = f"{datetime.now(UTC):%Y-%m-%d} · dpcalc {dpcalc.__version__}"
    lines = [f"# Audit: {plain(title)}", "", when, "", f"**{plain(summary(results))}**", ""]
    lines += markdown_table(results)
    for result in results:
        verdict = result.verdict
        lines += [f"\n## {plain(result.key)}: {verdict.outcome.value}", ""]
        lines += [f"{plain(result.title)}.", ""]
        lines += [plain(capitalised(verdict.reason)) + ".", ""]
        lines += [f"Claim {plain(f'{verdict.claim.name}, about {verdict.claim.about}')}.", ""]
        lines += [f"- {f.check} ({f.severity}): {plain(f.text)}" for f in verdict.findings]
        lines += [_bound(e) for e in verdict.evidence]
        lines += [
            "",
            f"Seed {verdict.seed}, {runs_text(verdict.runs)}, α = {spelt(verdict.alpha, 3)}.",
        ]
    for table in tables:
        lines += [f"\n## {table.title}", "", *_rows(table.columns, table.rows), "", table.note]
    lines += ["\n## What the words mean", ""]
    lines += [f"- **{word}**: {text}" for word, text in MEANINGS]
    if command:
        lines += ["\n## To repeat it", "", "```text", command, "```"]
    return "\n".join(lines).rstrip() + "\n"


def markdown_table(results: Sequence[AuditResult]) -> list[str]:
    """One row per claim."""
    columns = (
        "case",
        "claim",
        "adjacency",
        "release",
        "δ",
        *native_columns(results),
        "claimed ε",
        "certified ε",
        "attack ε ≥",
    )
    head = [*columns, "verdict"]
    rows = []
    for result in results:
        claim = result.verdict.claim
        cells = (
            result.title,
            claim.name,
            claim.adjacency.value,
            claim.release.value + (" (default)" if claim.release_taken else ""),
            f"{spelt(claim.delta)}",
            *native_cells(result, results),
            bound_text(claim.epsilon),
            bound_text(result.certified),
            attack_text(result.epsilon_lower),
            result.verdict.outcome.value,
        )
        rows.append([plain(cell) for cell in cells])
    return markdown_rows(head, rows)


def _rows(columns: Sequence[str], rows: Sequence[Sequence[float]]) -> list[str]:
    return markdown_rows(columns, [[f"{value:.6g}" for value in row] for row in rows])


def _bound(e: Any) -> str:
    gate = "" if e.gates else ", report only"
    return (
        f"- {e.method} ({e.direction}): {e.quantity.symbol} ≥ {at_least(e.lower, 5)} at confidence "
        f"{confidence(e.alpha)}, δ = {spelt(e.delta)}, {runs_text(e.runs)}{gate}"
    )
