"""``dpcalc calibrate``: leave one field of a mechanism open and get it from a budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._options import NUMBER, StrictCommand, delta_option, json_option
from dpcalc.errors import InvalidInput

if TYPE_CHECKING:
    from dpcalc.claims.calibration import Solution

_FIELDS = (
    ("noise_multiplier", "Noise standard deviation over sensitivity."),
    ("scale_multiplier", "Noise scale over sensitivity."),
    ("rate", "Probability with which a record is sampled."),
    ("sample", "Records sampled a round: the batch size."),
    ("population", "Records in all."),
    ("dimension", "Coordinates of the noise."),
)


@click.command("calibrate", cls=StrictCommand, short_help="One open field from a budget.")
@click.argument("mechanism")
@click.option("--epsilon", type=NUMBER, required=True, help="ε of the budget.")
@delta_option()
@click.option(
    "--rounds",
    type=NUMBER,
    help="How often the mechanism is used; once unless given, if another field is open.",
)
@click.option("--each", type=NUMBER, help="ε of one round of randomised response.")
@click.option("--adjacency", help="add-remove or replace-one (Poisson sampling).")
@json_option
def command(
    mechanism: str,
    epsilon: float,
    delta: float | None,
    rounds: float | None,
    each: float | None,
    adjacency: str | None,
    as_json: bool,
    **fields: float | None,
) -> None:
    r"""Solve for the one field of a mechanism that is left out, on the safe side.

    \b
    The smallest noise for one use:
      dpcalc calibrate gaussian --epsilon 1 --delta 1e-5
    The smallest noise for 10,000 rounds:
      dpcalc calibrate poisson-subsampled-gaussian --rate 0.01 --rounds 1e4 \
          --epsilon 2 --delta 1e-5
    The most rounds at that noise:
      dpcalc calibrate poisson-subsampled-gaussian --rate 0.01 --noise-multiplier 1.5 \
          --epsilon 2 --delta 1e-5
    The largest batch out of 50,000 records:
      dpcalc calibrate poisson-subsampled-gaussian --population 50000 --rounds 1e4 \
          --noise-multiplier 1.5 --epsilon 2 --delta 1e-5

    \b
    Mechanisms and their fields:
      gaussian                       noise-multiplier
      laplace                        scale-multiplier
      exponential-norm               scale-multiplier dimension
      randomised-response            each
      poisson-subsampled-gaussian    noise-multiplier, rate or sample and population, [adjacency]
      gaussian-without-replacement   noise-multiplier sample population
    """
    from dpcalc import checks
    from dpcalc.claims.calibration import solve
    from dpcalc.claims.mechanisms import mechanism_fields
    from dpcalc.report.records import to_json

    table: dict[str, Any] = {"mechanism": mechanism}
    given = {**fields, "epsilon": each, "adjacency": adjacency}
    table |= {name: value for name, value in given.items() if value is not None}
    if set(mechanism_fields(mechanism)) & {"p", "points"}:
        raise InvalidInput(f"{mechanism} has no field that can be solved for")
    count = None if rounds is None else checks.count("rounds", rounds)
    delta = 0.0 if delta is None else checks.delta(delta)
    found = solve(table, count, epsilon, delta)
    record = _record(found, epsilon, delta)
    if as_json:
        click.echo(to_json(record))
    else:
        _print(found, record)


for _name, _help in _FIELDS:
    command.params.append(click.Option(["--" + _name.replace("_", "-")], type=NUMBER, help=_help))


def _record(found: Solution, epsilon: float, delta: float) -> dict[str, Any]:
    bracket = getattr(found.guarantee, "bracket", None)
    record: dict[str, Any] = {
        "mechanism": dict(found.table),
        "rounds": found.rounds,
        "solved_for": found.field,
        "value": found.value,
        "budget": {"epsilon": epsilon, "delta": delta},
        "epsilon": found.guarantee.epsilon(delta),
    }
    if bracket is not None and delta > 0:
        enclosure = bracket(delta)
        record |= {"epsilon_lower": enclosure.lower, "method": enclosure.method}
    return record


def _print(found: Solution, record: dict[str, Any]) -> None:
    from dpcalc.report.text import console, escaped, lower, upper

    out = console()
    whole = found.field in ("rounds", "sample")
    smaller = found.field in ("noise_multiplier", "scale_multiplier")
    shown = f"{int(found.value):,}" if whole else (upper if smaller else lower)(found.value, 8)
    budget = record["budget"]
    out.print(f"[bold]{found.field.replace('_', ' ')} = {shown}[/]")
    out.print(
        f"the {'smallest' if smaller else 'largest'} that is certified to meet ε = "
        f"{budget['epsilon']:g} at δ = {budget['delta']:g} over {found.rounds:,} "
        f"round{'s' if found.rounds != 1 else ''}; it spends ε = {upper(record['epsilon'], 8)}"
    )
    if "method" in record and math.isfinite(record["epsilon_lower"]):
        out.print(
            f"[dim]{escaped(record['method'])}; the exact value is at least "
            f"{lower(record['epsilon_lower'], 8)}[/]"
        )
