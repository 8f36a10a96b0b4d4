"""What keeps a run from learning, by what the same method does without noise.

Every number here looks at the data without noise, as utility does: it is for whoever holds the
data, and no part of what the budget covers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcalc.training.metrics import baseline_error, error

if TYPE_CHECKING:
    from dpcalc.algorithms.engine.algorithm import Algorithm
    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.sparse import Rows
    from dpcalc.training.data import Split
    from dpcalc.training.prepared_run import PreparedRun

Array = NDArray[np.float64]

_MORE_ROUNDS = 20
_NO_NOISE = 1e-12
"""What is left of the noise where a method insists on some."""

_NO_SPREAD = 1e-12
"""Of a column in its mean, up to which it is rounding."""

_RIDGE = 1e-8
"""Curvature that makes a minimiser unique."""


def without_noise(prepared: PreparedRun, data: Split) -> float:
    """The error of the same method with the same settings, but hardly any noise."""
    return _error(prepared, _silent(prepared), data)


def diagnosis(
    prepared: PreparedRun, data: Split, utility: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Why a run is no better than the best constant answer; None if it is better.

    None as well where records are in a file, to look at which so often would take too long.

    The first of these that is clearly better than a constant, by more than one standard deviation of
    that over other records to measure by, decides what is at fault:

    ========  =========================================================
    noise     the same without noise
    noise     the same, with what the budget had set, without a budget
    rounds    the same without noise and with more rounds
    settings  the exact minimum of the loss on the same rows
    scaling   the same on columns brought to their own mean and spread
    data      none: no linear model does better
    ========  =========================================================

    Of the last two scaling is at fault where it accounts for more than half of what can be learnt.

    Args:
        prepared: of the run.
        data: what it was trained on and measured by.
        utility: as `dpcalc.training.metrics.utility` found it.
    """
    from dpcalc.algorithms.problems.stored_rows import is_stored

    if is_stored(data.train[0]):
        return None
    loss: Loss = prepared.algorithm.problem.loss  # type: ignore[attr-defined] # every algorithm has one
    constant = data.label_unit * baseline_error(loss, _measured(data)[1])
    found = np.mean(utility.get("test_error", utility["train_error"]))
    if prepared.theorem is None or found < constant:
        return None
    clear = constant - data.label_unit * _spread(loss, _measured(data)[1])
    tried: list[tuple[str, float]] = []
    for fault, value in _trials(prepared, data):
        tried.append((fault, value))
        if value < clear:
            return _answer(fault, value, tried)
    settings = _best_linear(loss, (data.train[0], _measured(data)[0]), data)
    scaling = _best_linear(loss, _own_scale(data), data)
    tried += [("settings", settings), ("scaling", scaling)]
    if min(settings, scaling) >= clear:
        return _answer("data", min(value for _, value in tried), tried)
    if constant - settings < (constant - scaling) / 2:
        return _answer("scaling", scaling, tried)
    return _answer("settings", settings, tried)


def _spread(loss: Loss, labels: Array) -> float:
    """The standard deviation of a constant answer's error over other records, as many as these."""
    wrong = baseline_error(loss, labels)
    if loss.of_margin:
        return math.sqrt(wrong * (1 - wrong) / len(labels))
    return wrong / math.sqrt(2 * len(labels))


def _answer(fault: str, value: float, tried: list[tuple[str, float]]) -> dict[str, Any]:
    return {
        "fault": fault,
        "error": value,
        "tried": [{"fault": fault, "error": value} for fault, value in tried],
    }


def _trials(prepared: PreparedRun, data: Split) -> Iterator[tuple[str, float]]:
    yield "noise", without_noise(prepared, data)
    if prepared.asked != prepared.method:
        free = prepared.asked.resolved(prepared.records, prepared.network, None)
        if free != prepared.method:
            yield "noise", _error(prepared, _silent(replace(prepared, method=free)), data)
    if (rounds := getattr(prepared.method, "rounds", None)) is not None:
        more = prepared.method.replace(rounds=_MORE_ROUNDS * rounds)
        yield "rounds", _error(prepared, _silent(replace(prepared, method=more)), data)


def _silent(prepared: PreparedRun) -> Algorithm:
    """The algorithm of a plan with next to no noise."""
    theorem = prepared.theorem
    if theorem is None:
        return prepared.algorithm
    factor = 1 / _NO_NOISE if theorem.noise_is_a_rate else _NO_NOISE
    rate: Any = theorem.noise_level()
    silent = theorem.with_noise_level(rate * factor)
    return prepared.method.algorithm(prepared.records, prepared.network, silent)


def _error(prepared: PreparedRun, algorithm: Algorithm, data: Split) -> float:
    transcript = replace(prepared, algorithm=algorithm).run(0)
    loss: Loss = algorithm.problem.loss  # type: ignore[attr-defined]
    weights = prepared.method.weights(transcript)
    return data.label_unit * float(error(loss, weights, *_measured(data), _signs(data))[0])


def _measured(data: Split) -> tuple[Array, Array]:
    """Held-out records, or where there are none those that were trained on."""
    return data.test if len(data.test[1]) else data.train


def _signs(data: Split) -> Array | None:
    """What rows are times that are measured by."""
    return data.train[1] if data.signed and not len(data.test[1]) else None


def _own_scale(data: Split) -> tuple[Rows, Rows]:
    """Rows whose columns have mean 0 and spread 1 over all records, with a constant column.

    Columns of a sparse matrix keep their means, which the constant column makes up for. Rows to train
    on are times their labels where those of the split are.
    """
    from dpcalc.algorithms.problems import sparse

    table, cut = data.table.features, data.train[0].shape[0]
    count, d = table.shape
    d -= data.shortened is not None and data.intercept
    factors = np.ones(count) if data.shortened is None else np.array(data.shortened)
    signs = np.ones(count)
    if data.signed:
        signs[:cut] = data.train[1]
    if sparse.is_sparse(table):
        table = sparse.times(table[:, :d], factors * signs)
        mean = table.mean(axis=0)
        spread = np.sqrt(np.maximum(table.power(2).mean(axis=0) - mean**2, 0))
        spread[spread <= _NO_SPREAD * abs(mean)] = 1.0
        rows = sparse.with_column(sparse.columns_divided(table, spread), 1.0)
        rows = sparse.times(rows, signs) if data.signed else rows
        rows = sparse.read_only(rows / math.sqrt(rows.shape[1]), owned=True)
    else:
        rows = np.empty((count, d + 1))
        own = np.multiply(table[:, :d], (factors * signs)[:, None], out=rows[:, :d])
        mean = own.mean(axis=0)
        own -= mean
        spread = np.sqrt(np.einsum("nk,nk->k", own, own) / count)
        spread[spread <= _NO_SPREAD * abs(mean)] = 1.0
        own /= spread
        rows[:, d] = 1.0
        rows *= signs[:, None] / math.sqrt(d + 1)
        rows.flags.writeable = False  # records copy what somebody can write to
    if data.shortened is None:
        train, test = (rows[part] for part in data.order)
    else:
        train, test = (sparse.consecutive(rows, part) for part in (slice(cut), slice(cut, count)))
    return train, test if test.shape[0] else train


def _best_linear(loss: Loss, rows: tuple[Rows, Rows], data: Split) -> float:
    """The error of the exact minimum of a smooth loss of the same kind, on rows to measure by."""
    from dpcalc.algorithms.problems.consensus import smooth_sum
    from dpcalc.algorithms.problems.losses import Huber, Logistic
    from dpcalc.algorithms.problems.minimise import minimise
    from dpcalc.algorithms.problems.norms import row_norms
    from dpcalc.algorithms.problems.records import Records

    labels = np.ones_like(data.train[1]) if data.signed else data.train[1]
    smooth = loss if loss.smooth else Logistic() if loss.of_margin else Huber()
    records = Records(
        features=rows[0],
        labels=labels,
        sizes=(len(labels),),
        row_bound=float(row_norms(rows[0]).max()) or 1.0,
    )
    total = smooth_sum(records, slice(None), smooth, 1 / len(labels))
    start = np.zeros((1, rows[0].shape[1]))
    best = minimise(total, start, _RIDGE, start).points
    labels = _measured(data)[1]
    return data.label_unit * float(error(loss, best, rows[1], labels, _signs(data))[0])
