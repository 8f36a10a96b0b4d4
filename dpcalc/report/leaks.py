"""Planted leaks and their sound twins, counted: a section of the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpcalc.numerals import spelt

_INTRODUCTION = """\
Mechanisms with a leak in outputs of every kind, nothing declared but a function, two inputs and a
claim, each beside a sound twin that keeps the claim, most of them exactly. The default audit, {tries}
seeds of each leak and {twins} of each twin at two α. A twin that keeps its claim exactly may be
accused in a share α of all audits; that some are shows how much of α is used. One audit took at most
{slowest:.2g} s of processor time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakCount:
    """How often one pair of a leak and its twin was refuted.

    Attributes:
        leak: its name.
        claim: the claim that the twin keeps and the leak breaks.
        tries: audits of the leak at each α.
        twins: audits of the twin at each α.
        caught: α -> audits that refuted the leak.
        accused: α -> audits that refuted the twin.
        seconds: of processor time for one audit of the leak.
    """

    leak: str
    claim: str
    tries: int
    twins: int
    caught: Mapping[float, int]
    accused: Mapping[float, int]
    seconds: float


def section(counts: Sequence[LeakCount]) -> list[str]:
    """Lines of Markdown; none without counts."""
    if not counts:
        return []
    alphas = tuple(counts[0].caught)
    tries, twins = counts[0].tries, counts[0].twins
    slowest = max(count.seconds for count in counts)
    lines = [
        "## Planted leaks",
        "",
        _INTRODUCTION.format(tries=tries, twins=twins, slowest=slowest),
        "",
    ]
    for alpha in alphas:
        found = sum(2 * c.caught[alpha] > c.tries for c in counts)
        always = sum(c.caught[alpha] == c.tries for c in counts)
        accused = sum(c.accused[alpha] for c in counts)
        most = max(c.accused[alpha] for c in counts)
        lines.append(
            f"- α = {spelt(alpha)}: {found} of {len(counts)} pairs caught "
            f"({100 * found // len(counts)} %; {always} of them by every seed), {accused} of "
            f"{twins * len(counts):,} audits of twins accused one, at most {most} of {twins} of any."
        )
    heads = ["leak", "claim"]
    for alpha in alphas:
        heads += [f"caught, α = {spelt(alpha)}", f"twin accused, α = {spelt(alpha)}"]
    lines += ["", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for count in counts:
        cells = [count.leak, count.claim]
        for alpha in alphas:
            cells += [
                f"{count.caught[alpha]} of {count.tries}",
                f"{count.accused[alpha]} of {count.twins}",
            ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return [*lines, ""]
