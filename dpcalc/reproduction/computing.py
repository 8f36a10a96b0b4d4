"""Figures computed on workers, whole or in parts, and kept as they are finished."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.execution import in_order, side_by_side
from dpcalc.execution.kept import Keeping, in_order_kept
from dpcalc.numerics.arithmetic import own_arithmetic
from dpcalc.reproduction.catalogue import experiment
from dpcalc.reproduction.experiment import Curve, Outcome, Table
from dpcalc.reproduction.setup import ExperimentConfig
from dpcalc.store import Store

Computed = tuple[Outcome, float]
"""What a figure shows, and the seconds that it took."""

_SAID = ("panel", "name", "noise", "epsilon", "delta", "noisy_rounds")


def computed(
    keys: Sequence[str],
    settings: Mapping[str, Any],
    *,
    executor: Executor | None = None,
    store: Store | None = None,
    finished: Callable[[str, Computed], None] | None = None,
) -> Generator[Computed, None, None]:
    """The outcomes of experiments, in the order of their keys.

    Workers take them one after the other, in parts where it has parts; the next one is begun before
    they have nothing to do. The numbers are the same.

    Args:
        keys: of the experiments.
        settings: of their `ExperimentConfig`.
        executor: who computes them; this process if left out.
        store: where finished ones are kept; without an executor, their finished curves too.
        finished: called with key and outcome as soon as it is there, in any order.
    """
    keeping: Keeping[str, Computed] = Keeping(
        store=store, key=lambda key: key, pack=_packed, unpack=_unpacked
    )
    if executor is None:
        here = partial(_compute, settings, store, None)
        return in_order_kept(here, keys, keeping=keeping, finished=finished)
    return _on_workers(keys, settings, executor, keeping, finished)


def _on_workers(
    keys: Sequence[str],
    settings: Mapping[str, Any],
    executor: Executor,
    keeping: Keeping[str, Computed],
    finished: Callable[[str, Computed], None] | None,
) -> Generator[Computed, None, None]:
    made: dict[str, Computed] = {}

    def came(key: str, answer: Computed) -> None:
        made[key] = answer
        if finished is not None:
            finished(key, answer)

    for key in keys:
        if (found := keeping.read(key)) is not None:
            came(key, found)
    missing = [key for key in keys if key not in made]
    tasks = [partial(_shared, dict(settings), key) for key in missing]
    with closing(side_by_side(tasks, executor)) as answers:
        for number, answer in answers:
            keeping.keep(missing[number], answer)
            came(missing[number], answer)
    yield from (made[key] for key in keys)


def _shared(settings: Mapping[str, Any], key: str, executor: Executor) -> Computed:
    """A figure whose parts workers take, or which one of them takes whole."""
    if experiment(key).in_parts:
        return _compute(settings, None, executor, key)
    whole = partial(_compute, settings, None, None)
    with closing(in_order(whole, [key], executor, what="figure")) as made:
        return next(made)


def longest_first(keys: Sequence[str]) -> list[str]:
    """The experiments with most panels first: no worker begins the longest when the others are done."""
    return sorted(keys, key=lambda key: -len(experiment(key).panels))


@own_arithmetic
def _compute(
    settings: Mapping[str, Any], store: Store | None, executor: Executor | None, key: str
) -> Computed:
    begun = time.monotonic()
    kept = None if store is None else store.section(key)
    outcome = experiment(key).compute(ExperimentConfig(**settings, kept=kept, executor=executor))
    return outcome, time.monotonic() - begun


def _packed(answer: Computed) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    outcome, seconds = answer
    curves = list(outcome.curves)
    arrays: dict[str, NDArray[Any]] = {}
    for number, curve in enumerate(curves):
        arrays |= {f"x{number}": np.asarray(curve.x), f"y{number}": np.asarray(curve.y)}
    header: dict[str, Any] = {
        "curves": [{name: getattr(curve, name) for name in _SAID} for curve in curves],
        "notes": list(outcome.notes),
        "seconds": seconds,
    }
    if outcome.table is not None:
        rows = [[_plain(cell) for cell in row] for row in outcome.table.rows]
        header |= {"columns": list(outcome.table.columns), "rows": rows}
    return header, arrays


def _unpacked(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Computed:
    curves = [
        Curve(x=arrays[f"x{number}"], y=arrays[f"y{number}"], **said)
        for number, said in enumerate(header["curves"])
    ]
    table = None
    if "columns" in header:
        rows = tuple(tuple(row) for row in header["rows"])
        table = Table(columns=tuple(header["columns"]), rows=rows)
    outcome = Outcome(curves=curves, table=table, notes=tuple(header["notes"]))
    return outcome, float(header["seconds"])


def _plain(cell: object) -> object:
    return cell.item() if isinstance(cell, np.generic) else cell
