"""The named mechanisms of a file or the command line, and their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpcalc import checks
from dpcalc.claims.relations import DEFAULT, Relation, resolved
from dpcalc.claims.tables import as_real
from dpcalc.errors import InvalidInput, unknown_name
from dpcalc.guarantees import Guarantee, PureDP
from dpcalc.guarantees import mechanisms as named
from dpcalc.guarantees.units import MOVING, moved
from dpcalc.numerics.precise import mpf, round_up
from dpcalc.vocabulary import Adjacency

Table = Mapping[str, Any]
"""Fields of one release by name."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A named mechanism.

    Attributes:
        build: its guarantee from a table and a neighbouring relation.
        needed: its fields.
        instead: field -> another one that may stand in its place and says the same under every
            relation.
        optional: further fields.
        allowed: the relations it can be read under; empty for any.
        relative: whether its answer depends on the relation, unless a field stands instead.
        default: the relation where none is said; "" if it has to be said.
    """

    build: Callable[[Table, str], Guarantee]
    needed: tuple[str, ...]
    instead: Mapping[str, str] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    relative: bool = False
    default: str = DEFAULT

    @property
    def fields(self) -> tuple[str, ...]:
        """All that a table may have."""
        return (*self.needed, *self.instead.values(), *self.optional, "adjacency")

    def relation(self, table: Table, around: str) -> Relation:
        """The relation that a table is read under."""
        free = any(other in table for other in self.instead.values())
        return resolved(
            table.get("adjacency"),
            around,
            () if free else self.allowed,
            default=self.default,
            needed=self.relative and not free,
        )


def _said(adjacency: str) -> Adjacency | None:
    """A relation by name, None for none."""
    return Adjacency(adjacency) if adjacency else None


def _gaussian(given: Table, adjacency: str) -> Guarantee:
    return named.gaussian(
        _real_or_none("noise_multiplier", given),
        _said(adjacency),
        noise_over_sensitivity=_real_or_none("noise_over_sensitivity", given),
    )


def _laplace(given: Table, adjacency: str) -> Guarantee:
    return named.laplace(
        _real_or_none("scale_multiplier", given),
        _said(adjacency),
        scale_over_sensitivity=_real_or_none("scale_over_sensitivity", given),
    )


def _exponential_norm(given: Table, adjacency: str) -> Guarantee:
    return named.exponential_norm(
        _real_or_none("scale_multiplier", given),
        checks.count("dimension", real("dimension", given)),
        _said(adjacency),
        scale_over_sensitivity=_real_or_none("scale_over_sensitivity", given),
    )


def _subsampled(given: Table, adjacency: str) -> Guarantee:
    multiplier = real("noise_multiplier", given)
    return named.poisson_subsampled_gaussian(multiplier, rate_of(given), _said(adjacency))


def rate_of(given: Table) -> float:
    """The sampling probability: the field ``rate``, or sample over population, rounded up."""
    batch = " and ".join(name for name in ("sample", "population") if name in given)
    if "rate" in given and batch:
        raise InvalidInput(
            f"expected rate, or sample and population; got rate and {batch}; leave out rate, or "
            f"{batch}"
        )
    if "rate" not in given and not batch:
        raise InvalidInput("either rate, or sample and population, is needed")
    return real("rate", given) if "rate" in given else _share(given)


def _share(given: Table) -> float:
    """Expected sample over population."""
    population = checks.count("population", real("population", given))
    sample = checks.positive("sample", real("sample", given))
    if sample > population:
        raise InvalidInput(f"sample needs to be at most population={population}; got {sample:g}")
    return min(1.0, round_up(mpf(sample) / population))


def _without_replacement(given: Table, adjacency: str) -> Guarantee:
    del adjacency
    return named.gaussian_without_replacement(
        real("noise_multiplier", given),
        checks.count("sample", real("sample", given)),
        checks.count("population", real("population", given)),
    )


def _finite(given: Table, adjacency: str) -> Guarantee:
    return named.finite_distributions(_reals("p", given), _reals("q", given), Adjacency(adjacency))


def _profile(given: Table, adjacency: str) -> Guarantee:
    del adjacency
    points = given.get("points")
    if not isinstance(points, list):
        raise InvalidInput(f"points needs a list of pairs [epsilon, delta]; got {points!r}")
    return named.from_profile([pair("points", point) for point in points])


def _reals(name: str, given: Table) -> list[float]:
    value = given.get(name)
    if not isinstance(value, list):
        raise InvalidInput(f"{name} needs a list of probabilities; got {value!r}")
    return [as_real(name, v) for v in value]


_NOISE = {"noise_multiplier": "noise_over_sensitivity"}
_SCALE = {"scale_multiplier": "scale_over_sensitivity"}

_MECHANISMS: dict[str, Mechanism] = {
    "gaussian": Mechanism(_gaussian, ("noise_multiplier",), _NOISE, allowed=MOVING, relative=True),
    "laplace": Mechanism(_laplace, ("scale_multiplier",), _SCALE, allowed=MOVING, relative=True),
    "exponential-norm": Mechanism(
        _exponential_norm,
        ("scale_multiplier", "dimension"),
        _SCALE,
        allowed=MOVING,
        relative=True,
    ),
    "randomised-response": Mechanism(lambda given, _: PureDP(real("epsilon", given)), ("epsilon",)),
    "poisson-subsampled-gaussian": Mechanism(
        _subsampled,
        ("noise_multiplier", "rate"),
        optional=("sample", "population"),
        allowed=MOVING,
        relative=True,
    ),
    "gaussian-without-replacement": Mechanism(
        _without_replacement,
        ("noise_multiplier", "sample", "population"),
        allowed=(Adjacency.REPLACE_ONE.value,),
        relative=True,
    ),
    "finite-distributions": Mechanism(
        _finite, ("p", "q"), allowed=tuple(map(str, Adjacency)), relative=True, default=""
    ),
    "profile": Mechanism(_profile, ("points",)),
}
"""The named mechanisms."""


def mechanism_fields(name: str, table: Table) -> tuple[str, ...]:
    """The fields that a named mechanism needs, as a table that may lack some of them states them."""
    known = mechanism(name)
    return tuple(_written(field, known, table) for field in known.needed)


def _written(field: str, known: Mechanism, table: Table) -> str:
    """A field, or the one that stands in its place in a table."""
    other = known.instead.get(field, field)
    return other if other in table and field not in table else field


def mechanism(name: str) -> Mechanism:
    """The mechanism of a name; an unknown one is refused with the nearest known."""
    found = mechanism_key(name)
    if found not in _MECHANISMS:
        raise unknown_name("mechanism", name, [*_MECHANISMS, "dp-sgd"], meant=meant_by(name))
    return _MECHANISMS[found]


def mechanism_key(name: str) -> str:
    """The name of a mechanism as this package spells it; what stands for nothing as it is."""
    spelt = name.strip().lower().replace("_", "-")
    return _OTHER_NAMES.get(spelt, spelt)


_OTHER_NAMES = {
    "dp-sgd": "poisson-subsampled-gaussian",
    "dpsgd": "poisson-subsampled-gaussian",
    "randomized-response": "randomised-response",
}

_TRAINS = "it trains by dp-sgd"
_CLIENTS = "rounds of sampled clients with clipping and noise are dp-sgd, each client a record"
_ELSEWHERE = {
    **dict.fromkeys(("opacus", "tensorflow-privacy", "tf-privacy", "jax-privacy"), _TRAINS),
    **dict.fromkeys(("adam", "dp-adam", "sgd"), "with clipping and noise it is dp-sgd"),
    **dict.fromkeys(
        ("fedavg", "dp-fedavg", "federated-averaging", "fedsgd", "dp-fedsgd"), _CLIENTS
    ),
    "moments-accountant": "what it accounts for is dp-sgd",
}
"""Names of libraries and algorithms for what is a mechanism here."""


def meant_by(name: object) -> str:
    """What to say of a name that others have for a mechanism; "" for any other name."""
    return _ELSEWHERE.get(str(name).strip().lower().replace("_", "-"), "")


UNITS = {
    "noise_multiplier": "standard deviation of the noise over one record's largest norm",
    "noise_over_sensitivity": "standard deviation of the noise over the distance of neighbours",
    "scale_multiplier": "scale of the noise over one record's largest norm",
    "scale_over_sensitivity": "scale of the noise over the distance of neighbours",
}
"""What the noise's fields are measured in."""


def over_sensitivity(table: Table, adjacency: str) -> dict[str, float]:
    """The noise of a complete table over the distance of neighbours, where that is another number.

    Empty for a mechanism without such noise, and where the table states it itself.
    """
    for kind in ("noise", "scale"):
        if f"{kind}_multiplier" in table and adjacency in MOVING:
            ratio = real(f"{kind}_multiplier", table) / moved(adjacency)
            return {f"{kind}_over_sensitivity": ratio}
    return {}


def field_names() -> set[str]:
    """The fields of all named mechanisms."""
    return {name for known in _MECHANISMS.values() for name in known.fields}


def mechanism_names() -> list[str]:
    """The named mechanisms."""
    return sorted(_MECHANISMS)


def real(name: str, table: Table) -> float:
    """A required number of a table."""
    if name not in table:
        raise InvalidInput(f"the field {name!r} is needed")
    return as_real(name, table[name])


def _real_or_none(name: str, table: Table) -> float | None:
    return as_real(name, table[name]) if name in table else None


def pair(name: str, value: Any) -> tuple[float, float]:
    """A list [ε, δ]."""
    if not isinstance(value, list) or len(value) != 2:
        raise InvalidInput(f"{name} needs [epsilon, delta]; got {value!r}")
    return as_real("epsilon", value[0]), as_real("delta", value[1])
