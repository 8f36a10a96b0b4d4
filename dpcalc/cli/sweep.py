"""``dpcalc sweep``: one question over a grid of settings, answered in a tidy table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpcalc.cli._kept import checkpoint_options
from dpcalc.cli._options import StrictCommand, json_option
from dpcalc.cli._sweeping import swept
from dpcalc.cli._workers import workers_options


@click.command("sweep", cls=StrictCommand, short_help="One question over a grid of settings.")
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all rows to this .csv, or .parquet (extra scale).",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the answer over the longest axis of numbers, a line for every setting of the others; "
    "of trainings their error over certified ε, means over seeds.",
)
@workers_options
@checkpoint_options
@json_option
def command(file: Path, **given: Any) -> int:
    r"""Ask about every setting of a grid: a row for each, with what it spends.

    \b
    FILE (TOML) names what is asked, and what is varied:
      theorem = "dp-admm"            # or mechanism, audit, run
      delta = 1e-6
      attest = "all"
      [parameters]
      n_records = 32561
      gradient_bound = 1
      dual_start = "zero"
      rounds = [10, 100, 1000]       # a list is an axis
      # or {from = 10, to = 1000, count = 20, scale = "log", whole = true}
      sigma = {from = 0.001, to = 0.1, count = 50, scale = "log"}   # a range too

    \b
    Examples:
      dpcalc sweep grid.toml --out grid.csv --plot grid.png
      dpcalc sweep grid.toml --out grid.csv --workers 2 --checkpoint grid.sqlite

    certified is an upper bound of the setting's own ε, at most tolerance (0.001) above the narrowest
    that dpcalc gives. With tolerance = 0.01 in the file, neighbours along the noise or δ share what
    is computed, and thousands of settings cost as much as a few hundred.
    A setting that makes no sense keeps its row, with the reason in the column refused.

    Exit status: 0 answered, 2 bad use or every setting refused, 75 workers went away or hung.
    """
    return swept(file, **given)
