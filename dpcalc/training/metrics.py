"""Utility of a run: error, loss and the gap to consensus.

Utility reads the data once more, without noise; it is for the person who holds the data and is no
part of what the budget covers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CONSENSUS_METRICS",
    "baseline_error",
    "error",
    "mean_loss",
    "utility",
]

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcalc.algorithms.problems.losses import Loss
    from dpcalc.algorithms.problems.sparse import Rows
    from dpcalc.training.data import Split
    from dpcalc.training.prepared_run import PreparedRun
    from dpcalc.transcript import Transcript

Array = NDArray[np.float64]

CONSENSUS_METRICS = {"consensus_gap": "consensus gap", "feasibility_gap": "feasibility gap"}
"""How far a run is from agreement, by the name of its diagnostic."""


def utility(prepared: PreparedRun, transcript: Transcript, data: Split) -> dict[str, list[float]]:
    """Measures of every run's released model."""
    weights = prepared.method.weights(transcript)
    loss: Loss = prepared.algorithm.problem.loss  # type: ignore[attr-defined] # every algorithm has one
    signs, unit = data.train[1] if data.signed else None, data.label_unit
    found = {"train_loss": mean_loss(loss, weights, *data.train, signs).tolist()}
    found["train_error"] = (unit * error(loss, weights, *data.train, signs)).tolist()
    if len(data.test[1]):
        found["test_error"] = (unit * error(loss, weights, *data.test)).tolist()
        found["test_error_of_a_constant"] = [unit * baseline_error(loss, data.test[1])]
    for name in CONSENSUS_METRICS:
        if name in transcript.diagnostics:
            found[name] = transcript.diagnostic(name)[:, -1].tolist()
    if "gradient_norm" in transcript.diagnostics:
        norms = transcript.diagnostic("gradient_norm")
        found["largest_gradient_norm"] = [float(np.nanmax(norms))]
    return found


def mean_loss(
    loss: Loss, weights: Array, features: Rows, labels: Array, signs: Array | None = None
) -> Array:
    """Mean loss per record; shape (runs,).

    Args:
        loss: of one record.
        weights: a model of every run.
        features: rows of the records.
        labels: of the same.
        signs: what rows are times, ±1 for each; None for nothing.
    """

    def total(scores: Array, y: Array) -> float:
        return float(loss.value(_argument(loss, scores, y)).sum())

    return _means(total, weights, features, labels, signs)


def error(
    loss: Loss, weights: Array, features: Rows, labels: Array, signs: Array | None = None
) -> Array:
    """Share of wrong signs, or for a regression the root mean squared error; shape (runs,).

    Args: see `mean_loss`.
    """

    def wrong(scores: Array, y: Array) -> float:
        return float(np.count_nonzero(np.where(scores >= 0, 1.0, -1.0) != y))

    def square(scores: Array, y: Array) -> float:
        return float(((scores - y) ** 2).sum())

    if loss.of_margin or set(np.unique(labels)) == {-1.0, 1.0}:
        return _means(wrong, weights, features, labels, signs)
    return np.sqrt(_means(square, weights, features, labels, signs))


def _means(
    total: Callable[[Array, Array], float],
    weights: Array,
    features: Rows,
    labels: Array,
    signs: Array | None,
) -> Array:
    """Means over all records of what is summed up block by block; shape (runs,)."""
    from dpcalc.algorithms.problems.stored_rows import is_stored

    sums, first = np.zeros(len(weights)), 0
    for rows in features.blocks() if is_stored(features) else [features]:
        here = slice(first, first + rows.shape[0])
        own = 1.0 if signs is None else signs[here]
        sums += [total(rows @ w * own, labels[here]) for w in weights]
        first += rows.shape[0]
    return sums / len(labels)


def baseline_error(loss: Loss, labels: Array) -> float:
    """The error of the best constant answer: what a model has to beat."""
    if loss.of_margin:
        return float(min(np.mean(labels > 0), np.mean(labels < 0)))
    return float(np.std(labels))


def _argument(loss: Loss, scores: Array, labels: Array) -> Array:
    return labels * scores if loss.of_margin else scores - labels
