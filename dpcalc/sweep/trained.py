"""Trainings of a sweep: utility next to what was spent, in every setting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcalc import checks
from dpcalc.claims.tables import as_real
from dpcalc.errors import DpcalcError, InvalidInput, unknown_name
from dpcalc.extras import need
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.sweep.grid import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcalc.training.data import Split
    from dpcalc.training.method import Method

_DATA = ("data", "label", "positive", "schema", "row_bound")
_AROUND = ("seed", "nodes", "graph", *_DATA)
_SHOWN = ("train_loss", "train_error", "test_error")


@own_arithmetic
def trained(sweep: Sweep, _: str | None, points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Budget and utility of a training in every setting.

    Args:
        sweep: with the method's parameters and epsilon, delta, nodes, graph, seed, data, label,
            positive, schema and row_bound, each one value or an axis. With a seed every run is an
            experiment, not a private release.
        points: the settings.

    Raises:
        InvalidInput: without a seed, or for a name that is none of these, before data are read.
    """
    from dpcalc.training.catalogue import method

    _check_names(method(sweep.name), (*sweep.fixed, *sweep.axes))
    return [_row(sweep, dict(sweep.fixed) | point) for point in points]


def _check_names(kind: type[Method], given: Iterable[str]) -> None:
    from dpcalc.theorems.parameters import parameters

    budget = () if kind.theorem_key is None else ("epsilon", "delta")
    known = (*parameters(kind), *budget, *_AROUND)
    for name in given:
        if name not in known:
            raise unknown_name(f"parameter of a sweep of {kind.key}", name, known)


def _row(sweep: Sweep, given: dict[str, Any]) -> dict[str, Any]:
    if "seed" not in given:
        raise InvalidInput("a sweep of trainings needs a seed; got none; try seed = 1")
    unsaid = given.get("schema") is None
    try:
        return _carried_out(sweep.name, given)
    except DpcalcError as error:
        here = _HERE if unsaid and "schema" in str(error) else ""
        return {"refused": f"{error}{here}"}


_HERE = '; a sweep takes schema = "FILE" in [parameters]'
"""What the options that an error names are here."""


def _carried_out(name: str, given: dict[str, Any]) -> dict[str, Any]:
    from dpcalc.training.catalogue import method
    from dpcalc.training.graph import network
    from dpcalc.training.method import Budget
    from dpcalc.training.metrics import utility
    from dpcalc.training.prepared_run import prepare

    kind = method(name)
    seed = checks.count("seed", given.pop("seed"), minimum=0)
    budget = None
    if kind.theorem_key is not None:
        delta = as_real("delta", given.pop("delta", 0.0))
        if "epsilon" not in given:
            raise InvalidInput(f"{name} needs a budget; got none; try epsilon = 1 and delta = 1e-6")
        budget = Budget(as_real("epsilon", given.pop("epsilon")), delta)
    nodes, graph = given.pop("nodes", None), given.pop("graph", None)
    data = _split(*(given.pop(field, None) for field in _DATA))
    net = None
    if kind.distributed:
        need("networkx", purpose=f"{name} on a network")
        net = network(graph or "ring", nodes, 0)
    elif nodes not in (None, 1) or graph is not None:
        raise InvalidInput(f"{name} keeps all records in one place; leave out nodes and graph")
    records = data.records(1 if net is None else net.nodes)
    chosen, units = kind.from_parameters(given), data.table.units
    ready = prepare(chosen, records, network=net, budget=budget, said=given, units=units)
    found = utility(ready, ready.run(seed), data)
    spent = {"certified": ready.certified} if budget is not None else {}
    return spent | {name: found[name][0] for name in _SHOWN if name in found}


def _split(
    name: str | None,
    label: str | None,
    positive: str | None,
    schema: str | None,
    row_bound: Any,
) -> Split:
    """The same split for every setting, as long as the files are the same."""
    bound = (
        None if row_bound is None else checks.positive("row_bound", as_real("row_bound", row_bound))
    )
    files = tuple(_version(file) for file in (name, schema) if file is not None)
    return _read(name or "builtin", label, positive, schema, bound, files)


def _version(file: str) -> tuple[int, int] | None:
    """What changes when a file is written anew."""
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=2)
def _read(
    name: str,
    label: str | None,
    positive: str | None,
    schema: str | None,
    row_bound: float | None,
    _: tuple[tuple[int, int] | None, ...],
) -> Split:
    from dpcalc.training import data as source
    from dpcalc.training.schema import Schema, read_schema

    facts = Schema({}, {}) if schema is None else read_schema(Path(schema))
    table = source.load(
        name, label=label, positive=positive, schema=facts, row_bound=row_bound, sparse=True
    )
    return source.split(table, intercept=table.row_bound is not None, row_bound=row_bound)
