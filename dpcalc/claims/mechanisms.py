"""Releases as a file describes them: named mechanisms, bare guarantees, theorems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcalc import checks
from dpcalc.claims.named import Table, mechanism, pair
from dpcalc.claims.relations import Relation, resolved
from dpcalc.claims.tables import as_real, fields
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from dpcalc.numerals import at_least, at_most, unpadded

if TYPE_CHECKING:
    from dpcalc.theorems.base import Theorem


@dataclass(frozen=True, slots=True)
class Described:
    """A release as its table describes it.

    Attributes:
        guarantee: of one use.
        count: how often it is used.
        relation: its neighbouring relation.
        mechanism: whether it is a named mechanism, not a bare guarantee or a theorem.
        theorem: the instance of a theorem, if it is one.
    """

    guarantee: Guarantee
    count: int
    relation: Relation
    mechanism: bool = False
    theorem: Theorem | None = None


_GUARANTEES: dict[str, Callable[[Any], Guarantee]] = {
    "pure": lambda v: PureDP(checks.non_negative("pure", as_real("pure", v))),
    "zcdp": lambda v: ZCDP(at_least(checks.non_negative("zcdp", as_real("zcdp", v)))),
    "gdp": lambda v: GDP(at_least(checks.non_negative("gdp", as_real("gdp", v)))),
    "approx": lambda v: ApproxDP(*pair("approx", v)),
    "rdp": lambda v: RDP.from_points(_orders(v)),
}


GUARANTEE_NAMES = tuple(_GUARANTEES)
"""The bare guarantees, as fields of a release."""


def guarantee_from(where: str, table: Table) -> tuple[Guarantee, str]:
    """The guarantee of one release, and its neighbouring relation ("" if it has none)."""
    found = release_from(where, table)
    return found.guarantee, found.relation.name


def table_of(guarantee: Guarantee) -> dict[str, Any]:
    """The table of a bare guarantee.

    Raises:
        InvalidInput: for one that has none.
    """
    match guarantee:
        case PureDP():
            return {"pure": guarantee.bound}
        case ApproxDP():
            return {"approx": [guarantee.bound, guarantee.failure]}
        case GDP():
            return {"gdp": guarantee.mu}
        case ZCDP():
            return {"zcdp": guarantee.rho}
        case RDP() if guarantee.points:
            return {"rdp": {repr(order): beta for order, beta in guarantee.points}}
    raise InvalidInput(
        f"expected a guarantee that can be written down; got {guarantee.notion}; give the release "
        "as a table such as {'mechanism': 'laplace', 'scale_multiplier': 2}"
    )


def release_name(table: Table) -> str:
    """What to call a release without a name: its theorem, its mechanism, or its bare guarantee."""
    for kind in ("theorem", "mechanism"):
        if kind in table:
            return str(table[kind])
    kind = next(kind for kind in _GUARANTEES if kind in table)
    value = table[kind]
    if kind == "approx" and isinstance(value, list):
        return f"approx {', '.join(unpadded(str(number)) for number in value)}"
    return kind if isinstance(value, Mapping) else f"{kind} {unpadded(str(value))}"


def release_from(where: str, table: Table, adjacency: str = "") -> Described:
    """A guarantee, how often it is used, and its neighbouring relation.

    A table has exactly one of ``mechanism`` (with its fields), ``theorem`` (with ``parameters``),
    or a bare guarantee (``pure``, ``zcdp``, ``gdp``, ``approx = [ε, δ]``, ``rdp = {order = value}``),
    and optionally ``count``, ``name`` and ``adjacency``.

    Args:
        where: what to call it in errors.
        table: its fields.
        adjacency: the relation that is said for all releases together, "" if none is.
    """
    kinds = [k for k in ("mechanism", "theorem", *_GUARANTEES) if k in table]
    if len(kinds) != 1:
        choices = ", ".join(("mechanism", "theorem", *_GUARANTEES))
        raise InvalidInput(f"{where} needs exactly one of: {choices}; got {kinds or 'none'}")
    kind = kinds[0]
    try:
        count = checks.count("count", as_real("count", table.get("count", 1)), minimum=0)
        if kind == "mechanism":
            return _mechanism(where, table, count, adjacency)
        if kind == "theorem":
            return _theorem(where, table, count, adjacency)
        fields(where, table, (kind, "count", "name", "adjacency"))
        relation = resolved(table.get("adjacency"), adjacency, (), default="", needed=False)
        return Described(_GUARANTEES[kind](table[kind]), count, relation)
    except InvalidInput as error:
        text = str(error)
        raise InvalidInput(text if text.startswith(where) else f"{where}: {text}") from error


def _mechanism(where: str, table: Table, count: int, adjacency: str) -> Described:
    known = mechanism(str(table["mechanism"]))
    fields(where, table, ("mechanism", "count", "name", *known.fields))
    relation = known.relation(table, adjacency)
    return Described(known.build(table, relation.name), count, relation, mechanism=True)


def _theorem(where: str, table: Table, count: int, adjacency: str) -> Described:
    from dpcalc.theorems.base import Scope
    from dpcalc.theorems.catalogue import privacy_result
    from dpcalc.theorems.parameters import parameters

    fields(where, table, ("theorem", "parameters", "count", "name"))
    kind = privacy_result(table["theorem"])
    given = table.get("parameters", {})
    own = parameters(kind).get("adjacency")
    choices = () if own is None else own.choices
    stated = given.get("adjacency") if isinstance(given, Mapping) else None
    if stated is None and adjacency in choices:
        given = {**given, "adjacency": adjacency}
    theorem = kind.from_parameters(given)
    theorem.require(Scope.CERTIFIED)
    name = str(getattr(theorem, "adjacency", ""))
    relation = resolved(
        stated, adjacency, choices or ((name,) if name else ()), default=name, needed=bool(name)
    )
    return Described(theorem.certified().guarantee, count, relation, theorem=theorem)


def _orders(value: Any) -> dict[float, float]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"rdp needs a table of order = divergence; got {value!r}")
    orders = {
        at_most(checks.above_one("order", as_real("order", str(k)))): at_least(
            as_real("divergence", v)
        )
        for k, v in value.items()
    }
    if len(orders) < len(value):
        raise InvalidInput(f"rdp needs every order once; got {', '.join(map(str, value))}")
    return orders
