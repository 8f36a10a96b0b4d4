"""``dpcalc calibrate``: leave one field of a mechanism open and get it from a budget."""

from __future__ import annotations

from typing import Any

import click

from dpcalc.cli._certify import certify_option
from dpcalc.cli._fields import field_options, offered_mechanisms
from dpcalc.cli._options import (
    NUMBER,
    StrictCommand,
    adjacency_option,
    completing,
    delta_option,
    json_option,
)
from dpcalc.cli._solving import solved


@click.command(
    "calibrate", cls=StrictCommand, short_help="The noise, rate, batch or rounds that fit a budget."
)
@click.argument("mechanism", shell_complete=completing(offered_mechanisms))
@click.option("--epsilon", type=NUMBER, required=True, help="ε of the budget.")
@delta_option()
@click.option(
    "--rounds",
    type=NUMBER,
    help="How often the mechanism is used; once unless given, if another field is open.",
)
@click.option("--each", type=NUMBER, help="ε of one round of randomised response.")
@adjacency_option
@json_option
def command(mechanism: str, **given: Any) -> int:
    r"""Solve for the one field of a mechanism that is left out, on the safe side.

    \b
    Example: the smallest noise for one use
      dpcalc calibrate gaussian --epsilon 1 --delta 1e-5
    Example: the smallest noise for 10,000 rounds of DP-SGD
      dpcalc calibrate dp-sgd --rate 0.01 --rounds 1e4 --epsilon 2 --delta 1e-5
    Example: the most rounds at that noise
      dpcalc calibrate dp-sgd --rate 0.01 --noise-multiplier 1.5 \
          --epsilon 2 --delta 1e-5
    Example: the largest batch out of 50,000 records
      dpcalc calibrate dp-sgd --population 50000 --rounds 1e4 \
          --noise-multiplier 1.5 --epsilon 2 --delta 1e-5

    DP-SGD is another name of poisson-subsampled-gaussian. A certificate of what is spent:
    --certify out.json, then dpcalc check out.json.

    \b
    Mechanisms and their fields:
      gaussian                       noise-multiplier | noise-over-sensitivity
      laplace                        scale-multiplier | scale-over-sensitivity
      exponential-norm               scale-multiplier | scale-over-sensitivity,
                                     dimension
      randomised-response            each
      poisson-subsampled-gaussian    noise-multiplier,
                                     rate | sample and population
      gaussian-without-replacement   noise-multiplier, sample, population

    A multiplier is the noise over the largest norm of one record's contribution (the clipping norm),
    as in DP-SGD. Adding or removing a record moves a sum by that norm, replacing one by twice as much.
    Noise over sensitivity is relative to how far two neighbours are apart.
    """
    return solved(mechanism, **given)


command.params.append(certify_option())
command.params.extend(field_options())
