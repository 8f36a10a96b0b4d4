"""``dpcalc theorems``: the ledger, or one result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dpcalc.cli._json import print_json
from dpcalc.cli._options import StrictCommand, completing, json_option
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from dpcalc.theorems.result import Result

R = TypeVar("R", bound="Result")
_STATUSES = {
    "sound": "proved, nothing smaller known",
    "loose": "proved, a smaller bound is certified",
    "false for some settings": "some instances exceed it",
}
"""What became of a printed statement in general, and what the word means."""


def _keys() -> list[str]:
    from dpcalc.theorems.catalogue import keys

    return keys()


@click.command(
    "theorems", cls=StrictCommand, short_help="The published results and what is wrong in them."
)
@click.argument("key", required=False, shell_complete=completing(_keys))
@click.option(
    "--tightness",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page with what is attained over what is certified, for all (a minute or two).",
)
@json_option
def command(key: str | None, tightness: Path | None, as_json: bool) -> None:
    r"""The published results and their status, or those of one paper; or one result in full.

    \b
    Examples:
      dpcalc theorems
      dpcalc theorems zhang2018
      dpcalc theorems dp-admm
      dpcalc theorems --tightness docs/tightness.md
    """
    from dpcalc.report.records import description
    from dpcalc.theorems.catalogue import keys_of, result, results

    if tightness is not None:
        if key is not None or as_json:
            raise InvalidInput("--tightness FILE goes alone; leave out the key and --json")
        _write_tightness(tightness)
        return
    found = list(results()) if key is None else [result(one) for one in keys_of(key) or [key]]
    if as_json:
        print_json({"theorems": [description(each) for each in found]})
    elif len(found) == 1:
        _print_one(description(found[0]))
    else:
        _print_ledger(found)


def _write_tightness(path: Path) -> None:
    from rich.console import Console

    from dpcalc.report.tightness import page, rows

    try:
        with path.open("a", encoding="utf-8"):  # before a minute of work, not after
            pass
        with Console(stderr=True).status("theorems") as status:
            found = rows(status.update)
        path.write_text(page(found), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"--tightness needs a writable file ({error})") from error


def _print_ledger(found: list[type[Result]]) -> None:
    from dpcalc.report.text import console, hanging, status_text
    from dpcalc.theorems.base import Theorem

    out = console()
    privacy = [r for r in found if issubclass(r, Theorem)]
    others = [r for r in found if not issubclass(r, Theorem)]
    column = max(len(r.key) for r in found)
    if privacy:
        out.print("[bold]Privacy results[/]: their status as printed, and what may be released")
    for paper, of_paper in _by_paper(privacy):
        out.print(f"\n{paper}")
        for r, place in of_paper:
            out.print(f"  [bold]{r.key:<{column}}[/]  {status_text(r.status.value)}")
            out.print(hanging("    ", f"{place}; {_releases(r.releases)}"))
    if others:
        out.print("\n[bold]Convergence and utility results[/]")
        for paper, shown in _by_paper(others):
            out.print(f"\n{paper}")
            for other, place in shown:
                out.print(hanging(f"  [bold]{other.key:<{column}}[/]  ", place))
    out.print("\n[bold]As printed[/]")
    width = max(map(len, _STATUSES))
    for status, meaning in _STATUSES.items():
        out.print(hanging(f"  {status_text(status)}{' ' * (width - len(status))}  ", meaning))
    out.print("The verdict on one instance: dpcalc epsilon, dpcalc verify")
    out.print(f"One in full: dpcalc theorems {(privacy or others)[0].key}")


def _by_paper(found: Iterable[type[R]]) -> list[tuple[str, list[tuple[type[R], str]]]]:
    """The results of every paper, each with its place there; papers in the order they come."""
    papers: dict[str, list[tuple[type[R], str]]] = {}
    for each in found:
        paper, place = re.split(r"(?<=\d{4}), ", each.reference, maxsplit=1)
        papers.setdefault(paper, []).append((each, place))
    return list(papers.items())


def _print_one(record: Mapping[str, Any]) -> None:
    from dpcalc.report.text import console, escaped, hanging, plain_table, status_text

    out = console()
    out.print(f"[bold]{record['key']}[/]  {escaped(record['title'])}")
    out.print(escaped(record["reference"]))
    if "status" in record:
        out.print(
            f"as printed: {status_text(record['status'])}    release: {_releases(record['releases'])}"
        )
    out.print("\n[bold]Statement[/]")
    out.print(hanging("  ", escaped(record["statement"])))
    out.print("\n[bold]Findings[/]")
    for finding in record["findings"]:
        out.print(hanging("  • ", f"{status_text(finding['bearing'])}: {escaped(finding['text'])}"))
    out.print(
        "\n[bold]Assumptions[/] (a promise is yours to make: --attest KEY; the rest is checked)"
    )
    for a in record["assumptions"]:
        out.print(hanging("  • ", f"{a['key']}{_marks(a)}: {escaped(a['text'])}"))
    out.print("\n[bold]Formulas[/] (for the example)")
    for formula in record["formulas"]:
        out.print(hanging("  ", f"{formula['name']} = {escaped(formula['readable'])}"))
    out.print("\n[bold]Parameters[/]")
    rows = [
        (
            p["option"],
            escaped(p["help"]) + (f" ({' | '.join(p['choices'])})" if "choices" in p else ""),
            _need(p),
        )
        for p in record["parameters"]
    ]
    out.print(plain_table(("option", "meaning", ""), rows, whole=(0, 2)))
    example = " ".join(
        f"--{k.replace('_', '-')}" + ("" if v is True else f" {v}")
        for k, v in record["example"].items()
    )
    verb = "epsilon" if "status" in record else "rate"
    out.print(
        f"[bold]Example[/]\n  dpcalc {verb} {record['key']} {escaped(example)}", soft_wrap=True
    )


def _releases(found: Iterable[str]) -> str:
    *others, last = (str(release) for release in found)
    return f"{', '.join(others)} or {last}" if others else last


def _marks(assumption: Mapping[str, Any]) -> str:
    """Whether it is a promise, and which of the two bounds needs it if only one does."""
    marks = ["promise"] if assumption["kind"] == "promised" else []
    marks += {"claimed": ["claim only"], "certified": ["certified bound only"]}.get(
        assumption["scope"], []
    )
    return f" [dim]({', '.join(marks)})[/]" if marks else ""


def _need(parameter: Mapping[str, Any]) -> str:
    if parameter["required"]:
        return "required"
    return f"default: {parameter['default']}" if "default" in parameter else "optional"
