"""Results are kept for the bytes they take, not for their number."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpcalc.accounting.losses import objective_perturbation
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.gaussian_update import GaussianUpdate
from dpcalc.accounting.losses.objective_perturbation import replacement_law
from dpcalc.guarantees import composition
from dpcalc.guarantees.objective_perturbation import normally_perturbed_update
from dpcalc.numerics.kept import Kept, bytes_of, kept_within

MEGABYTE = 2**20


@pytest.fixture
def counted() -> tuple[Kept[[int], Any], list[int]]:
    """Arrays of a megabyte, of which three and a half are kept, and what was asked for them."""
    asked: list[int] = []

    @kept_within(7 * MEGABYTE // 2)
    def array(k: int) -> Any:
        asked.append(k)
        return np.full(MEGABYTE // 8, float(k))

    return array, asked


def test_the_least_lately_used_is_dropped_for_room(
    counted: tuple[Kept[[int], Any], list[int]],
) -> None:
    array, asked = counted
    for k in (0, 1, 2, 0, 3, 0, 2, 1):
        assert array(k)[0] == k
        assert array.held < 7 * MEGABYTE // 2
    assert asked == [0, 1, 2, 3, 1]
    array.cache_clear()
    assert array.held == 0
    assert array(0) is array(0)


def test_what_is_too_large_is_kept_alone() -> None:
    @kept_within(100)
    def array(k: int) -> Any:
        return np.zeros(k)

    assert array(1000) is array(1000)
    assert array(2000) is array(2000)
    assert array.held < 2100 * 8


def test_arguments_count_too_and_what_is_shared_once() -> None:
    @kept_within(MEGABYTE)
    def size(law: object) -> int:
        return 0

    values = np.zeros(5000)
    law = DiscreteLoss(values, values[:5000])
    assert 40_000 <= bytes_of((law, [law, {"again": values}])) < 44_000
    size(law)
    assert 40_000 <= size.held < 44_000


def test_a_result_that_fails_is_asked_for_again() -> None:
    asked = []

    @kept_within(100)
    def failing(k: int) -> int:
        asked.append(k)
        raise ValueError(k)

    for _ in range(2):
        with pytest.raises(ValueError, match="1"):
            failing(1)
    assert asked == [1, 1]


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    values: Any


def test_objects_of_others_are_not_looked_into() -> None:
    assert bytes_of(_Elsewhere(np.zeros(1000))) < 1000


def test_a_kept_function_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(replacement_law)) is replacement_law  # noqa: S301  # our own


def test_laws_of_many_updates_and_the_questions_about_them_stay_within_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Either alone would hold the laws: questions are told apart by them."""
    laws, questions = objective_perturbation.replacement_law, composition._cached_epsilon
    for kept in (laws, questions):
        kept.cache_clear()
        monkeypatch.setattr(kept, "_limit", MEGABYTE // 2)
    sizes = []
    for k in range(8):
        update = GaussianUpdate(mu=0.5 + k / 100, curvature=0.5, tied=True)
        sizes.append(bytes_of(replacement_law(update)))
        assert normally_perturbed_update(update, "replace-one").epsilon(1e-5) > 0
        assert max(laws.held, questions.held) <= MEGABYTE // 2
    assert sum(sizes) > MEGABYTE
