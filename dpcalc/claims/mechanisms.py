"""Releases as a file describes them: named mechanisms, bare guarantees, theorems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpcalc import checks
from dpcalc.claims.tables import as_real, fields
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from dpcalc.guarantees import mechanisms as named
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.vocabulary import Adjacency

Builder = Callable[[Mapping[str, Any]], Guarantee]

_SAMPLED = (Adjacency.ADD_REMOVE.value, Adjacency.REPLACE_ONE.value)


def _subsampled(given: Mapping[str, Any]) -> Guarantee:
    adjacency = str(given.get("adjacency", Adjacency.ADD_REMOVE.value))
    if adjacency not in _SAMPLED:
        raise InvalidInput(f"adjacency needs add-remove or replace-one; got {adjacency!r}")
    if ("rate" in given) == ("sample" in given or "population" in given):
        raise InvalidInput("either rate, or sample and population, is needed")
    rate = real("rate", given) if "rate" in given else _share(given)
    return named.poisson_subsampled_gaussian(
        real("noise_multiplier", given), rate, Adjacency(adjacency)
    )


def _share(given: Mapping[str, Any]) -> float:
    """Expected sample over population."""
    population = checks.count("population", real("population", given))
    sample = checks.positive("sample", real("sample", given))
    if sample > population:
        raise InvalidInput(f"sample needs to be at most population={population}; got {sample:g}")
    return min(1.0, round_up(mpf(sample) / population))


def _without_replacement(given: Mapping[str, Any]) -> Guarantee:
    population = checks.count("population", real("population", given))
    sample = checks.count("sample", real("sample", given) if "sample" in given else 1)
    if sample > population:
        raise InvalidInput(f"sample needs to be at most population={population}; got {sample}")
    # The norm bound is the sensitivity of adding a record; replacing one moves twice as far.
    multiplier = checks.positive("noise_multiplier", real("noise_multiplier", given))
    rate = min(1.0, round_up(mpf(sample) / population))
    return named.sampled_without_replacement(round_up(2 / mpf(multiplier)), rate)


def _exponential_norm(given: Mapping[str, Any]) -> Guarantee:
    dimension = checks.count("dimension", real("dimension", given))
    return named.exponential_norm(real("scale_multiplier", given), dimension)


def _finite(given: Mapping[str, Any]) -> Guarantee:
    return named.finite_distributions(_reals("p", given), _reals("q", given))


def _profile(given: Mapping[str, Any]) -> Guarantee:
    points = given.get("points")
    if not isinstance(points, list):
        raise InvalidInput(f"points needs a list of pairs [epsilon, delta]; got {points!r}")
    return named.from_profile([_pair("points", point) for point in points])


def _reals(name: str, given: Mapping[str, Any]) -> list[float]:
    value = given.get(name)
    if not isinstance(value, list):
        raise InvalidInput(f"{name} needs a list of probabilities; got {value!r}")
    return [as_real(name, v) for v in value]


_MECHANISMS: dict[str, tuple[Builder, tuple[str, ...]]] = {
    "gaussian": (lambda g: named.gaussian(real("noise_multiplier", g)), ("noise_multiplier",)),
    "laplace": (lambda g: named.laplace(real("scale_multiplier", g)), ("scale_multiplier",)),
    "exponential-norm": (_exponential_norm, ("scale_multiplier", "dimension")),
    "randomised-response": (lambda g: PureDP(real("epsilon", g)), ("epsilon",)),
    "poisson-subsampled-gaussian": (
        _subsampled,
        ("noise_multiplier", "rate", "adjacency", "sample", "population"),
    ),
    "gaussian-without-replacement": (
        _without_replacement,
        ("noise_multiplier", "sample", "population"),
    ),
    "finite-distributions": (_finite, ("p", "q")),
    "profile": (_profile, ("points",)),
}
"""Name -> how to build it, and its fields."""

_OPTIONAL = {
    "poisson-subsampled-gaussian": {"adjacency", "sample", "population"},
}
"""Fields that may be left out."""

_GUARANTEES: dict[str, Callable[[Any], Guarantee]] = {
    "pure": lambda v: PureDP(checks.non_negative("pure", as_real("pure", v))),
    "zcdp": lambda v: ZCDP(checks.non_negative("zcdp", as_real("zcdp", v))),
    "gdp": lambda v: GDP(checks.non_negative("gdp", as_real("gdp", v))),
    "approx": lambda v: ApproxDP(*_pair("approx", v)),
    "rdp": lambda v: RDP.from_points(_orders(v)),
}


GUARANTEE_NAMES = tuple(_GUARANTEES)
"""The bare guarantees, as fields of a release."""


def field_names() -> set[str]:
    """The fields of all named mechanisms."""
    return {name for _, names in _MECHANISMS.values() for name in names}


def mechanism_fields(name: str) -> tuple[str, ...]:
    """The fields a named mechanism needs; optional ones are left out."""
    if name not in _MECHANISMS:
        raise unknown_name("mechanism", name, _MECHANISMS)
    return tuple(f for f in _MECHANISMS[name][1] if f not in _OPTIONAL.get(name, ()))


def mechanism_names() -> list[str]:
    """The named mechanisms."""
    return sorted(_MECHANISMS)


def guarantee_from(where: str, table: Mapping[str, Any]) -> tuple[Guarantee, str]:
    """What one release is worth, and its neighbouring relation ("" if it has none)."""
    guarantee, _, relation = release_from(where, table)
    return guarantee, relation


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
        f"a guarantee that can be written down was needed; got {guarantee.notion}; give the release "
        "as a table such as {'mechanism': 'laplace', 'scale_multiplier': 2}"
    )


def release_name(table: Mapping[str, Any]) -> str:
    """What to call a release without a name: its theorem, its mechanism, or its bare guarantee."""
    for kind in ("theorem", "mechanism"):
        if kind in table:
            return str(table[kind])
    kind = next(kind for kind in _GUARANTEES if kind in table)
    value = table[kind]
    if kind == "approx" and isinstance(value, list):
        return f"approx {', '.join(str(number) for number in value)}"
    return kind if isinstance(value, Mapping) else f"{kind} {value}"


def release_from(where: str, table: Mapping[str, Any]) -> tuple[Guarantee, int, str]:
    """A guarantee, how often it is used, and its neighbouring relation ("" if it has none).

    A table has exactly one of ``mechanism`` (with its fields), ``theorem`` (with ``parameters``),
    or a bare guarantee (``pure``, ``zcdp``, ``gdp``, ``approx = [ε, δ]``, ``rdp = {order = value}``),
    and optionally ``count`` and ``name``.
    """
    kinds = [k for k in ("mechanism", "theorem", *_GUARANTEES) if k in table]
    if len(kinds) != 1:
        choices = ", ".join(("mechanism", "theorem", *_GUARANTEES))
        raise InvalidInput(f"{where} needs exactly one of: {choices}; got {kinds or 'none'}")
    kind = kinds[0]
    try:
        count = checks.count("count", as_real("count", table.get("count", 1)), minimum=0)
        if kind == "mechanism":
            return *_mechanism(where, table), count, _relation(table)
        if kind == "theorem":
            return (*_theorem(where, table, count),)
        fields(where, table, (kind, "count", "name"))
        return _GUARANTEES[kind](table[kind]), count, ""
    except InvalidInput as error:
        text = str(error)
        raise InvalidInput(text if text.startswith(where) else f"{where}: {text}") from error


def _mechanism(where: str, table: Mapping[str, Any]) -> tuple[Guarantee]:
    name = str(table["mechanism"])
    if name not in _MECHANISMS:
        raise unknown_name("mechanism", name, _MECHANISMS)
    build, known = _MECHANISMS[name]
    fields(where, table, ("mechanism", "count", "name", *known))
    return (build(table),)


def _relation(table: Mapping[str, Any]) -> str:
    name = str(table["mechanism"])
    if name == "poisson-subsampled-gaussian":
        return str(table.get("adjacency", Adjacency.ADD_REMOVE.value))
    return Adjacency.REPLACE_ONE.value if name == "gaussian-without-replacement" else ""


def _theorem(where: str, table: Mapping[str, Any], count: int) -> tuple[Guarantee, int, str]:
    from dpcalc.theorems.base import Scope
    from dpcalc.theorems.catalogue import privacy_result

    fields(where, table, ("theorem", "parameters", "count", "name"))
    kind = privacy_result(table["theorem"])
    theorem = kind.from_parameters(table.get("parameters", {}))
    theorem.require(Scope.CERTIFIED)
    relation = str(getattr(theorem, "adjacency", ""))
    return theorem.certified().guarantee, count, relation


def real(name: str, table: Mapping[str, Any]) -> float:
    """A required number of a table."""
    if name not in table:
        raise InvalidInput(f"the field {name!r} is needed")
    return as_real(name, table[name])


def _pair(name: str, value: Any) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise InvalidInput(f"{name} needs [epsilon, delta]; got {value!r}")
    return as_real("epsilon", value[0]), as_real("delta", value[1])


def _orders(value: Any) -> dict[float, float]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"rdp needs a table of order = divergence; got {value!r}")
    orders = {as_real("order", str(k)): as_real("divergence", v) for k, v in value.items()}
    if len(orders) < len(value):
        raise InvalidInput(f"rdp needs every order once; got {', '.join(map(str, value))}")
    return orders
