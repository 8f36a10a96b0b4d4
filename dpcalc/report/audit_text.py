"""Attacked claims in the terminal: one line each, then why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc.auditing.checks.neighbours import NAME as NEIGHBOURS
from dpcalc.auditing.checks.repetition import NAME as REPETITION
from dpcalc.auditing.evidence import NAN
from dpcalc.auditing.result import AuditResult
from dpcalc.auditing.stages.pace import NAME as TIME
from dpcalc.auditing.verdict import Outcome
from dpcalc.numerals import spelt
from dpcalc.report.bounds import native_cells, native_columns
from dpcalc.report.layout import print_table
from dpcalc.report.text import attack_text, bound_text, console, escaped, plain_table, upper

if TYPE_CHECKING:
    from dpcalc.auditing.claim import Claim
    from dpcalc.auditing.verdict import Verdict

_STYLES = {
    Outcome.REFUTED: "[bold red]REFUTED[/]",
    Outcome.NOT_REFUTED: "[green]NOT REFUTED[/]",
    Outcome.UNDERPOWERED: "[yellow]UNDERPOWERED[/]",
    Outcome.PRECONDITION_FAILED: "[magenta]PRECONDITION FAILED[/]",
}


_TOLD = (NAN, TIME, NEIGHBOURS)
"""Checks whose findings are told though nothing is wrong."""

_NUMBERS = ("claimed ε", "attack ε", "certified ε")


def show(
    title: str, results: Sequence[AuditResult], tables: Sequence[Any], report: Path | None
) -> None:
    """Print verdicts, reasons, and where the report went."""
    from rich.padding import Padding

    out = console()
    out.print(f"[bold]{escaped(title)}[/]")
    columns = ("case", "claim", *native_columns(results), *_NUMBERS, "verdict")
    rows = [_row(result, results) for result in results]
    print_table(out, columns, rows, unknown=("attack on",))
    for result in results:
        out.print(f"{_STYLES[result.verdict.outcome]} [bold]{escaped(result.key)}[/]")
        out.print(Padding(f"[dim]{_about(result.verdict.claim)}[/]", (0, 0, 0, 4)))
        for line in _reasons(result):
            out.print(Padding(escaped(line), (0, 0, 0, 4)))
    for table in tables:
        out.print(f"\n[bold]{escaped(table.title)}[/]")
        cells = [tuple(spelt(value, 5) for value in row) for row in table.rows]
        out.print(plain_table(table.columns, cells))
        if table.note:
            out.print(f"[dim]{escaped(table.note)}[/]")
    seeds = {r.verdict.seed for r in results if r.verdict.seed is not None and r.verdict.repeatable}
    alpha = sum(r.verdict.alpha for r in results)
    last = [f"chance of a false alarm at most {spelt(alpha, 3)} over all claims"]
    last += [f"repeat with --seed {seed}" for seed in sorted(seeds)]
    checks = {f.check for r in results if r.verdict.seed is not None for f in r.verdict.findings}
    if REPETITION in checks:
        last.append("no seed repeats a target with randomness of its own")
    if TIME in checks:
        last.append("what a limit of time cut short no seed repeats")
    line = "; ".join(last)
    line = line if len(line) <= out.width else ";\n".join(last)
    out.print(f"[dim]{line}[/]", soft_wrap=True)
    if report is not None:
        out.print(f"[dim]report: {escaped(report)}[/]", soft_wrap=True)


def _row(result: AuditResult, results: Sequence[AuditResult]) -> tuple[str, ...]:
    claim = result.verdict.claim
    return (
        escaped(result.key),
        f"{escaped(claim.name)} at δ {upper(claim.delta, 3)}"
        if claim.is_curve
        else escaped(claim.name),
        *native_cells(result, results),
        bound_text(claim.epsilon),
        f"≥ {attack_text(result.epsilon_lower)}" if result.epsilon_lower is not None else "—",
        bound_text(result.certified),
        _STYLES[result.verdict.outcome],
    )


def _about(claim: Claim) -> str:
    """What a claim is about."""
    return f"about {claim.about}, at δ = {upper(claim.delta, 3)}"


def _reasons(result: AuditResult) -> list[str]:
    verdict = result.verdict
    lines = [verdict.reason]
    lines += [f"{f.check}: {f.text}" for f in verdict.findings if _matters(verdict, f)]
    if result.unexpected:
        names = " or ".join(outcome.value for outcome in result.expected)
        lines.append(f"unexpected: {names} was to come out")
    if result.contradicts_proof:
        lines.append(
            "the attack lies above the certified ε: chance at this α, or a proof or estimator is wrong"
        )
    return lines


def _matters(verdict: Verdict, finding: Any) -> bool:
    grave = finding.severity.value in ("refutes", "premise") or finding.check in _TOLD
    return grave and finding.text != verdict.reason
