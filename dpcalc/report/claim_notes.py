"""What a table of claims is about and rests on: relations, promises, values not in the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from dpcalc.claims.verdict import AnyClaim, Judgement

OURS = "*"
"""Marks a claim some of whose values its source does not give."""

_MOST_RUNS = 6


def settings(judgements: Sequence[Judgement]) -> list[str]:
    """Which claims are about which neighbouring relation and release."""
    relations: dict[str, list[int]] = {}
    releases: dict[str, list[int]] = {}
    silent: list[int] = []
    for number, j in enumerate(judgements, start=1):
        relation = j.claim.relation
        relations.setdefault(relation.name or "none named", []).append(number)
        releases.setdefault(j.claim.release, []).append(number)
        if relation.basis.value == "default":
            silent.append(number)
    lines = [
        f"{title}: " + "; ".join(f"{name} ({ranges(numbers)})" for name, numbers in found.items())
        for title, found in (("neighbouring relation", relations), ("release", releases))
    ]
    if silent:
        lines[0] += f"; by default in {ranges(silent)}, unless the claim says another adjacency"
    return lines


def print_notes(out: Console, claims: Sequence[AnyClaim], *, in_full: bool) -> None:
    """Promises and chosen values under their headings, claims with the same ones together.

    Args:
        out: where to.
        claims: in the order of their numbers in the table.
        in_full: whether reasons and promises are printed with their texts, or by name alone.
    """
    where = "" if in_full else " (why: --details)"
    if chosen := _grouped(claims, lambda claim: claim.ours):
        out.print(f"\n[bold]{OURS} Not in the source of the claim, chosen here[/]{where}")
        _print(out, chosen, in_full=in_full)
    where = "" if in_full else " (what each says: --details)"
    if promises := _grouped(claims, lambda claim: claim.promised()):
        out.print(f"\n[bold]Promised by the file (attest)[/]{where}")
        _print(out, promises, in_full=in_full)


def ranges(numbers: Sequence[int]) -> str:
    """1, 2, 3, 7 as 1-3, 7; at most a few of them."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    text = ", ".join("-".join(map(str, run)) for run in runs[:_MOST_RUNS])
    return text + (", ..." if len(runs) > _MOST_RUNS else "")


def _grouped(
    claims: Iterable[AnyClaim], noted: Callable[[AnyClaim], Mapping[str, str]]
) -> dict[tuple[int, ...], list[tuple[str, str]]]:
    """Notes by the numbers of the claims that share them, in the order of the first of these."""
    numbers: dict[tuple[str, str], list[int]] = {}
    for number, claim in enumerate(claims, start=1):
        for note in noted(claim).items():
            numbers.setdefault(note, []).append(number)
    groups: dict[tuple[int, ...], list[tuple[str, str]]] = {}
    for note, shared in numbers.items():
        groups.setdefault(tuple(shared), []).append(note)
    return groups


def _print(
    out: Console, groups: Mapping[tuple[int, ...], Sequence[tuple[str, str]]], *, in_full: bool
) -> None:
    from dpcalc.report.text import escaped, hanging

    width = max(len(ranges(shared)) for shared in groups)
    for shared, notes in sorted(groups.items()):
        text = ", ".join(name for name, _ in notes)
        for line in [f"{name}: {why}" for name, why in notes] if in_full else [text]:
            out.print(hanging(f"  {ranges(shared):<{width}}  ", escaped(line)))
