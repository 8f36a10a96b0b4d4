"""Sparse rows give what the same rows as an array give, and are never made dense."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, csr_matrix, random_array

from dpcalc.algorithms import catalogue, load
from dpcalc.algorithms.engine.fingerprint import parts_of
from dpcalc.algorithms.problems import sparse
from dpcalc.algorithms.problems.composite import CompositeProblem
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.constraints import Constraint
from dpcalc.algorithms.problems.losses import Linear, Logistic
from dpcalc.algorithms.problems.measures import measure_composite, measure_consensus
from dpcalc.algorithms.problems.minimise import minimise
from dpcalc.algorithms.problems.networks import ring
from dpcalc.algorithms.problems.records import Records, bounded_rows, split, unit_rows
from dpcalc.algorithms.problems.regularisers import ridge
from dpcalc.algorithms.problems.smooth import SmoothSum
from dpcalc.errors import InvalidInput
from dpcalc.estimators import ADMMClassifier, AveragingClassifier

CLOSE = {"rtol": 1e-9, "atol": 1e-11}
"""A few thousand roundings, of numbers near 1."""


def table(rows, columns, seed=0):
    """One number in three is not zero; some rows have none."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.3)


def as_sparse(algorithm):
    """The same algorithm on a third of its features, dense and sparse."""
    records = algorithm.problem.records
    kept = np.random.default_rng(0).random(records.features.shape) < 0.3
    dense = Records(
        features=np.where(kept, records.features, 0.0),
        labels=records.labels,
        sizes=records.sizes,
        row_bound=records.row_bound,
    )
    thin = Records(
        features=csr_array(dense.features),
        labels=records.labels,
        sizes=records.sizes,
        row_bound=records.row_bound,
    )
    return algorithm.with_records(dense), algorithm.with_records(thin)


@pytest.mark.parametrize("key", catalogue())
def test_every_algorithm_releases_and_measures_the_same(key):
    dense, thin = as_sparse(load(key).example())
    expected, found = (a.run(1, runs=9, diagnostics=True) for a in (dense, thin))
    for name in expected.released:
        np.testing.assert_allclose(found[name], expected[name], **CLOSE)
    for name in expected.diagnostics.keys() - {"gradient_norm"}:  # that is rounding alone
        values = expected.diagnostic(name)
        np.testing.assert_allclose(found.diagnostic(name), values, rtol=1e-9, atol=1e-9)
    assert parts_of(dense) != parts_of(thin)


@pytest.mark.parametrize("key", ["private-r-admm", "dp-admm", "private-dual-averaging"])
def test_densities_are_the_same(key):
    dense, thin = as_sparse(load(key).example())
    run = dense.run(1, runs=3)
    expected = dense.log_density(run)
    np.testing.assert_allclose(thin.log_density(run), expected, rtol=1e-9)


@given(st.integers(1, 40), st.integers(1, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_every_operation_is_that_of_arrays(rows, columns, seed):
    x, rng = table(rows, columns, seed), np.random.default_rng(seed)
    thin, factors = csr_array(x), rng.standard_normal(rows) + 3
    start, stop = sorted(rng.integers(0, rows + 1, 2))
    part = sparse.consecutive(thin, slice(start, stop))
    np.testing.assert_array_equal(part.toarray(), x[start:stop])
    np.testing.assert_array_equal(sparse.transposed(part).toarray(), x[start:stop].T)
    v = rng.standard_normal((stop - start, 3))
    np.testing.assert_allclose(sparse.transposed(part) @ v, x[start:stop].T @ v, **CLOSE)
    chosen = rng.integers(0, rows, (2, 3))
    np.testing.assert_array_equal(sparse.dense_rows(thin, chosen), x[chosen])
    for operation in (
        lambda r: sparse.squared_norms(r),
        lambda r: sparse.times(r, factors),
        lambda r: sparse.divided(r, factors),
        lambda r: sparse.with_column(r, 2.0),
        lambda r: sparse.gram(r),
        lambda r: sparse.gram(r, factors),
        lambda r: sparse.replaced(r, rows - 1, np.arange(columns)),
        lambda r: sparse.all_alike(r),
        lambda r: sparse.all_alike(r[:1]),
    ):
        found = operation(thin)
        found = found.toarray() if sparse.is_sparse(found) else found
        np.testing.assert_allclose(found, operation(x), **CLOSE)


def test_parts_share_the_numbers_of_the_whole():
    thin = csr_array(table(1000, 20))
    for part in (slice(0, 1000), slice(990, 1000)):
        view = sparse.consecutive(thin, part)
        assert np.shares_memory(view.data, thin.data)
        assert np.shares_memory(sparse.transposed(view).data, thin.data)


@pytest.mark.parametrize("runs", [1, 20])
@pytest.mark.parametrize("rows", [300, 3000])
def test_minimisers_are_the_same(runs, rows):
    """In double precision, and in single precision first."""
    x = bounded_rows(table(rows, 30), "rescale")
    linear = np.random.default_rng(1).standard_normal((runs, 30))
    points = [
        minimise(
            SmoothSum(rows=r, offsets=None, loss=Logistic(), weight=0.01), linear, 0.5, 0 * linear
        ).points
        for r in (x, csr_array(x))
    ]
    np.testing.assert_allclose(points[1], points[0], **CLOSE)


def composite(features, loss, A):
    return CompositeProblem(
        records=split(features, np.ones(features.shape[0]), row_bound=9.0),
        loss=loss,
        regulariser=ridge(1.0),
        constraint=Constraint(A=A, B=-np.eye(len(A)), c=np.zeros(len(A))),
        ridge=0.1,
    )


@pytest.mark.parametrize("A", [np.eye(5), np.triu(np.ones((5, 5)))], ids=["scales", "mixes"])
def test_exact_steps_are_the_same(A):
    x, q = table(60, 5), np.random.default_rng(0).standard_normal((4, 5))
    steps = [
        composite(r, Logistic(), A).x_step(q, 2.0, np.zeros((4, 5))).points
        for r in (x, csr_array(x))
    ]
    np.testing.assert_allclose(steps[1], steps[0], **CLOSE)


@pytest.mark.parametrize("loss", [Logistic(), Linear()])
def test_measures_are_the_same(loss):
    x = table(60, 5)
    a, b = (measure_composite(composite(r, loss, np.eye(5))) for r in (x, csr_array(x)))
    assert a.user_gradient_gap == pytest.approx(b.user_gradient_gap)
    np.testing.assert_allclose(a.user_smoothness, b.user_smoothness)
    network = {"network": ring(3), "loss": Logistic(), "ridge": 1.0}
    c, d = (
        measure_consensus(
            ConsensusProblem(records=split(r, np.ones(60), 3, row_bound=9.0), **network)
        )
        for r in (x, csr_array(x))
    )
    np.testing.assert_allclose(c.smoothness, d.smoothness)


# ---- what is taken


def test_doubled_entries_are_added_and_other_forms_and_precisions_are_taken():
    doubled = coo_array(([1.0, 0.5], ([0, 0], [1, 1])), shape=(2, 2))
    records = split(doubled, [1.0, -1.0], row_bound=2.0)
    np.testing.assert_array_equal(records.features.toarray(), [[0, 1.5], [0, 0]])
    single = split(csr_matrix(np.eye(2, dtype=np.float32)), [1.0, -1.0])
    assert single.features.dtype == np.float64


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (csr_array(np.diag([1.0, np.nan])), "row 1 holds nan in column 1"),
        (csr_array((0, 3)), "non-empty"),
        (csr_array(np.eye(2) * 1j), "complex"),
        (csr_array(2 * np.eye(2)), "norm=2.0"),
    ],
)
def test_refused_as_an_array_would_be(bad, says):
    with pytest.raises(InvalidInput, match=says):
        split(bad, np.ones(bad.shape[0]))


def test_nobody_writes_to_records_and_the_caller_keeps_the_own():
    mine = csr_array(np.eye(3))
    records = split(mine, np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        records.features.data[0] = 5
    mine.data[0] = 0.5
    assert records.features[0, 0] == 1
    assert records.replaced(0, np.zeros(3), -1.0).features[0].nnz == 0
    assert np.isnan(records.poisoned().features).all()
    assert split(csr_array(np.eye(4)), np.ones(4), 2).of_node(1).features.shape == (2, 4)


@pytest.mark.parametrize("kind", [ADMMClassifier, AveragingClassifier])
def test_a_fit_on_sparse_rows_takes_the_data_and_half_as_much_again(kind):
    """As an array the rows of about 12 numbers among 100 would take five times as much."""
    rng = np.random.default_rng(0)
    x = csr_array(random_array((30_000, 100), density=0.12, rng=rng, format="csr"))
    y = np.where(x @ rng.standard_normal(100) > 0, 1.0, -1.0)
    size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes + y.nbytes
    model = kind(row_bound=2.0, rounds=2, random_state=0)
    model.fit(x[:300], y[:300])  # imports
    tracemalloc.start()
    model.fit(x, y)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    matrices = 12 * 101**2 * 8  # of features by features, whatever the number of records
    assert used <= 1.5 * size + matrices


def test_the_largest_row_is_refused_by_name_in_sparse_rows_too():
    with pytest.raises(InvalidInput, match="1 of 3"):
        unit_rows(csr_array(np.diag([1.0, 1, 2])), on_large="refuse")
