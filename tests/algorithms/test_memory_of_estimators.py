"""What estimators copy of rows in a mapped file, as NumPy counts it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpcalc.estimators import ADMMClassifier, AveragingClassifier, NetworkClassifier

COUNT, WIDTH = 60_000, 50


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    np.save(path, np.random.default_rng(0).normal(size=(COUNT, WIDTH)))
    return np.load(path, mmap_mode="r")


def _peak(work: Callable[[], object]) -> float:
    """The most memory in use, as a multiple of the rows."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / (8 * COUNT * WIDTH)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [ADMMClassifier, AveragingClassifier])
def test_rows_are_copied_once_to_fit_and_never_to_predict(kind: Any, rows: Any) -> None:
    """For three models as for one: in dealt order, shortened, times the label, with a constant."""
    model = kind(epsilon=1, delta=1e-6, row_bound=9, rounds=2, random_state=0)
    classes = np.digitize(rows[:, 0], [-0.5, 0.5])
    model.fit(rows[:600], classes[:600])  # what is imported and compiled once
    assert _peak(lambda: model.fit(rows, classes)) < 1.6
    assert _peak(lambda: model.predict(rows)) < 0.5


@pytest.mark.few(1)
@pytest.mark.parametrize("classes", [3, 2])
def test_objective_perturbation_has_one_copy_of_rows_and_one_in_single_precision(
    classes: int, rows: Any
) -> None:
    """However often a part of the budget is looked for that several models can have each.

    The first fit leaves the laws of the noise behind, whose size is that of no rows.
    """
    model = NetworkClassifier(epsilon=1, delta=1e-6, row_bound=9, rounds=2, random_state=0)
    labels = np.digitize(rows[:, 0], [-0.5, 0.5][: classes - 1])
    model.fit(rows, labels)
    assert _peak(lambda: model.fit(rows, labels)) < 1.8
    assert _peak(lambda: model.predict(rows)) < 0.5


def test_scores_of_rows_in_parts_are_those_of_each_alone(rows: Any) -> None:
    model = ADMMClassifier(epsilon=1, delta=1e-6, row_bound=5, rounds=2, random_state=0)
    model.fit(rows[:500], rows[:500, 0] > 0)
    some = rows[4000:4200]  # around the end of a part
    together = model.decision_function(rows[:9000])[4000:4200]
    np.testing.assert_allclose(together, model.decision_function(some), rtol=1e-13)
    longer = np.maximum(np.linalg.norm(some, axis=1) / 5, 1)
    by_hand = (some @ model.coef_[0]) / longer + model.intercept_[0]
    np.testing.assert_allclose(together, by_hand, rtol=1e-12, atol=1e-15)
