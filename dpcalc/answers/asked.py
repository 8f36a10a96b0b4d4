"""What an answer is asked about: an instance of a theorem, and who said its neighbouring relation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcalc import checks
from dpcalc.claims.reading import needs_delta
from dpcalc.claims.relations import Relation, relation_of
from dpcalc.errors import InvalidInput, missing_delta
from dpcalc.theorems.base import Theorem
from dpcalc.theorems.parameters import default_of, parameters


def kind_of(theorem: Theorem | type[Theorem] | str) -> type[Theorem]:
    """The class of an instance, a class or a key.

    Raises:
        InvalidInput: for anything else, and for an unknown key, with the nearest known one.
    """
    from dpcalc.claims.named import mechanism_key, mechanism_names
    from dpcalc.theorems.catalogue import privacy_result

    if isinstance(theorem, str):
        if (name := mechanism_key(theorem)) in mechanism_names():
            raise InvalidInput(
                f"expected a theorem; {theorem!r} is a mechanism; its ε: "
                f"dpcalc.mechanisms.{name.replace('-', '_')}(...).epsilon(delta), after "
                f"several rounds dpcalc.compose((mechanism, rounds)).epsilon(delta); its noise: "
                f"dpcalc.calibrate({theorem!r}, ...)"
            )
        return privacy_result(theorem)
    found = theorem if isinstance(theorem, type) else type(theorem)
    if not issubclass(found, Theorem):
        raise InvalidInput(
            f"expected a theorem, by its key, class or instance; got {theorem!r}; try 'dp-admm'"
        )
    return found


def instance_of(theorem: Theorem | type[Theorem] | str, given: Mapping[str, Any]) -> Theorem:
    """An instance with the parameters that are given; those of an instance are changed."""
    kind = kind_of(theorem)
    if isinstance(theorem, Theorem):
        return theorem.replace(**given) if given else theorem
    promises = {"attest": given["attest"]} if "attest" in given else {}
    return kind.from_parameters({k: v for k, v in given.items() if k != "attest"}, **promises)


def relation_asked(instance: Theorem, given: Mapping[str, Any]) -> Relation:
    """The neighbouring relation; called the default where nobody is known to have said it."""
    kind = type(instance)
    choice = "adjacency" in parameters(kind)
    stated = "adjacency" in given or (
        choice and getattr(instance, "adjacency", None) != default_of(kind, "adjacency")
    )
    return relation_of(instance, stated=stated)


def delta_asked(instance: Theorem, delta: float | None, *, option: str = "--delta 1e-6") -> float:
    """δ, 0 if none was given and 0 has an answer.

    Args:
        instance: what is asked about.
        delta: in [0, 1), or None.
        option: how δ is said where the question is asked.

    Raises:
        InvalidInput: for a question at δ = 0 that has an answer at larger δ only.
    """
    at = 0.0 if delta is None else checks.delta(delta)
    if (at == 0 and instance.certified().guarantee.needs_delta()) or (
        delta is None and needs_delta(instance)
    ):
        raise missing_delta(instance.key, option=option)
    return at
