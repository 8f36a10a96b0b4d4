"""Rows of masses on one lattice, against plain loops or exact sums."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcalc.accounting.composition.lattice.rows import (
    EMPTY,
    Row,
    added,
    beyond,
    convolved,
    halved,
    trimmed,
)
from dpcalc.accounting.losses import (
    UNIT_ROUNDOFF,
)
from tests.unit.lattice_rows import q_mass, row


def test_parts_of_a_row() -> None:
    whole = row(-2, 0.1, 0.2, 0.3, 0.4)
    assert whole.last == 1
    assert whole.points.tolist() == [-2, -1, 0, 1]
    for low, high in [(-5, 5), (-1, 0), (-1, -1), (1, 9), (-9, -2), (2, 4), (-9, -3), (0, -1)]:
        part = whole.between(low, high)
        held = [(k, v) for k, v in zip(range(-2, 2), whole.values, strict=True) if low <= k <= high]
        assert list(zip(part.points, part.values, strict=True)) == held
    assert whole.below(0).values.tolist() == [0.1, 0.2]
    assert whole.over(0).values.tolist() == [0.4]
    assert whole.over(0).first == 1


def test_what_is_negligible_is_dropped() -> None:
    found = trimmed(row(5, 1e-155, 1e-154, 1e-200, 0.5, 0.0))
    assert (found.first, found.values.tolist()) == (6, [1e-154, 0.0, 0.5])
    assert trimmed(row(3, 1e-155)) is EMPTY
    assert trimmed(EMPTY) is EMPTY


def test_rows_are_added_where_they_overlap_and_where_they_do_not() -> None:
    found = added(row(-1, 0.1, 0.2), EMPTY, row(2, 0.5), row(0, 1.0))
    assert (found.first, found.values.tolist()) == (-1, [0.1, 1.2, 0.0, 0.5])
    one = row(4, 0.3)
    assert added(EMPTY, one) is one
    assert added() is EMPTY
    assert added(EMPTY, EMPTY) is EMPTY


@pytest.mark.parametrize("sizes", [(1, 1), (7, 3), (300, 900), (5000, 400)])
@pytest.mark.parametrize("rounding", [1.0, -1.0])
def test_sums_of_products_are_rounded_outward(sizes: tuple[int, int], rounding: float) -> None:
    rng = np.random.default_rng(sizes[0])
    one, other = (Row(k - 3, rng.uniform(0.1, 1, n)) for k, n in enumerate(sizes))
    exact = np.convolve(one.values.astype(np.longdouble), other.values.astype(np.longdouble))
    shorter = min(sizes)
    step = max(math.ceil(shorter / 32), 128)
    terms = min(step, shorter) + shorter // step + 8
    for most in (10**6, sum(sizes) - 9, 0):
        found = convolved(one, other, most, rounding)
        assert found.first == -5 or not len(found.values)
        kept = exact[: max(0, most + 6)]
        assert len(found.values) == len(kept)
        off = (found.values / kept.astype(np.longdouble) - 1) * rounding / UNIT_ROUNDOFF
        assert np.all(off >= 0)
        assert np.all(off <= 2.1 * terms)
    assert convolved(one, other, -6, rounding) is EMPTY
    assert convolved(EMPTY, other, 5, rounding) is EMPTY
    assert convolved(one, EMPTY, 5, rounding) is EMPTY


@pytest.mark.parametrize("first", [-3, -2, 0, 1])
@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_halving_keeps_both_masses(first: int, size: int) -> None:
    step = 0.3
    values = np.random.default_rng(size).uniform(0.1, 1, size)
    found = halved(Row(first, values), step, 1.0, 1.0)
    law = {point * step: value for point, value in zip(found.points, found.values, strict=True)}
    before = {(first + k) * step / 2: v for k, v in enumerate(values.tolist())}
    assert sum(law.values()) == pytest.approx(values.sum(), rel=1e-14)
    assert sum(law.values()) > values.sum()
    assert q_mass(law) == pytest.approx(q_mass(before), rel=1e-14)
    for k, value in enumerate(values.tolist()):  # what is on a point stays there
        if (first + k) % 2 == 0:
            assert law[(first + k) // 2 * step] >= value
    down = halved(Row(first, values), step, 1.0, -1.0)
    np.testing.assert_allclose(found.values / down.values, 1 + 24 * UNIT_ROUNDOFF, rtol=1e-15)
    # The weight is of what is split alone.
    heavy = halved(Row(first, values), step, 3.0, 1.0)
    split = sum(v for k, v in enumerate(values) if (first + k) % 2)
    assert heavy.values.sum() - found.values.sum() == pytest.approx(2 * split, abs=1e-12)
    assert halved(EMPTY, step, 1.0, 1.0) is EMPTY


@pytest.mark.parametrize("most", [-9, -4, 0, 3, 7, 30])
def test_what_is_beyond_a_point_against_all_pairs(most: int) -> None:
    rng = np.random.default_rng(most + 10)
    for sizes in ((1, 1), (4, 9), (9, 4), (0, 3)):
        one, other = (Row(k - 4, rng.uniform(0, 1, n)) for k, n in enumerate(sizes))
        truth = math.fsum(
            p * q
            for i, p in enumerate(one.values.tolist(), one.first)
            for j, q in enumerate(other.values.tolist(), other.first)
            if i + j > most
        )
        assert beyond(one, other, most) == pytest.approx(truth, rel=1e-14, abs=1e-300)
