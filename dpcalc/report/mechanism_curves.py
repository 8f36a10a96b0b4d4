"""Curves of a named mechanism: ε over δ, the rounds or a field; the open field over a budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import dpcalc
from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.claims.mechanisms import guarantee_from
from dpcalc.claims.named import UNITS, mechanism
from dpcalc.claims.relations import Basis
from dpcalc.claims.solve import solve
from dpcalc.guarantees.composition import compose
from dpcalc.numerals import spelt, unpadded
from dpcalc.pictures.curves import Picture, asked
from dpcalc.report.theorem_curves import WIDTH
from dpcalc.vocabulary import Adjacency

_CERTIFIED = ("certified",)

EACH = "each"
"""What ε of one round is called where ε of all of them is another number."""

WHOLE = ("rounds", "sample", "population", "dimension")
"""Fields that take whole numbers."""


def epsilon_over(
    table: Mapping[str, Any], rounds: int, name: str, values: Iterable[float], delta: float
) -> Picture:
    """The certified ε of all rounds together, over one number.

    Args:
        table: the mechanism with its fields but for the varied one.
        rounds: how often it is used, where that is not varied.
        name: "delta", "rounds" or a field.
        values: the places.
        delta: where δ is not varied.
    """

    def at(value: float) -> Mapping[str, float | None]:
        given = dict(table) if name in ("delta", "rounds") else {**table, name: value}
        count = int(value) if name == "rounds" else rounds
        guarantee = compose((guarantee_from(str(table["mechanism"]), given)[0], count))
        return {"certified": guarantee.epsilon(value if name == "delta" else delta)}

    with with_relative_width(WIDTH):
        curves, reasons = asked(values, _CERTIFIED, at)
    x = EACH if name == "epsilon" else name
    return Picture(x, "epsilon", curves, x_label=_unit(name), left_out=reasons)


def field_over_epsilon(
    table: Mapping[str, Any],
    rounds: int | None,
    field: str,
    epsilons: Iterable[float],
    delta: float,
) -> Picture:
    """The field that the table leaves open, for every budget; arguments as of `solve`."""

    def at(epsilon: float) -> Mapping[str, float | None]:
        return {"certified": float(solve(table, rounds, epsilon, delta).value)}

    with with_relative_width(WIDTH):
        curves, reasons = asked(epsilons, _CERTIFIED, at)
    y = EACH if field == "epsilon" else field
    return Picture("epsilon", y, curves, y_label=_unit(field), left_out=reasons)


def mechanism_note(
    table: Mapping[str, Any], rounds: int | None, *, varied: str = "", delta: float | None = None
) -> str:
    """For the foot of a picture: fields, rounds, δ, neighbours and version.

    Args:
        table: the mechanism with its fields but for the varied one.
        rounds: how often it is used; None if that is varied or answers.
        varied: the field that the picture varies.
        delta: the δ at which it is drawn; None if δ is varied.
    """
    name = str(table["mechanism"])
    relation = mechanism(name).relation({**table, varied: 1} if varied else table, "")
    shown = [
        f"{'ε of one round' if field == 'epsilon' else field.replace('_', ' ')} = {_short(value)}"
        for field, value in table.items()
        if field not in ("mechanism", "adjacency")
    ]
    if rounds is not None:
        shown.append(f"rounds = {rounds}")
    if delta is not None:
        shown.append(f"δ = {spelt(delta)}")
    if relation.name:
        default = ", the default" if relation.basis is Basis.DEFAULT else ""
        shown.append(
            f"neighbours: {relation.name} ({Adjacency(relation.name).difference}{default})"
        )
    return f"{name}: {', '.join(shown)}. dpcalc {dpcalc.__version__}."


def _short(value: object) -> str:
    return unpadded(f"{value:g}" if isinstance(value, float) else str(value))


def _unit(name: str) -> str:
    """The label of an axis whose numbers have a unit."""
    return UNITS.get(name, "ε of one round" if name == "epsilon" else "")
