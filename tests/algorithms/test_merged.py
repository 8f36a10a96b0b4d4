"""Rows whose columns are added up in pairs are the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcalc.algorithms.problems import merged as module
from dpcalc.algorithms.problems.compiled import CompiledRows
from dpcalc.algorithms.problems.merged import MergedRows


def people(count=600, seed=0):
    """Three numbers and four one-hot features of which two go together, rows of norm 1, signed."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((count, 29))
    rows[:, :3] = rng.random((count, 3)) * (rng.random((count, 3)) < 0.8)
    first = rng.integers(6, size=count)
    second = np.where(rng.random(count) < 0.9, first, rng.integers(6, size=count))
    for start, of in ((3, first), (9, second), (15, rng.integers(2, size=count)), (23, first)):
        rows[np.arange(count), start + of] = 1
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * rng.choice([-1, 1], (count, 1))


def read_back(merged):
    """Row by row from the definition: the columns that every entry stands for."""
    count, columns = merged.rows.shape
    d = columns - len(merged.pairs)
    result = np.zeros((count, d))

    def add(row, column, number):
        if column < d:
            result[row, column] += number
            return
        for of_pair in merged.pairs[column - d]:
            add(row, of_pair, number)

    for row, column, number in zip(*merged.rows.nonzero(), merged.rows.data, strict=True):
        add(row, column, number)
    return result


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_merged_rows_are_the_rows_bit_for_bit_with_fewer_numbers(dtype, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 256)  # rewritten in three parts
    monkeypatch.setattr(module, "_LOOKED_AT", 250)  # pairs come from every third row
    rows = people().astype(dtype)
    merged = MergedRows.of(csr_array(rows))
    assert merged.rows.dtype == dtype
    assert merged.rows.nnz <= 0.65 * np.count_nonzero(rows)
    np.testing.assert_array_equal(read_back(merged), rows)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (1, 0), (3, 5), (4097, 2)])
def test_rows_without_numbers_and_no_rows_are_themselves(shape):
    merged = MergedRows.of(csr_array(shape))
    assert merged.rows.shape == shape
    assert (merged.rows.nnz, len(merged.pairs)) == (0, 0)
    found = CompiledRows.of(csr_array(shape))
    assert found is None or found.by_row.shape == shape


def test_sums_of_pairs_are_handed_back_to_both():
    """A pair of pairs included: Eᵀ is the transpose of E."""
    pytest.importorskip("numba")
    from dpcalc.algorithms.problems import kernels

    pairs = np.array([[0, 2], [4, 1]])
    expected = np.array(
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 1, 0], [1, 1, 1, 0]]
    )
    sums, shares = np.eye(6)[:, :4].copy(), np.eye(6)
    kernels.add_up(pairs, sums)
    kernels.share_out(pairs, shares)
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(shares[:4], expected.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_products_go_through_merged_rows(dtype):
    """A sum of n terms of d more is off by n + d roundings, and one per pair, at most."""
    pytest.importorskip("numba")
    rows, rng = people().astype(dtype), np.random.default_rng(1)
    thin = CompiledRows.of(csr_array(rows))
    assert len(thin.pairs) > 0
    columns = rng.standard_normal((29, 5)).astype(dtype)
    weights = rng.random((600, 5)).astype(dtype)
    found = thin.weighted(columns, weights)
    exact, columns = rows.astype(float), columns.astype(float)
    terms = np.abs(exact).T @ ((np.abs(exact) @ np.abs(columns)) * weights)
    unit = (600 + 29 + len(thin.pairs)) * np.finfo(dtype).eps
    assert (np.abs(found - exact.T @ ((exact @ columns) * weights)) <= unit * terms).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weighted_sums_of_squares_go_through_merged_rows(dtype):
    """Every entry is a sum of at most n terms, shared out over the pairs, in double precision."""
    pytest.importorskip("numba")
    rows, weights = people().astype(dtype), np.random.default_rng(1).random(600).astype(dtype)
    thin = CompiledRows.of(csr_array(rows))
    exact, unit = rows.astype(float), (600 + 8 + len(thin.pairs)) * np.finfo(float).eps
    expected, terms = (sign(exact).T * weights @ sign(exact) for sign in (np.positive, np.abs))
    assert len(thin.pairs) > 0
    assert (np.abs(thin.gram(weights) - expected) <= unit * terms).all()


def test_a_planted_pair_too_many_is_caught(monkeypatch):
    """A row that holds one column of a pair must not be given both."""
    right = module._merge

    def wrong(held, a, b, new):
        right(held, a, b, new)
        held[new, 0] = True

    monkeypatch.setattr(module, "_merge", wrong)
    with pytest.raises(AssertionError):
        test_merged_rows_are_the_rows_bit_for_bit_with_fewer_numbers(np.float64, monkeypatch)


@pytest.mark.parametrize(
    "rows",
    [np.zeros((5, 3)), np.eye(4), np.ones((1, 4)), np.random.default_rng(0).random((50, 6))],
    ids=["zeros", "alone", "one row", "no number twice"],
)
def test_rows_without_common_pairs_stay_as_they_are(rows):
    merged = MergedRows.of(csr_array(rows))
    assert len(merged.pairs) == 0
    np.testing.assert_array_equal(merged.rows.toarray(), rows)
