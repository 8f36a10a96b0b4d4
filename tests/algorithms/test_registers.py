"""Sums kept in registers: exact for every number of runs, and each run by itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcalc.algorithms.problems.compiled import CompiledRows

pytest.importorskip("numba")

RUNS = [*range(1, 71), 200]
"""Pieces of 256 and 64 bytes, and what is left over, in both precisions."""


def whole(shape, rng, share=0.25):
    """Small whole numbers, mostly zero: their products and sums are exact in any order."""
    return rng.integers(1, 8, shape) * rng.choice([-1, 1], shape) * (rng.random(shape) < share)


def matrices(rng):
    """Two tiles of records, with rows and columns without numbers; one column; one row."""
    rows = whole((300, 31), rng)
    rows[[0, 7, 255, 256, 299]] = 0
    rows[:, [0, 3, 30]] = 0
    one_row = np.zeros((1, 9))
    one_row[0, 4] = 3
    return rows, whole((300, 1), rng), np.zeros((20, 5)), one_row


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_whole_numbers_are_exact_for_any_number_of_runs(dtype):
    rng = np.random.default_rng(0)
    for rows in matrices(rng):
        thin = CompiledRows.of(csr_array(rows.astype(dtype)))
        sparse, (count, d) = csr_array(rows.astype(float)), rows.shape
        for runs in RUNS:
            columns, weights = whole((d, runs), rng, 1), whole((count, runs), rng, 1)
            expected = sparse.T @ (weights * (sparse @ columns.astype(float)))
            arguments = columns.astype(dtype), weights.astype(dtype)
            np.testing.assert_array_equal(thin.weighted(*arguments), expected)
            found = thin.folded(arguments[0], lambda part, m, w=arguments[1]: m * w[part])
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_run_has_the_same_bits_in_every_batch(dtype):
    """Gradients and products, of runs at the begin, the end and in between."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((300, 31)) * (rng.random((300, 31)) < 0.25)
    thin = CompiledRows.of(csr_array(rows.astype(dtype)))
    columns = rng.standard_normal((31, 200)).astype(dtype)
    weights, bends = rng.random((300, 200)).astype(dtype), np.empty((300, 200), dtype)
    products, gradients = thin.weighted(columns, weights), thin.logistic(columns, 0.5, bends)
    for first, last in [(0, 1), (199, 200), (3, 10), (50, 120), (7, 40), (0, 199)]:
        part, here = np.s_[:, first:last], np.empty((300, last - first), dtype)
        some = np.ascontiguousarray(columns[part])
        np.testing.assert_array_equal(thin.weighted(some, weights[part]), products[part])
        slopes, squares, levels = thin.logistic(some, 0.5, here)
        np.testing.assert_array_equal(slopes, gradients[0][part])
        np.testing.assert_array_equal(here, bends[part])
        np.testing.assert_array_equal(squares, gradients[1][first:last])
        np.testing.assert_array_equal(levels, gradients[2][first:last])


@pytest.mark.parametrize("whole_type", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_combination_is_added_to_its_own_numbers_alone(dtype, whole_type):
    """Of any width, whether or not it is one of whole lines of the cache."""
    from dpcalc.algorithms.problems import kernels

    rng = np.random.default_rng(2)
    values, index = whole(9, rng, 1).astype(dtype), rng.integers(0, 5, 9).astype(whole_type)
    for width in range(1, 150):
        vectors, total = whole((5, width), rng, 1).astype(dtype), np.full((3, width), 2, dtype)
        for start, stop in [(0, 9), (2, 3), (4, 4)]:
            before = total[1].copy()
            kernels.add_combination(values, index, start, stop, vectors, total[1])
            terms = (values[j] * vectors[index[j]] for j in range(start, stop))
            np.testing.assert_array_equal(total[1], sum(terms, before))
        np.testing.assert_array_equal(total[::2], 2)
