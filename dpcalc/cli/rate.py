"""``dpcalc rate``: convergence and utility, claimed next to certified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcalc.cli._json import print_json
from dpcalc.cli._options import json_option
from dpcalc.cli._theorem_verb import TheoremVerb

if TYPE_CHECKING:
    from dpcalc.theorems.convergence._base import ConvergenceResult


def _run(
    theorem: type[ConvergenceResult],
    *,
    as_json: bool,
    attest: tuple[str, ...],
    **given: Any,
) -> None:
    from dpcalc.report.rates import comparison

    known = {name: value for name, value in given.items() if value is not None}
    result = theorem.from_parameters(known, attest, as_options=True)
    record = comparison(result)
    if as_json:
        print_json(record)
    else:
        _print(result, record)


def _print(result: ConvergenceResult, record: dict[str, Any]) -> None:
    from dpcalc.report.rates import table, verdict_line
    from dpcalc.report.text import (
        console,
        escaped,
        print_assumptions,
        print_findings,
        verdict_text,
    )

    out = console()
    out.print(f"[bold]{escaped(result.title)}[/]  ({escaped(result.reference)})")
    out.print(f"bounded: {escaped(record['quantity'])}")
    out.print(verdict_text("claim", record))
    out.print(table(record))
    out.print(escaped(verdict_line(record)))
    out.print(f"[dim]certified by: {escaped(record['certified']['method'])}[/]")
    if record["attained"] is not None:
        out.print(f"[dim]attained by: {escaped(record['attained']['method'])}[/]")
    print_findings(out, record["findings"])
    print_assumptions(out, record["assumptions"])


_json: Any = json_option(lambda: None)

command = TheoremVerb(
    name="rate",
    short_help="How fast and how well a paper's algorithm converges.",
    run=_run,
    extra=_json.__click_params__,
    privacy=False,
    help="""Convergence and utility of a method: what the paper claims next to what is certified.

\b
Example:
  dpcalc rate m-admm-rate --graph complete:3 --penalty 1 --dual-step 0.5 \\
      --strong-convexity 0.01 --smoothness 0.01

A graph is ring:5, complete:3, star:6, path:4 or @file (two node names a line); a matrix is
@file (comma-separated rows) or a number, a multiple of the identity; a schedule is a number,
START:FACTOR or @file (one line per round, one column per node). Free constants are chosen as well
as possible unless given.
""",
)
