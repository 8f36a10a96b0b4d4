"""``dpcalc compose``: any list of releases, one budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpcalc.cli._certify import certify_option
from dpcalc.cli._composing import composed
from dpcalc.cli._options import (
    StrictCommand,
    adjacency_option,
    delta_option,
    json_option,
    report_option,
)


@click.command("compose", cls=StrictCommand, short_help="One budget for a list of releases.")
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@delta_option()
@adjacency_option
@click.option(
    "--notes",
    metavar="COLUMN[,COLUMN...]",
    default="",
    help="Columns of the table of rounds that are notes and not read.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw ε over δ with its enclosure.",
)
@report_option
@json_option
def command(file: Path, **given: Any) -> int:
    r"""The budget of any list of mechanisms, theorems and bare guarantees with counts.

    \b
    A composition file (TOML):
      delta = 1e-6
      epsilon = 8                  # optional: exit status 1 if exceeded
      adjacency = "add-remove"     # or "replace-one"; optional, for all releases
      [[release]]
      mechanism = "poisson-subsampled-gaussian"
      noise_multiplier = 1
      rate = 0.01
      count = 1000
      [[release]]
      theorem = "dp-admm"
      [release.parameters]
      n_records = 32561
      ...
      [[release]]
      pure = 0.1           # or zcdp, gdp, approx = [ε, δ], rdp = {2 = 0.1}
      count = 50

    rounds = "rounds.csv" reads releases from a table: one a row, fields as columns. FILE may be such
    a table itself; give --delta then. (ε, δ) rounds have columns epsilon and delta; a column rdp has
    cells such as 2:0.1 8:0.5 (order:divergence); a column note is not read.

    \b
    Examples:
      dpcalc new plan plan && dpcalc compose plan.toml
      dpcalc compose plan.toml --report plan.html
      dpcalc compose plan.toml --certify out.json && dpcalc check out.json

    \b
    Mechanisms and their fields:
      gaussian                       noise_multiplier | noise_over_sensitivity
      laplace                        scale_multiplier | scale_over_sensitivity
      exponential-norm               scale_multiplier | scale_over_sensitivity,
                                     dimension
      randomised-response            epsilon
      poisson-subsampled-gaussian    noise_multiplier,
                                     rate | sample and population
      gaussian-without-replacement   noise_multiplier, sample, population
      finite-distributions           p, q, adjacency: probabilities of the same
                                     outcomes; add-remove: p with the record,
                                     else in either order
      profile                        points: list of [ε, δ] pairs that hold

    A multiplier is the noise over the largest norm of one record's contribution (the clipping norm).
    Adding or removing a record moves a sum by that norm, replacing one by twice as much. Noise over
    sensitivity is relative to how far two neighbours are apart. Every release may say its adjacency;
    all must agree.
    """
    return composed(file, **given)


command.params.append(certify_option())
