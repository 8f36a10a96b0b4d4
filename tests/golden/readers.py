"""Readers as the golden readings call them: with texts, numbers and lists alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpcalc import checks, numerals
from dpcalc.accountant import Accountant, Spent
from dpcalc.auditing import scores
from dpcalc.auditing.sampling.observations import Counts, Observations, from_scores
from dpcalc.claims.composition import Plan, read_plan
from dpcalc.claims.file import read_claims
from dpcalc.claims.mechanisms import Described, release_from, release_name, table_of
from dpcalc.claims.relations import Basis, Relation, resolved, shared
from dpcalc.claims.rounds import read_rounds
from dpcalc.claims.solve import Solution, solve
from dpcalc.claims.system import SystemClaim
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from dpcalc.sealed import opened, sealed
from dpcalc.training.data import last_column, load, split
from dpcalc.training.schema import Range, Schema, read_schema


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
    return [spent.kind, _guarantee(spent.guarantee), spent.relation, spent.count]


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
    return [_guarantee(found.guarantee), found.count, *relation, found.mechanism, theorem]


def _guarantee(found: Guarantee) -> Any:
    return {"rdp": found.points} if isinstance(found, RDP) and found.points else repr(found)


def plan(path: str, *given: Any) -> Any:
    """The composition that a file describes."""
    return _plan(read_plan(Path(path), *given))


def _plan(found: Plan) -> Any:
    releases = [
        [r.name, r.count, _guarantee(r.guarantee), r.mechanism, r.theorem and r.theorem.key]
        for r in found.releases
    ]
    relation = [found.relation.name, found.relation.basis.value]
    return [releases, found.delta, found.epsilon, *relation, list(map(str, found.tables))]


def total(path: str) -> Any:
    found = read_plan(Path(path)).total()
    return [found.notion, _short(found.epsilon(1e-3), 5)]


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
            "inputs": _short({k: v for k, v in claim.inputs().items() if k in _PARAMETERS}, 9),
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
            **{key: _short(value, 5) for key, value in record.items() if key != "inputs"},
            "reason": record["reason"].partition(":")[0],
            "attested": list(record["attested"]),
        }
        for record in found
    ]


def _short(value: Any, digits: int) -> Any:
    """Numbers that were computed, to some digits."""
    if isinstance(value, np.ndarray):
        return _short(value.tolist(), digits)
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, list | tuple):
        return [_short(v, digits) for v in value]
    return {k: _short(v, digits) for k, v in value.items()} if isinstance(value, dict) else value


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
    given = _short(dict(found.table), 5)
    return [found.field, _short(float(found), 5), given, found.rounds, *relation, found.at_limit]


def text_rows(path: str, **given: Any) -> Any:
    from dpcalc.delimited import rows

    return [(row.line, *row.cells) for row in rows(path, **given)]


def labelled(path: str, **given: str) -> Any:
    return scores.read_labelled_scores(path, **given)


def array(values: Any, kind: str, **given: str) -> Any:
    """Scores of a NumPy file."""
    np.save("array.npy", np.array(values, dtype=kind))
    return np.asarray(scores.read_scores("array.npy", **given))


def cells(**given: Any) -> Any:
    found = Counts(**{name: np.asarray(value) for name, value in given.items()})
    return [found.record(), found.n_in, found.n_out, found.runs, found.correct]


def observed(is_in: Any, score: Any, threshold: Any = 0.0, **given: bool) -> Any:
    """Observations: themselves, some of them, their other direction, and counts."""
    found = Observations(is_in=np.asarray(is_in), score=np.asarray(score), **given)
    parts = found.between(1, 3), found.swapped(), found.with_score(found.score + 1)
    return [found.runs, *map(_flagged, (found, *parts)), found.counts(threshold).record()]


def recorded(in_scores: list[float], out_scores: list[float]) -> Any:
    return _flagged(from_scores(in_scores, out_scores))


def _flagged(found: Observations) -> Any:
    return [found.is_in, found.score, found.fair_coins, found.exact]


def data(name: str, *, schema: Any = None, **given: Any) -> Any:
    """A data set that is read from a file."""
    found = load(name, schema=schema and Schema.of(schema), **given)
    return [_short(found.features, 12), found.labels, found.names, found.source, found.row_bound]


def parted(name: str, reading: Mapping[str, Any], **given: Any) -> Any:
    found = split(load(name, **reading), **given)
    parts = [found.names, found.row_bound, found.intercept, found.order, found.label_unit]
    return [_short([found.train, found.test], 12), *parts, found.source, found.digest()]


def schema(path: str) -> Schema:
    return read_schema(Path(path))


def ranged(low: float, high: float, values: list[float]) -> Any:
    found = Range(low, high)
    return [found.middle, found.half, found.scaled(np.array(values, dtype=float))]


def last_named(path: str) -> str:
    return last_column(Path(path))


def event(table: Any, adjacency: str) -> Any:
    """What a dp-accounting event consists of."""
    from dpcalc.interop.dp_accounting import guarantee_of

    found = guarantee_of(_event(table), adjacency)
    return [(_guarantee(part), count) for part, count in getattr(found, "parts", [(found, 1)])]


def _event(table: Any) -> Any:
    from dp_accounting import dp_event

    if isinstance(table, list):
        return [_event(inner) for inner in table]
    if not isinstance(table, Mapping):
        return table
    return getattr(dp_event, table["kind"])(
        **{name: _event(value) for name, value in table.items() if name != "kind"}
    )


def as_event(adjacency: str | None, *releases: Any) -> Any:
    """The dp-accounting event of what an accountant has spent."""
    from dpcalc.interop.dp_accounting import event_of

    found = Accountant()
    for table, count in releases:
        found = found.spend(table, count)
    return event_of(found, adjacency)
