"""Results as tables in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from dpcalc.numerals import unpadded
from dpcalc.report.streams import printable, written

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Item = TypeVar("Item")

_FEW = 40
"""Below this many items a progress bar would only flicker."""

_NARROWEST = 60
"""Columns below which a terminal may wrap lines, but no table cuts its numbers."""

_STATUS_STYLE = {
    "sound": "green",
    "loose": "yellow",
    "false for some settings": "bold red",
    "the printed proof fails here": "magenta",
    "the source is incomplete here": "magenta",
    "the printed bound is loose": "yellow",
    "remark": "green",
    "HOLDS": "green",
    "LOOSE": "yellow",
    "REFUTED": "bold red",
    "UNSUPPORTED": "magenta",
    "ERROR": "bold red",
}

_NO_ROW = ("method", "reason", "epsilon_lower", "epsilon_lower_of", "attack_accuracy")
"""Parts of a bound's record that its table leaves to the lines below it."""

_LABELS = {
    "epsilon": "ε",
    "delta": "δ",
    "epsilon_lower": "ε, lower end of the enclosure",
    "beta": "β (ε at δ = 0)",
    "rho": "ρ (zCDP)",
    "mu": "μ (GDP)",
    "sigma": "σ",
    "noise_rate": "noise rate α",
    "worst_node": "number of the worst node",
    "contraction": "contraction L",
    "sensitivity": "sensitivity Δ",
}


def console() -> Console:
    """Standard output, plain when it is not a terminal, in the characters that it can show."""
    from rich.console import Console

    class Terminal(Console):
        def render_str(self, text: str, **settings: Any) -> Any:
            return super().render_str(written(text, self.encoding), **settings)

        def on_broken_pipe(self) -> None:
            raise  # called while the error is handled; the command line answers it

    out = Terminal(highlight=False, soft_wrap=False, emoji=False)
    out.width = max(out.width, _NARROWEST)
    return out


def with_progress(items: Sequence[Item], label: str, *, few: int = _FEW) -> Iterable[Item]:
    """The items, with a progress bar on standard error if there are many and it is a terminal.

    Args:
        items: the work.
        label: what is done to them.
        few: items below which there is no bar; 1 where one alone takes seconds.
    """
    from rich.console import Console
    from rich.progress import track

    screen = Console(stderr=True)
    hidden = len(items) < few or not screen.is_terminal
    return track(items, label, console=screen, transient=True, disable=hidden)


def status_text(status: str) -> str:
    """A status or verdict in its colour."""
    return f"[{_STATUS_STYLE.get(status, 'white')}]{status}[/]"


def verdict_text(what: str, record: Mapping[str, Any]) -> str:
    """The verdict on an instance and what it rests on, for the line below the title."""
    if record["verdict"] is None:
        return f"{what}: none here"
    if math.isinf(record["claimed"].get("epsilon", record["claimed"].get("value"))):
        return f"{what}: {record['reason']}"
    given = ", if its promises are kept" if record.get("provided") else ""
    return f"{what}: {status_text(record['verdict'])}{given}"


def upper(value: Any, digits: int = 6) -> str:
    """A number to a few significant digits, rounded up so that it stays an upper bound."""
    if isinstance(value, bool) or not isinstance(value, float | int):
        return "—" if value is None else str(value)
    if isinstance(value, int) or value == 0 or not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞", 0: "0"}.get(value, f"{value:g}")
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{value:.0f}"
    exponent = math.floor(math.log10(abs(value))) - digits + 1
    text = f"{value:.{digits}g}"
    if float(text) < value:
        text = f"{value + 0.5 * 10.0**exponent:.{digits}g}"
    return unpadded(text)


def lower(value: float, digits: int = 6) -> str:
    """A number to a few significant digits, rounded down so that it stays a lower bound."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    text = f"{value:.{digits}g}"
    exponent = math.floor(math.log10(abs(value))) - digits + 1
    down = text if float(text) <= value else f"{value - 0.5 * 10.0**exponent:.{digits}g}"
    return unpadded(down)


def bound_text(value: float | None) -> str:
    """An upper bound of ε to four digits, rounded up but for noise in the last double."""
    return "—" if value is None else upper(value * (1 - 1e-12), 4)


def attack_text(value: float | None) -> str:
    """A lower bound of ε to four digits, rounded down."""
    if value is None:
        return "—"
    return "∞" if math.isinf(value) else lower(value, 4)


def claimed_and_certified(record: Mapping[str, Any]) -> Table:
    """Two columns: the paper's numbers and the certified ones."""
    from rich.table import Table

    claimed, certified = record["claimed"], record["certified"]
    table = Table(box=_box(), pad_edge=False)
    table.add_column("")
    table.add_column("claimed", justify="right")
    table.add_column("certified", justify="right", style="bold")
    names = [n for n in {**claimed, **certified} if n not in _NO_ROW]
    for name in names:
        table.add_row(
            _LABELS.get(name, name.replace("_", " ")),
            upper(claimed.get(name)),
            upper(certified.get(name)),
        )
    return table


def ratio_line(record: Mapping[str, Any]) -> str:
    """How claimed and certified compare, in a sentence."""
    claimed, certified = record["claimed"], record["certified"]
    if claimed.get("epsilon") is None:
        return f"The paper claims nothing here: {claimed.get('reason', 'outside its conditions')}"
    a, b = float(claimed["epsilon"]), float(certified["epsilon"])
    if math.isinf(b):
        return "No finite ε is certified." + (
            "" if math.isinf(a) else " The paper claims a finite one."
        )
    if math.isinf(a):
        return "The paper claims nothing at this δ."
    if b == 0:
        return "Nothing is revealed at this δ."
    if a >= b:
        return (
            f"The claim is {'about' if same_text(a, b) else f'{a / b:.3g} times'} the certified ε."
        )
    larger = "slightly larger" if same_text(a, b) else f"{b / a:.3g} times as large"
    if record["verdict"] == "REFUTED":
        return f"The claim is too small: the certified ε is {larger}."
    return f"The claim is not certified: the certified ε is {larger}."


def same_text(one: float, other: float) -> bool:
    """Whether few digits would print the ratio of two numbers as 1."""
    return abs(one / other - 1) < 0.005


def print_findings(out: Console, findings: Sequence[Mapping[str, str]]) -> None:
    """Findings under their heading, if there are any, each with what it bears on."""
    if findings:
        out.print("\n[bold]Findings[/]")
    for finding in findings:
        text = f"{status_text(finding['bearing'])}: {escaped(finding['text'])}"
        out.print(hanging("  • ", text))


def print_assumptions(out: Console, assumptions: Sequence[Mapping[str, Any]]) -> None:
    """Assumptions under their heading, with a mark for what is known of each."""
    out.print("\n[bold]Assumptions[/]")
    print_marked(out, assumptions)
    if any(a["state"] == "not attested" for a in assumptions):
        out.print("[dim]A promise is yours to make: --attest KEY, or --attest all.[/]")


def hanging(prefix: str, text: str) -> Table:
    """A paragraph whose later lines are indented as far as its prefix."""
    from rich.table import Table

    table = Table.grid(padding=0)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(prefix, text)
    return table


def print_marked(out: Console, assumptions: Sequence[Mapping[str, Any]]) -> None:
    """One paragraph per assumption, with a mark for what is known of it."""
    for mark, text in _marked(assumptions):
        out.print(hanging(f"  {mark} ", text))


def _marked(assumptions: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """A mark for what is known of every assumption, and its text."""
    lines = []
    for a in assumptions:
        state = str(a["state"])
        mark = {"holds": "[green]✓[/]", "attested": "[green]✓[/]"}.get(state, "[yellow]?[/]")
        if state.startswith("violated"):
            mark = "[red]✗[/]"
        scope = {"claimed": " (claim only)", "certified": " (certified bound only)"}.get(
            str(a["scope"]), ""
        )
        tail = f" — {state[10:]}" if state.startswith("violated") else ""
        kind = " [dim]\\[promise][/]" if state in ("attested", "not attested") else ""
        text = f"{escaped(a['key'])}{scope}: {escaped(a['text'])}{escaped(tail)}{kind}"
        lines.append((mark, text))
    return lines


def capitalised(text: str) -> str:
    """With a capital at the beginning, unless that is a symbol: ε is no Ε, and μ no Μ."""
    return text[:1].upper() + text[1:] if text[:1].isascii() else text


def escaped(text: object) -> str:
    """Text with square brackets kept from being read as markup."""
    from rich.markup import escape

    return escape(printable(str(text)))


def plain_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, whole: Iterable[int] = ()
) -> Table:
    """A table of ready-made cells; the columns numbered in ``whole`` are never broken."""
    from rich.table import Table

    table = Table(box=_box(), pad_edge=False, padding=(0, 1, 0, 0))
    unbroken = frozenset(whole)
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=number in unbroken)
    for row in rows:
        table.add_row(*row)
    return table


def _box() -> Any:
    from rich import box

    return box.SIMPLE_HEAD
