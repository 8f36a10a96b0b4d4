"""All built-in audits on one dated page: claimed, certified, best attack, verdict, how to repeat."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dpcalc.auditing.result import AuditResult
from dpcalc.auditing.verdict import ALPHA
from dpcalc.numerals import spelt
from dpcalc.report.bounds import native_cells, native_columns
from dpcalc.report.leaks import LeakCount, section
from dpcalc.report.text import attack_text, bound_text

_INTRODUCTION = """\
# Ledger of audits

Every published claim under attack, next to what is certified and what an attack reaches. An audit
refutes a claim, or says how large a violation it would have noticed; it never shows that a mechanism
is private. Lower bounds hold at the confidence of the whole audit they belong to; claims that are
called false were refuted at 1 - 10⁻⁶ or by a counterexample without chance. A bound on μ or ρ gives
a bound on ε only for a Gaussian mechanism, so it has a column of its own; what stands under ε was
bounded as ε.

This page is written by

    {command}

and every line by itself by `dpcalc audit NAME --case CASE --no-early-stop --seed {seed}`, with an
`--alpha` of {alpha} over the number of the audit's cases, planted bugs included.

Made on {date} with {versions}.
"""


_SHARES = """\
Exact bounds are reached but for what sampling costs. Where the share is small, the worst instance
known is more private than the proof's bound, or its release is not a Gaussian one and error rates
are all that was counted; whether a worse instance exists is open."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """One audit after all its cases.

    Attributes:
        key: short name.
        title: what was attacked.
        reference: paper and number.
        results: claims of papers and certified twins.
        bugs: planted bugs.
        theorems: case -> key of the theorem that its claim is about.
        tables: exhibits.
    """

    key: str
    title: str
    reference: str
    results: Sequence[AuditResult]
    bugs: Sequence[AuditResult]
    theorems: Mapping[str, str] = field(default_factory=dict)
    tables: Sequence[Any] = ()


def page(
    entries: Sequence[Entry], *, seed: int, alpha: float, leaks: Sequence[LeakCount] = ()
) -> str:
    """The page as Markdown.

    Args:
        entries: audits.
        seed: of all of them.
        alpha: of every audit.
        leaks: counted leaks and twins.
    """
    everything = [r for entry in entries for r in (*entry.results, *entry.bugs)]
    versions = everything[0].verdict.versions if everything else {}
    lines = [
        _INTRODUCTION.format(
            seed=seed,
            alpha=spelt(alpha),
            command=shlex.join(_command(seed, alpha)),
            date=f"{datetime.now(UTC):%Y-%m-%d}",
            versions=", ".join(f"{name} {value}" for name, value in versions.items()),
        )
    ]
    if entries:
        lines += ["## The best attack on every theorem", "", *_best(entries), "", _SHARES, ""]
    lines += section(leaks)
    for entry in entries:
        lines += [f"## {entry.title} (`{entry.key}`)", "", f"{entry.reference}.", ""]
        lines += [*_table(entry.results), "", _bugs(entry.bugs), ""]
        for table in entry.tables:
            lines += [f"### {table.title}", "", *_numbers(table), ""]
            lines += [table.note, ""] if table.note else []
    return "\n".join(lines).rstrip() + "\n"


def _command(seed: int, alpha: float) -> list[str]:
    """The command that writes this page."""
    words = ["dpcalc", "audit", "--ledger", "docs/ledger.md", "--seed", str(seed)]
    return words if float(alpha) == ALPHA else [*words, "--alpha", spelt(alpha)]


def _best(entries: Sequence[Entry]) -> list[str]:
    """For every theorem the certified case whose attack comes nearest to what is certified."""
    found: dict[str, tuple[float, str, AuditResult]] = {}
    for entry in entries:
        for result in entry.results:
            certified, attack = result.certified, result.epsilon_lower
            if certified is None or attack is None or not 0 < certified < math.inf:
                continue
            if result.role != "certified":
                continue
            key, share = entry.theorems.get(result.key, ""), attack / certified
            if key and (key not in found or share > found[key][0]):
                found[key] = share, f"{entry.key} {result.key}", result
    heads = ("theorem", "audit and case", "δ", "certified ε", "attack ε ≥", "share")
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for key, (share, name, result) in sorted(found.items()):
        cells = (
            f"`{key}`",
            f"`{name}`",
            spelt(result.verdict.claim.delta, 4),
            bound_text(result.certified),
            attack_text(result.epsilon_lower),
            f"{math.floor(100 * share)} %",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _table(results: Sequence[AuditResult]) -> list[str]:
    own = native_columns(results)
    numbers = ("claimed ε", "certified ε", "attack ε ≥")
    heads = ("case", "claim", "whose", "δ", *own, *numbers, "verdict")
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for r in results:
        claim = r.verdict.claim
        cells = (
            f"`{r.key}`",
            r.title,
            r.role,
            spelt(claim.delta, 4),
            *native_cells(r, results),
            bound_text(claim.epsilon),
            bound_text(r.certified),
            attack_text(r.epsilon_lower),
            r.verdict.outcome.value,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def _bugs(bugs: Sequence[AuditResult]) -> str:
    caught = [b for b in bugs if not b.unexpected]
    names = "; ".join(f"{b.title}: {b.verdict.outcome.value.lower()}" for b in bugs)
    return f"Planted bugs caught: {len(caught)} of {len(bugs)} ({names})."


def _numbers(table: Any) -> list[str]:
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
    return lines + ["| " + " | ".join(spelt(v, 5) for v in row) + " |" for row in table.rows]
