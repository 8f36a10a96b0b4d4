"""Judged claims in the terminal: the table, reasons and promises."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcalc.claims.verdict import Judgement

_ORDER = ("HOLDS", "LOOSE", "REFUTED", "UNSUPPORTED")


def print_claims(judgements: Sequence[Judgement], file: Path | None, *, details: bool) -> None:
    """The verdicts, and below them what they are about and rest on.

    Args:
        judgements: in the order of the file.
        file: the claims file; None for the papers' own claims.
        details: whether promises and chosen values are printed with their texts.
    """
    from dpcalc.report.claim_notes import OURS, print_notes, ranges, settings
    from dpcalc.report.layout import print_table
    from dpcalc.report.text import console, escaped, hanging, status_text, upper

    out = console()
    title = "Headline settings of the five papers" if file is None else escaped(file)
    out.print(f"[bold]{title}[/]")
    rows = [
        (
            str(number),
            escaped(j.claim.name) + (f" {OURS}" if j.claim.ours else ""),
            upper(j.claim.delta, 4),
            upper(j.claimed, 4),
            upper(j.certified, 4),
            status_text(j.verdict.value) + (f" ×{j.factor:.3g}" if _is_loose(j) else ""),
        )
        for number, j in enumerate(judgements, start=1)
    ]
    print_table(out, ("", "claim", "δ", "claimed ε", "certified ε", "verdict"), rows)
    for line in settings(judgements):
        out.print(escaped(line), style="dim")
    for numbers, j in _with_reasons(judgements):
        text = f"{status_text(j.verdict.value)} {escaped(j.reason)}"
        out.print(hanging(f"{ranges(numbers):>3}  ", text))
    print_notes(out, [j.claim for j in judgements], in_full=details or file is not None)
    counts = {v: sum(j.verdict.value == v for j in judgements) for v in _ORDER}
    out.print("\n" + "   ".join(f"{status_text(v)} {n}" for v, n in counts.items() if n))


def _with_reasons(judgements: Sequence[Judgement]) -> list[tuple[list[int], Judgement]]:
    """Claims that do not stand, those with the same verdict and reason together."""
    groups: dict[tuple[str, str], tuple[list[int], Judgement]] = {}
    for number, j in enumerate(judgements, start=1):
        if j.verdict.value in ("REFUTED", "UNSUPPORTED"):
            groups.setdefault((j.verdict.value, j.reason), ([], j))[0].append(number)
    return list(groups.values())


def _is_loose(judgement: Judgement) -> bool:
    return judgement.verdict.value == "LOOSE" and judgement.factor is not None
