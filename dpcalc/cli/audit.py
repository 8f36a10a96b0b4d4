"""``dpcalc audit``: attack a mechanism, and say what would have been noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpcalc.cli._auditing import audited
from dpcalc.cli._kept import checkpoint_options
from dpcalc.cli._memory import memory_option
from dpcalc.cli._options import (
    NUMBER,
    AtLeast,
    Whole,
    completing,
    completing_in,
    json_option,
    one_of,
)
from dpcalc.cli._recorded import RecordedCommand, recorded_options
from dpcalc.cli._workers import workers_options

_RELEASES = ("every-iterate", "every-message", "last-iterate")
_ADJACENCIES = ("add-remove", "replace-one", "neighbouring-functions")


def _keys() -> list[str]:
    from dpcalc.audits.suite.catalogue import keys

    return list(keys())


def _case_names(ctx: click.Context) -> list[str]:
    from dpcalc.audits.suite.catalogue import audit_of, keys

    # An option whose value is still missing leaves the argument unread.
    known = [word for word in (ctx.params.get("target"), *ctx.args) if word in keys()]
    return [case.key for target in known for case in audit_of(target).cases]


def _methods(ctx: click.Context) -> list[str]:
    from dpcalc.auditing import METHODS

    del ctx
    return list(METHODS)


def _theorems() -> list[str]:
    from dpcalc.theorems.catalogue import keys

    return keys(privacy=True)


@click.command("audit", cls=RecordedCommand, short_help="Attack a mechanism or recorded scores.")
@click.argument("target", required=False, shell_complete=completing(_keys))
@click.option(
    "--case",
    "names",
    multiple=True,
    metavar="NAME",
    shell_complete=completing_in(_case_names),
    help="A case of a built-in audit; repeatable.",
)
@click.option("--bugs", is_flag=True, help="Planted bugs as well: every one must be caught.")
@click.option(
    "--claim",
    "text",
    metavar="NAME=VALUE,...",
    help="What is attacked: eps=1,delta=1e-5, or mu=0.5,delta=1e-5.",
)
@click.option(
    "--theorem",
    metavar="THEOREM",
    shell_complete=completing(_theorems),
    help="Instead of --claim: what a theorem claims, with --set and --delta.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of --theorem; repeatable.",
)
@click.option(
    "--certified",
    is_flag=True,
    help="Attack the certified bound of --theorem instead of the printed one.",
)
@click.option("--delta", type=NUMBER, default="1e-5", show_default=True, help="δ of --theorem.")
@click.option(
    "--adjacency",
    metavar="|".join(_ADJACENCIES),
    callback=one_of("adjacency", _ADJACENCIES),
    shell_complete=completing(lambda: _ADJACENCIES),
    help="Neighbouring relation of --claim; the target's unless given.",
)
@click.option(
    "--release",
    metavar="|".join(_RELEASES),
    callback=one_of("release", _RELEASES),
    shell_complete=completing(lambda: _RELEASES),
    help="What --claim is about; the target's unless given.",
)
@recorded_options
@click.option("--runs", type=Whole(10), help="Counted runs per case.")
@click.option(
    "--methods",
    metavar="NAME,...",
    shell_complete=completing_in(_methods, several=True),
    help="The lower bounds that may refute, such as accuracy,clopper-pearson, and no other; by default "
    "the strongest for what is claimed and known.",
)
@click.option(
    "--seconds",
    type=AtLeast(0, above=True),
    help="Time for all; less is run where it does not suffice, and the report says so.",
)
@click.option(
    "--alpha", type=NUMBER, default="1e-4", show_default=True, help="Chance of a false alarm."
)
@click.option(
    "--detectable-ratio",
    type=AtLeast(1),
    default=2.0,
    show_default=True,
    help="Enough power: this many times the claimed value would be noticed.",
)
@click.option("--seed", type=Whole(0), help="Repeat an audit exactly.")
@click.option(
    "--early-stop/--no-early-stop",
    default=True,
    help="Stop when bets have refuted the claim (default, unless --methods names none that bets); "
    "they hold whenever one stops.",
)
@click.option("--controls/--no-controls", default=True, help="Run known mechanisms too (default).")
@memory_option
@checkpoint_options
@workers_options
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a report: .html (one page, no network), .md or .json.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Carry out every built-in audit, bugs included, and write the dated page.",
)
@json_option
def command(target: str | None, **given: Any) -> int:
    r"""Attack TARGET: a built-in audit (dp-admm), or module:object from the current folder.

    Without TARGET: the built-in audits, or a verdict on recorded --scores, --transcripts, --counts.

    \b
    Examples:
      dpcalc audit dp-admm --report dp-admm.html
      dpcalc audit dp-admm --case zero-start --claim eps=0.5,delta=1e-3
      dpcalc audit mine:target --claim eps=1,delta=1e-5 --runs 20000
      dpcalc audit --scores in.csv out.csv --claim eps=1,delta=1e-5 \
          --adjacency add-remove

    An audit refutes, or says how large a violation it would have noticed; it never shows privacy.
    module:object is imported from the current folder and run, with your rights: audit only code
    that you would run.

    Exit status: 0 not refuted with enough power, 1 refuted, 2 bad use, 3 underpowered,
    4 a precondition failed (the noise is not as modelled, runs are not independent).
    """
    return audited(target, given)
