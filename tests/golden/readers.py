"""Readers as the golden readings call them: with texts, numbers and lists alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpcalc import checks, numerals
from dpcalc.accountant import Accountant, Spent
from dpcalc.claims.composition import Plan, read_plan
from dpcalc.claims.file import read_claims
from dpcalc.claims.mechanisms import Described, release_from, release_name, table_of
from dpcalc.claims.relations import Basis, Relation, resolved, shared
from dpcalc.claims.rounds import read_rounds
from dpcalc.claims.solution import Solution
from dpcalc.claims.solve import solve
from dpcalc.claims.system import SystemClaim
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from dpcalc.sealed import opened, sealed


def decimal(call: str, text: str) -> Any:
    """One of the functions about numbers, of a number as it is typed."""
    return getattr(numerals, call)(numerals.number(text))


def check(call: str, name: str, text: str) -> Any:
    """A range check of a number as it is typed."""
    return getattr(checks, call)(name, numerals.number(text))


def absent(needed: str, instead: str, value: float) -> float:
    return checks.no_bound_without(needed, instead)("smoothness", value)


def sealed_text(content: Mapping[str, Any], keys: list[str], *changes: list[str]) -> Any:
    """A record written, changed as text, and read."""
    text = sealed("dpcalc test", 3, content)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return opened(text, "dpcalc test", 3, keys)


def text_as_record(text: str) -> Any:
    return opened(text, "dpcalc test", 3, ["a"])


def written_record(content: Mapping[str, Any]) -> str:
    return sealed("dpcalc test", 3, content)


def accountant(content: Mapping[str, Any]) -> Any:
    """An accountant's content under a seal that fits, read, and the releases it has."""
    found = Accountant.from_json(sealed("dpcalc accountant", 2, content))
    return [found.epsilon, found.delta, found.adjacency, found.rounds, *map(_spent, found.releases)]


def _spent(spent: Spent) -> Any:
    return [spent.kind, guarantee(spent.guarantee), spent.relation, spent.count]


def spent(budget: Mapping[str, Any], *releases: Any) -> Any:
    """What an accountant has after releases, each with its count."""
    found = Accountant(**budget)
    for release, count in releases:
        found = found.spend(release, count)
    return [found.adjacency, found.rounds, *map(_spent, found.releases)]


def bare(kind: str, *given: Any) -> Any:
    """The table and the name of a bare guarantee."""
    made: Mapping[str, Any] = {
        "pure": PureDP, "approx": ApproxDP, "gdp": GDP, "zcdp": ZCDP,
        "rdp": lambda points: RDP.from_points({float(k): v for k, v in points.items()}),
        "curve": lambda: RDP(lambda order: order),
    }  # fmt: skip
    table = table_of(made[kind](*given))
    return [table, release_name(table)]


def release(table: Any, adjacency: str = "") -> Any:
    return _described(release_from("release 7", table, adjacency))


def _described(found: Described) -> Any:
    theorem = found.theorem and found.theorem.key
    relation = [found.relation.name, found.relation.basis.value]
    return [guarantee(found.guarantee), found.count, *relation, found.mechanism, theorem]


def guarantee(found: Guarantee) -> Any:
    return {"rdp": found.points} if isinstance(found, RDP) and found.points else repr(found)


def plan(path: str, *given: Any) -> Any:
    """The composition that a file describes."""
    return _plan(read_plan(Path(path), *given))


def _plan(found: Plan) -> Any:
    releases = [
        [r.name, r.count, guarantee(r.guarantee), r.mechanism, r.theorem and r.theorem.key]
        for r in found.releases
    ]
    relation = [found.relation.name, found.relation.basis.value]
    return [releases, found.delta, found.epsilon, *relation, list(map(str, found.tables))]


def total(path: str) -> Any:
    found = read_plan(Path(path)).total()
    return [found.notion, shortly(found.epsilon(1e-3), 5)]


def rounds(path: str, *notes: str) -> Any:
    return list(read_rounds(Path(path), notes))


def claims(path: str) -> Any:
    """The claims of a file, with everything that they can be asked."""
    return [
        {
            "name": claim.name,
            "key": claim.key,
            "delta": claim.delta,
            "epsilon": getattr(claim, "epsilon", "?"),
            "ours": claim.ours,
            **claim.relation.record(),
            "release": claim.release,
            "inputs": shortly({k: v for k, v in claim.inputs().items() if k in _PARAMETERS}, 9),
            "promised": list(claim.promised()),
            "plan": _plan(claim.plan) if isinstance(claim, SystemClaim) else "",
        }
        for claim in read_claims(Path(path))
    ]


_PARAMETERS = ("n_records", "rounds", "releases", "sigma", "noise_rate", "adjacency")
"""Of theorems; what the others are called is tested with the theorems."""


def verdicts(path: str) -> Any:
    """What became of the claims of a file; findings and promises without their sentences."""
    found = [claim.judged().record() for claim in read_claims(Path(path))]
    return [
        {
            **{key: shortly(value, 5) for key, value in record.items() if key != "inputs"},
            "reason": record["reason"].partition(":")[0],
            "attested": list(record["attested"]),
        }
        for record in found
    ]


def shortly(value: Any, digits: int) -> Any:
    """Numbers that were computed, to some digits."""
    if isinstance(value, np.ndarray):
        return shortly(value.tolist(), digits)
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, list | tuple):
        return [shortly(v, digits) for v in value]
    return {k: shortly(v, digits) for k, v in value.items()} if isinstance(value, dict) else value


def relation(
    stated: Any, around: str, allowed: list[str], *, default: str, needed: bool
) -> Relation:
    return resolved(stated, around, tuple(allowed), default=default, needed=needed)


def common(*relations: list[str]) -> Relation:
    found = [(Relation(name, Basis(basis)), where) for name, basis, where in relations]
    return shared(found, "say so")


def spoken(name: str, basis: str) -> Any:
    found = Relation(name, Basis(basis))
    return [found.sentence(), found.record()]


def solved(table: Mapping[str, Any], rounds: int | None, epsilon: float, delta: float) -> Any:
    found: Solution = solve(table, rounds, epsilon, delta)
    relation = [found.relation.name, found.relation.basis.value]
    given = shortly(dict(found.table), 5)
    return [found.field, shortly(float(found), 5), given, found.rounds, *relation, found.at_limit]
