"""``dpcalc verify``: a verdict for every claim of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpcalc.cli._certify import certify_option
from dpcalc.cli._judging import judge
from dpcalc.cli._kept import checkpoint_options
from dpcalc.cli._memory import memory_option
from dpcalc.cli._options import NUMBER, StrictCommand, Whole, json_option, report_option
from dpcalc.cli._workers import workers_options


@click.command(
    "verify", cls=StrictCommand, short_help="Is a claimed budget true? A verdict per claim."
)
@click.argument("file", required=False, type=click.Path(path_type=Path, readable=False))
@click.option("--audit", is_flag=True, help="Attack every claim too: evidence next to the proof.")
@click.option(
    "--alpha",
    type=NUMBER,
    default="1e-4",
    show_default=True,
    help="Chance of a false alarm of --audit.",
)
@click.option(
    "--runs",
    type=Whole(10),
    default=1000,
    show_default=True,
    help="Runs of each attack of --audit.",
)
@click.option(
    "--seed",
    type=Whole(0),
    default=1,
    show_default=True,
    help="Seed of --audit; the same seed repeats it.",
)
@memory_option
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a test case per claim, for continuous integration.",
)
@report_option
@click.option(
    "--strict",
    is_flag=True,
    help="Exit status 1 for UNSUPPORTED too, and without FILE; a failure in --junit.",
)
@click.option("--details", is_flag=True, help="Texts of promises and reasons for chosen values.")
@checkpoint_options
@workers_options
@json_option
def command(file: Path | None, **given: Any) -> int:
    r"""A verdict per claim: HOLDS, LOOSE (by how much), REFUTED (why), UNSUPPORTED (what is missing).

    Without FILE, a demonstration: the headline settings of the five papers.

    \b
    A claims file (TOML):
      [[claim]]
      name = "my run"
      theorem = "dp-admm"
      epsilon = 1               # without it: the paper's formula
      delta = 1e-5
      attest = ["gradient-bound", "public-parameters"]     # or "all"
      [claim.parameters]        # without the noise: the paper's for epsilon
      n_records = 32561
      rounds = 100
      gradient_bound = 1
      dual_start = "zero"
      [claim.ours]              # why, where the source gives no value
      rounds = "not given; 100 taken"

    \b
    A claim may be about a list of releases, as `dpcalc compose` reads them:
      [[claim]]
      name = "our system"
      epsilon = 1
      delta = 1e-5
      rounds = "rounds.csv"     # next to this file; or [[claim.release]]
      notes = ["round"]         # its columns that are not read

    \b
    Examples:
      dpcalc verify
      dpcalc new claim ours && dpcalc verify ours.toml --strict

    With --audit the worst mechanism known with the claim's parameters is attacked as well.

    \b
    Exit status   claims of FILE              without FILE, a demonstration
      0           none is refuted             always, but for --strict
      1           one is REFUTED, by an       with --strict as for FILE
                  instance or an attack;
                  --strict: or UNSUPPORTED
      2           the file cannot be read, or makes no sense
    """
    return judge(file, **given)


command.params.append(certify_option())
