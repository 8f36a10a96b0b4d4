"""Readers of files and events as the golden readings call them: with texts, numbers and lists alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpcalc.accountant import Accountant
from dpcalc.auditing import scores
from dpcalc.auditing.sampling.observations import Counts, Observations, from_scores
from dpcalc.guarantees import GDP, ZCDP, ApproxDP, PureDP
from dpcalc.report.enclosures import enclosure, enclosure_line
from dpcalc.report.records import attack_accuracy
from dpcalc.training.data import load, split
from dpcalc.training.graph import network
from dpcalc.training.schema import Range, Schema, read_schema
from dpcalc.training.sources import last_column
from dpcalc.training.template import template_of
from tests.golden.readers import guarantee, shortly


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
    return [shortly(found.features, 12), found.labels, found.names, found.source, found.row_bound]


def parted(name: str, reading: Mapping[str, Any], **given: Any) -> Any:
    found = split(load(name, **reading), **given)
    parts = [found.names, found.row_bound, found.intercept, found.order, found.label_unit]
    return [shortly([found.train, found.test], 12), *parts, found.source, found.digest()]


def schema(path: str) -> Schema:
    return read_schema(Path(path))


def ranged(low: float, high: float, values: list[float]) -> Any:
    found = Range(low, high)
    return [found.middle, found.half, found.scaled(np.array(values, dtype=float))]


def graph(description: str, *given: Any) -> Any:
    """A graph's edges, and how many nodes it has."""
    found = network(description, *given)
    return [found.nodes, [list(map(int, edge)) for edge in found.edges]]


def enclosed(kind: str, delta: float, *given: Any) -> Any:
    """The enclosure of a bare guarantee's ε, and its line."""
    made: Any = {"pure": PureDP, "approx": ApproxDP, "gdp": GDP, "zcdp": ZCDP}[kind](*given)
    found = enclosure(made, delta)
    return [found, enclosure_line(found)]


def accuracy(kind: str, epsilon: float, delta: float, *given: Any) -> float:
    made: Any = {"pure": PureDP, "approx": ApproxDP}[kind](*given)
    return float(f"{attack_accuracy(made, epsilon, delta):.12g}")


def last_named(path: str) -> str:
    return last_column(Path(path))


def template(path: str, *label: str) -> str:
    """The schema to fill in."""
    return template_of(Path(path), *label).to_toml()


def event(table: Any, adjacency: str) -> Any:
    """What a dp-accounting event consists of."""
    from dpcalc.interop.dp_accounting import guarantee_of

    found = guarantee_of(_event(table), adjacency)
    return [(guarantee(part), count) for part, count in getattr(found, "parts", [(found, 1)])]


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
