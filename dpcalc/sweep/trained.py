"""Trainings of a sweep: utility next to what was spent, in every setting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dpcalc import checks
from dpcalc.claims.tables import as_real
from dpcalc.errors import DpcalcError, InvalidInput
from dpcalc.extras import need
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.sweep.grid import Sweep

if TYPE_CHECKING:
    from dpcalc.training.data import Split

_DATA = ("data", "label", "positive")
_SHOWN = ("train_loss", "train_error", "test_error")


@own_arithmetic
def trained(sweep: Sweep, _: str | None, points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Budget and utility of a training in every setting.

    Args:
        sweep: with the method's parameters and epsilon, delta, nodes, graph, seed, data, label and
            positive, each one value or an axis. With a seed every run is an experiment, not a
            private release.
        points: the settings.
    """
    return [_row(sweep, dict(sweep.fixed) | point) for point in points]


def _row(sweep: Sweep, given: dict[str, Any]) -> dict[str, Any]:
    if "seed" not in given:
        raise InvalidInput("a sweep of trainings needs a seed; got none; try seed = 1")
    try:
        return _carried_out(sweep.name, given)
    except DpcalcError as error:
        return {"refused": str(error)}


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
    ready = prepare(kind.from_parameters(given), records, network=net, budget=budget, said=given)
    found = utility(ready, ready.run(seed), data)
    spent = {"certified": ready.certified} if budget is not None else {}
    return spent | {name: found[name][0] for name in _SHOWN if name in found}


@lru_cache(maxsize=2)
def _split(name: str | None, label: str | None, positive: str | None) -> Split:
    """The same split for every setting."""
    from dpcalc.training import data as source
    from dpcalc.training.schema import Schema

    nothing = Schema({}, {})
    table = source.load(
        name or "builtin", label=label, positive=positive, schema=nothing, sparse=True
    )
    return source.split(table, intercept=table.row_bound is not None)
