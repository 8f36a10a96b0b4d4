"""``dpcalc plot MECHANISM``: ε over δ, rounds or a field; the open field over a budget."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from dpcalc.cli._fields import EXAMPLES, FIELD_OF, each_option, field_options, table_of
from dpcalc.cli._options import NUMBER, StrictCommand, adjacency_option
from dpcalc.cli._plotting import (
    Axis,
    axis_of,
    axis_options,
    delta_options,
    file_options,
    files_of,
    finish,
    one_by_one,
)
from dpcalc.errors import InvalidInput, missing_delta

if TYPE_CHECKING:
    from dpcalc.pictures.curves import Picture


def mechanism_command(name: str) -> click.Command:
    """The command of one mechanism, with the options of its fields."""
    from dpcalc.claims.named import mechanism

    fields = mechanism(name).fields
    holder: Any = adjacency_option(lambda: None)
    own: list[click.Parameter] = [*field_options(fields)]
    if "epsilon" in fields:
        own.append(each_option())
    words = EXAMPLES[name]
    return StrictCommand(
        name=name,
        callback=lambda **given: _run(name, **given),
        params=[
            *own,
            click.Option(
                ["--rounds"], type=NUMBER, help="How often it is used; once unless given."
            ),
            *holder.__click_params__,
            *axis_options(
                "What is varied: δ; ε of the budget (what is left out answers); or a field.",
                names=lambda _: ("delta", "epsilon", "rounds", *_options_of(fields)),
            ),
            *delta_options(),
            *file_options(),
        ],
        help=f"The certified ε of {name}, or what meets a budget, as a curve.\n\n"
        f"\b\nExample:\n  dpcalc plot {name} \\\n      {words} \\\n      --points 5 --out epsilon.svg",
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _run(
    name: str, *, delta: float | None, adjacency: str | None, rounds: float | None, **given: Any
) -> None:
    from dpcalc import checks
    from dpcalc.report.mechanism_curves import mechanism_note

    files = files_of(given)
    axis = axis_of(given)
    table = table_of(name, given)
    if adjacency is not None:
        table["adjacency"] = adjacency
    count = None if rounds is None else checks.count("rounds", rounds)
    varied = _varied(name, axis, table, count)
    at = 0.0 if delta is None else checks.delta(delta)
    picture = _picture(table, count, axis, varied, at)
    if varied != "rounds" and picture.y != "rounds":
        count = count or 1
    hidden = FIELD_OF.get(picture.y, picture.y) if varied == "budget" else varied
    note = mechanism_note(
        table,
        count,
        varied="" if hidden in ("delta", "rounds", "budget") else hidden,
        delta=None if varied == "delta" else at,
    )
    finish(picture, files, title=_title(name), setting=note, about={"mechanism": name})


def _varied(name: str, axis: Axis, table: dict[str, Any], rounds: int | None) -> str:
    """The field that is varied, "delta", "rounds", or "budget" where what is left out answers.

    Raises:
        InvalidInput: for no field, and one that is given a value too.
    """
    from dpcalc.claims.named import mechanism
    from dpcalc.claims.tables import as_real

    if axis.name in ("delta", "epsilon"):
        return "budget" if axis.name == "epsilon" else "delta"
    field = FIELD_OF.get(axis.name, axis.name)
    known = [f for f in mechanism(name).fields if f != "adjacency"]
    if field != "rounds" and field not in known:
        options = ", ".join(["rounds", *_options_of(known)])
        raise InvalidInput(
            f"--over needs delta, epsilon or a field of {name} ({options}); got "
            f"{axis.name.replace('_', '-')!r}"
        )
    given = rounds if field == "rounds" else table.get(field)
    if given is not None:
        option = "--" + axis.name.replace("_", "-")
        value = f"{as_real(field, given):g}"
        raise InvalidInput(f"{option} is what the picture varies; got {value}; leave it out")
    return field


def _picture(
    table: dict[str, Any], rounds: int | None, axis: Axis, varied: str, delta: float
) -> Picture:
    from dpcalc.claims.mechanisms import guarantee_from
    from dpcalc.claims.solve import solve
    from dpcalc.report.mechanism_curves import WHOLE, epsilon_over, field_over_epsilon

    name = str(table["mechanism"])
    if varied == "budget":
        field = solve(table, rounds, axis.high, delta).field
        return field_over_epsilon(table, rounds, field, one_by_one(axis.places()), delta)
    places = axis.places(whole=varied in WHOLE)
    if varied != "delta":
        filled = table if varied == "rounds" else {**table, varied: places[-1]}
        if delta == 0 and guarantee_from(name, filled)[0].needs_delta():
            raise missing_delta(name)
    return epsilon_over(table, rounds or 1, varied, one_by_one(places), delta)


def _options_of(fields: Iterable[str]) -> list[str]:
    """Fields as the command line spells them."""
    return ["each" if f == "epsilon" else f.replace("_", "-") for f in fields if f != "adjacency"]


def _title(name: str) -> str:
    return name.replace("-", " ").capitalize().replace("gaussian", "Gaussian")
