"""``dpcalc epsilon``: claimed next to certified."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._certify import Certificates, certify_option, print_certificate
from dpcalc.cli._epsilon_mechanism import epsilon_command
from dpcalc.cli._fields import listed_mechanisms, offered_mechanisms, plain_mechanisms
from dpcalc.cli._json import print_json
from dpcalc.cli._options import delta_option, json_option
from dpcalc.cli._theorem_verb import TheoremVerb, theorem_from
from dpcalc.extras import need

if TYPE_CHECKING:
    from dpcalc.claims.relations import Relation
    from dpcalc.theorems.base import Theorem


def _run(
    theorem: type[Theorem],
    *,
    delta: float | None,
    as_json: bool,
    plot: Path | None,
    attest: tuple[str, ...],
    certify: Path | None,
    **given: Any,
) -> int:
    from dpcalc.answers.asked import delta_asked
    from dpcalc.answers.budget import Budget
    from dpcalc.claims.relations import relation_of
    from dpcalc.cli._outputs import Writing, check_outputs
    from dpcalc.pictures.saving import check_picture

    if plot is not None:
        need("matplotlib", purpose="--plot")
        check_picture(plot, "--plot")
    certificates = Certificates(certify)
    check_outputs([("--plot", plot), ("--certify", certify)])
    writing = Writing()
    instance = theorem_from(theorem, given, attest)
    relation = relation_of(instance, stated=given.get("adjacency") is not None)
    found = Budget(instance, delta_asked(instance, delta), relation)
    record = found.record()
    if plot is not None:
        from dpcalc.report.claims import draw_claim

        if writing.attempt(lambda: draw_claim(instance, plot, delta=found.delta)):
            record["plot"] = str(plot)
    epsilon = record["certified"]["epsilon"]
    certificates.add_guarantee(
        record, epsilon, found.guarantee, relation.name, found.delta, instance
    )
    status = certificates.write(writing)
    if as_json:
        print_json(record)
    else:
        _print(instance, record, relation)
    writing.settle()
    return status


def _print(theorem: Theorem, record: dict[str, Any], relation: Relation) -> None:
    from dpcalc.report.setting import risk_line, setting_lines
    from dpcalc.report.text import (
        capitalised,
        claimed_and_certified,
        console,
        escaped,
        print_assumptions,
        print_findings,
        ratio_line,
        upper,
        verdict_text,
    )

    out = console()
    out.print(f"[bold]{theorem.title}[/]  ({escaped(theorem.reference)})")
    for line in setting_lines(record, relation):
        out.print(escaped(line))
    where = f"claim at δ = {upper(record['claimed']['delta'])}"
    out.print(verdict_text(where, record))
    out.print(claimed_and_certified(record))
    out.print(ratio_line(record))
    if record["verdict"] == "UNSUPPORTED":
        out.print(f"{escaped(capitalised(record['reason']))}.")
    certified = record["certified"]
    if risk := risk_line(certified["attack_accuracy"], relation.name):
        out.print(risk)
    out.print(f"[dim]certified by: {escaped(certified['method'])}[/]")
    print_findings(out, record["findings"])
    print_assumptions(out, record["assumptions"])
    print_certificate(record)


_delta: Any = delta_option()(lambda: None)
_json: Any = json_option(lambda: None)
_plot = click.Option(
    ["--plot"],
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw ε at every δ: claimed, certified, attained (png, pdf, svg).",
)


class _Budgets(TheoremVerb):
    """Theorems, and mechanisms besides."""

    _named = "theorem or mechanism"

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *offered_mechanisms()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from dpcalc.claims.named import mechanism_key

        name = mechanism_key(cmd_name)
        if name in plain_mechanisms():
            return epsilon_command(name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from dpcalc.theorems.catalogue import keys, result

        with formatter.section("Theorems"):
            formatter.write_dl([(key, result(key).title) for key in keys(privacy=True)])
        with formatter.section("Mechanisms"):
            formatter.write_text(listed_mechanisms())


command = _Budgets(
    name="epsilon",
    subcommand_metavar="NAME [OPTIONS]",
    short_help="The budget of a paper's algorithm or a mechanism.",
    more=("--delta 1e-5",),
    run=_run,
    extra=[*_delta.__click_params__, _plot, certify_option(), *_json.__click_params__],
    help="""The budget of a published result, claimed next to certified; or of a mechanism.

\b
Example:
  dpcalc epsilon dp-admm --n-records 32561 --rounds 100 --gradient-bound 1 \\
      --sigma 0.01 --dual-start zero --delta 1e-5
Example: DP-SGD
  dpcalc epsilon dp-sgd --noise-multiplier 1 --rate 0.01 --rounds 1000 \\
      --delta 1e-5

A certificate of the answer: --certify out.json, then dpcalc check out.json.
A schedule is a number, START:FACTOR, or @file (one value a line, or one column per node).
""",
)
