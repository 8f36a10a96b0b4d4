"""Parameters of results and what is asked of a result by name, as the golden readings call them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcalc.theorems import catalogue
from dpcalc.theorems.base import Scope, Theorem
from dpcalc.theorems.catalogue import result
from dpcalc.theorems.graph import Graph
from dpcalc.theorems.matrix import Matrix
from dpcalc.theorems.schedule import Schedule
from tests.golden.readers import shortly

_DIGITS = 9


def schedule(value: Any) -> Any:
    """A schedule, checked, with what it says of itself."""
    found = Schedule.of("penalty", value)
    found.check(float)
    facts = (found.constant, found.first, found.values, found.width)
    return [found, str(found), *facts, found.scaled(2 * found.first)]


def schedule_rounds(value: Any, rounds: int, nodes: int) -> Any:
    return Schedule.of("penalty", value).rounds("penalty", rounds, nodes)


def schedule_nodes(value: Any, nodes: int) -> Any:
    return Schedule.of("curvature", value).nodes("curvature", nodes)


def network_of(value: str) -> Any:
    """A graph with its matrices; an eigenvalue to some digits."""
    found = Graph.of("graph", value)
    matrices = [found.laplacian, found.signless_laplacian]
    connected = shortly(found.connectivity(), _DIGITS)
    return [found, str(found), *matrices, found.regular, found.bipartite, connected]


def matrix(value: Any, dimension: int) -> Any:
    """A matrix with the facts that bounds need, to some digits."""
    found = Matrix.of("matrix", value)
    facts = [found.norm, found.row_rank_margin, found.column_margin]
    facts += [x for pair in found.gram_eigenvalues(dimension) for x in pair]
    facts.append(found.squared_entries(dimension))
    return [found, str(found), found.columns, [shortly(x, _DIGITS) for x in facts]]


def instance(key: str, changes: Any, attest: Any = (), **named: bool) -> Any:
    """An instance of the example with changes; what is promised, and what is missing or fails."""
    found = _changed(key, changes, attest, **named)
    return [
        {name: value for name, value in found.inputs().items() if name in changes},
        sorted(found.attest),
        sorted(found.promised()),
        [[a.key for a in found.unattested(scope)] for scope in Scope],
        [found.violations(scope) for scope in Scope],
        found.violations_of_claim(),
        [f.text for f in found.applicable_findings()],
        found.failing_proof(),
    ]


def needed(key: str, changes: Mapping[str, Any], attest: Any, scope: str) -> None:
    """The sentence that says which promises or conditions are missing, if any are."""
    found = _changed(key, changes, attest)
    found.require(Scope(scope))
    found.require_attested(Scope(scope))


def _changed(key: str, changes: Any, attest: Any = (), **named: bool) -> Any:
    kind = result(key)
    given = {**kind.example, **changes} if isinstance(changes, Mapping) else changes
    kept = {k: v for k, v in given.items() if v is not None} if isinstance(given, dict) else given
    return kind.from_parameters(kept, attest, **named)


def claimed(key: str, changes: Mapping[str, Any], delta: float) -> Any:
    """Whether a paper claims a finite ε at δ, and prescribes noise for ε = 1 at it."""
    found = _changed(key, changes)
    assert isinstance(found, Theorem)
    finite = found.claimed().guarantee.epsilon(delta) < float("inf")
    return [finite, shortly(found.prescribed(1.0, delta).noise_level(), _DIGITS)]


def named(name: Any, **given: bool) -> Any:
    """What a name stands for."""
    key = catalogue.key_of(name, **given)
    return [key, catalogue.family(key), result(key).__name__]


def privacy_result(name: Any) -> str:
    return catalogue.privacy_result(name).key


def by_class_name(name: str) -> Any:
    found = catalogue.by_class_name(name)
    return None if found is None else found.key


def largest_order(key: str, changes: Mapping[str, Any]) -> float:
    """Up to which order a paper claims its Rényi divergence, to some digits."""
    found: float = _changed(key, changes).largest_order()
    return shortly(found, _DIGITS)
