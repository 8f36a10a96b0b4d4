"""Sums and minimisers over rows in a file: as exact as over rows in memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dpcalc.algorithms.problems import minimise, sparse
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Huber, Logistic, Loss
from dpcalc.algorithms.problems.records import Records
from dpcalc.algorithms.problems.smooth import SmoothSum
from dpcalc.algorithms.problems.stored_rows import StoredRows
from dpcalc.training.graph import network

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array = Any

COUNT, WIDTH, NODES, RUNS = 301, 6, 2, 3
EPS = float(np.finfo(np.float64).eps)


def table(folder: Path, block: int) -> tuple[StoredRows, NDArray[np.float64], Array]:
    """Rows in a file, the same in memory, and labels, one class after the other."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(COUNT, WIDTH))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = np.where(np.arange(COUNT) < COUNT // 2, 1.0, -1.0)
    rows.tofile(folder / "rows")
    return StoredRows(path=folder / "rows", shape=rows.shape, block=block), rows, labels


def slope_and_bend(loss: Loss, rows: Array, labels: Array, point: Array) -> tuple[Array, Array]:
    """φ' by the weights of records, and φ'', with 19 digits, by formulas of their own."""
    scores = rows.astype(np.longdouble) @ point.astype(np.longdouble)
    if loss.of_margin:
        share = 1 / (1 + np.exp(labels * scores))
        return -labels * share, share * (1 - share)
    gap = scores - labels
    return np.clip(gap, -1, 1), (np.abs(gap) <= 1).astype(np.longdouble)


@pytest.mark.parametrize("block", [1, 7, 64, 1000])
@pytest.mark.parametrize("loss", [Logistic(), Huber(width=1.0)])
def test_gradients_hessians_and_spectra_are_those_of_all_rows(
    tmp_path: Path, block: int, loss: Loss
) -> None:
    stored, rows, labels = table(tmp_path, block)
    weights = np.linspace(-1, 3, COUNT)
    exact = np.einsum("n,nj,nk->jk", weights.astype(np.longdouble), rows, rows)
    slack = (COUNT + 3) * EPS * np.abs(weights).sum()  # every entry of a row is at most 1
    assert np.abs(sparse.gram(stored, weights) - exact).max() <= slack
    total = SmoothSum(
        rows=stored.times(labels) if loss.of_margin else stored,
        offsets=None if loss.of_margin else -labels,
        loss=loss,
        weight=0.5,
    )
    points = np.random.default_rng(3).normal(size=(RUNS, WIDTH))
    slack = (COUNT + WIDTH + 20) * EPS * COUNT
    found, gradients = total.hessian(points), total.gradient(points)
    for k, point in enumerate(points):
        slopes, bends = slope_and_bend(loss, rows, labels, point)
        hessian = 0.5 * np.einsum("n,nj,nk->jk", bends, rows, rows)
        assert np.abs(found[k] - hessian).max() <= slack
        assert np.abs(gradients[k] - 0.5 * slopes @ rows).max() <= slack
        determinant = np.linalg.slogdet((hessian + np.eye(WIDTH)).astype(np.float64))[1]
        # eigenvalues are 1 and above; each may be off by d·slack
        off = total.log_determinant(points, 1.0)[k] - determinant
        assert abs(off) <= 2 * WIDTH**2 * slack
    everything = SmoothSum(rows=rows, offsets=None, loss=loss, weight=0.5)
    assert np.abs(total.spectrum()[0] - everything.spectrum()[0]).max() <= WIDTH * slack


@pytest.mark.parametrize("block", [1, 7, 64, 1000])
@pytest.mark.parametrize("loss", [Logistic(), Huber(width=1.0)])
def test_minimisers_are_as_exact_as_in_memory(tmp_path: Path, block: int, loss: Loss) -> None:
    """By gradients with 19 digits; strong convexity turns them into a distance."""
    stored, rows, labels = table(tmp_path, block)
    sizes = (COUNT // 3, COUNT - COUNT // 3)
    rng = np.random.default_rng(4)
    linear = rng.normal(size=(RUNS, NODES, WIDTH)) / 3
    start, curvature = np.zeros_like(linear), np.array([0.02, 0.3])
    answers = []
    for features in (rows, stored):
        problem = ConsensusProblem(
            records=Records(features=features, labels=labels, sizes=sizes),
            network=network("complete", NODES, 0),
            loss=loss,
            ridge=0.01,
        )
        answers.append(problem.minimisers(linear, curvature, start))
    cuts = (slice(0, sizes[0]), slice(sizes[0], COUNT))
    for i, part in enumerate(cuts):
        h = 0.005 + curvature[i]
        for k in range(RUNS):
            norms = []
            for found in answers:
                point = found.points[k, i].astype(np.longdouble)
                slopes, _ = slope_and_bend(loss, rows[part], labels[part], point)
                gradient = slopes @ rows[part] / sizes[i] + h * point + linear[k, i]
                norms.append(float(np.sqrt(gradient @ gradient)))
                terms = 2 + float(np.linalg.norm(linear[k, i]))  # |φ'|, and hf = -c - Σ φ'r
                rounding = minimise.ROUNDING + (sizes[i] + WIDTH + 20) * EPS
                assert norms[-1] <= rounding * 2 * terms
            apart = np.linalg.norm(answers[0].points[k, i] - answers[1].points[k, i])
            assert apart <= sum(norms) / h * (1 + 1e-6)
