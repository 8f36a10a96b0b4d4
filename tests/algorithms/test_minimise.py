"""Exact minimisation: against scipy, at rounding error, for every loss and every size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.sparse import csr_array

from dpcalc.algorithms.problems import compiled as compiled_module
from dpcalc.algorithms.problems import minimise as module
from dpcalc.algorithms.problems import rows as rows_module
from dpcalc.algorithms.problems import smooth as smooth_module
from dpcalc.algorithms.problems.compiled import CompiledRows
from dpcalc.algorithms.problems.losses import (
    Hinge,
    Huber,
    Linear,
    Logistic,
    SmoothedHinge,
    Squared,
)
from dpcalc.algorithms.problems.minimise import minimise
from dpcalc.algorithms.problems.rows import MixedRows
from dpcalc.algorithms.problems.smooth import SmoothSum
from dpcalc.errors import AssumptionViolated, InvalidInput, NumericalFailure

SMOOTH = [Logistic(), SmoothedHinge(width=0.5), Squared(scale=2.0), Huber(width=0.3), Linear()]


def sample(loss, records=30, d=4, runs=5, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    total = SmoothSum(
        rows=rng.standard_normal((records, d)) / np.sqrt(d),
        offsets=rng.standard_normal(records),
        loss=loss,
        weight=3.0 / records,
    )
    return total, scale * rng.standard_normal((runs, d))


def gradient(total, f, linear, h):
    """From the definition, record by record."""
    m = total.rows @ f + total.offsets
    return total.weight * (total.loss.derivative(m) @ total.rows) + h * f + linear


def rounding(total, points, linear, h):
    """What the gradients of exact minimisers may be, in whatever order the terms are summed.

    The solver stops where the gradient that it computes is at most 16ε times the size of its terms.
    That one is a sum of n + 2 terms with slopes of sums of d + 1: it is off by n + 3d + 16 unit
    roundoffs, ε/2, of that size at most, the slopes' own four units in the last place included.
    """
    size = []
    longest = np.linalg.norm(total.rows, axis=1).max()
    for f, c in zip(points, linear, strict=True):
        m = total.rows @ f + (0 if total.offsets is None else total.offsets)
        slopes, bends = total.loss.derivative(m), total.loss.second_derivative(m)
        terms = total.weight * longest * np.sqrt(len(m)) * np.linalg.norm(slopes)
        bent = (total.weight * bends.sum() * longest**2 + h) * np.linalg.norm(f)
        size.append(terms + np.linalg.norm(c) + bent)
    n, d = total.rows.shape
    return (16 + (n + 3 * d + 16) / 2) * np.finfo(float).eps * np.array(size)


def assert_minimised(total, found, linear, h):
    """The definition's gradient vanishes but for rounding, its own evaluation included."""
    allowed = rounding(total, found.points, linear, h)
    for point, c, most in zip(found.points, linear, allowed, strict=True):
        assert np.linalg.norm(gradient(total, point, c, h)) <= 2 * most
    assert (found.gradient_norm <= allowed).all()


def assert_the_same(total, found, other, linear, h):
    """By strong convexity, points whose gradients are at most g are g/h from the minimiser."""
    reach = (rounding(total, found, linear, h) + rounding(total, other, linear, h)) / h
    assert (np.linalg.norm(found - other, axis=1) <= reach).all()


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_the_gradient_vanishes_to_rounding_error_and_is_reported(loss):
    total, linear = sample(loss)
    found = minimise(total, linear, 0.2, np.zeros_like(linear))
    assert_minimised(total, found, linear, 0.2)


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_the_minimiser_is_scipys(loss):
    total, linear = sample(loss)
    found = minimise(total, linear, 0.2, np.ones_like(linear))

    def value(f, c):
        m = total.rows @ f + total.offsets
        return total.weight * total.loss.value(m).sum() + c @ f + 0.1 * f @ f

    for point, c in zip(found.points, linear, strict=True):
        best = scipy_minimize(value, np.zeros(4), args=(c,), method="BFGS", options={"gtol": 1e-8})
        np.testing.assert_allclose(point, best.x, atol=2e-5)


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
@pytest.mark.parametrize("scale", [10.0, 1000.0])
def test_far_minima_and_kinks_are_reached(loss, scale):
    """Pulls so strong that Newton's full step overshoots by far."""
    total, linear = sample(loss, runs=2000, scale=scale)
    found = minimise(total, linear, 0.05, np.zeros_like(linear))
    assert_minimised(total, found, linear, 0.05)


@pytest.mark.parametrize("start", [0.0, 1.0, -300.0])
def test_the_start_does_not_matter(start):
    total, linear = sample(Logistic())
    one = minimise(total, linear, 0.2, np.zeros_like(linear)).points
    other = minimise(total, linear, 0.2, np.full_like(linear, start)).points
    assert_the_same(total, one, other, linear, 0.2)


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_single_precision_work_ends_at_the_double_precision_minimiser(loss, monkeypatch):
    total, linear = sample(loss, records=400, d=12, runs=40)
    plain = minimise(total, linear, 0.2, np.zeros_like(linear))
    monkeypatch.setattr(module, "_SINGLE_FROM", 1)
    mixed = minimise(total, linear, 0.2, np.zeros_like(linear))
    assert "single" in total._cache
    assert_the_same(total, mixed.points, plain.points, linear, 0.2)
    assert_minimised(total, mixed, linear, 0.2)


def one_hot(records=400, seed=3):
    """Two dense columns and twelve of which every row has one."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((records, 14))
    rows[:, :2] = rng.standard_normal((records, 2))
    rows[np.arange(records), 2 + rng.integers(12, size=records)] = 1
    return rows / 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_taken_apart_are_the_rows(dtype, monkeypatch):
    monkeypatch.setattr(rows_module, "_TILE", 64)
    rows, rng = one_hot().astype(dtype), np.random.default_rng(0)
    mixed = MixedRows.of(rows)
    assert mixed.frequent.tolist() == [0, 1]
    columns, weights = rng.standard_normal((14, 5)).astype(dtype), rng.random((400, 5))
    folded = mixed.folded(columns, lambda tile, m: m * weights[tile])
    expected = rows.T @ ((rows @ columns) * weights)
    np.testing.assert_allclose(
        folded, expected, rtol=0, atol=1e-13 if dtype == np.float64 else 1e-4
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_compiled_products_are_the_products(dtype, form, monkeypatch):
    """Of seven tiles, the last one shorter, summed two by two; a sum has at most 400 roundings."""
    pytest.importorskip("numba")
    monkeypatch.setattr(compiled_module, "_TILE", 64)
    monkeypatch.setattr(compiled_module, "_TOGETHER", 2)
    rows, rng = one_hot().astype(dtype), np.random.default_rng(0)
    columns, weights = rng.standard_normal((14, 5)).astype(dtype), rng.random((400, 5))
    thin, weights = CompiledRows.of(form(rows)), weights.astype(dtype)
    expected = rows.T.astype(float) @ ((rows.astype(float) @ columns) * weights)
    terms = np.abs(rows).T @ ((np.abs(rows) @ np.abs(columns)) * weights)
    found = thin.folded(columns, lambda tile, m: m * weights[tile])
    for product in (found, thin.weighted(columns, weights)):
        assert (np.abs(product - expected) <= 420 * np.finfo(dtype).eps * terms).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_compiled_logistic_loss_is_the_logistic_loss(dtype, monkeypatch):
    """Every margin is m up to its rounding, so slopes are off by that of m and four units at most.

    Margins reach from where eᵐ is no number of the precision to where it is nothing next to 1.
    """
    pytest.importorskip("numba")
    monkeypatch.setattr(compiled_module, "_TILE", 64)
    monkeypatch.setattr(compiled_module, "_TOGETHER", 2)
    weight, unit = 0.3, float(np.finfo(dtype).eps)
    spread = np.geomspace(1e-6, 900, 399)
    margins = np.concatenate([[0.0], np.where(np.arange(399) % 2, spread, -spread)]).astype(dtype)
    rows = np.zeros((400, 14), dtype)
    rows[np.arange(400), np.arange(400) % 14] = margins
    columns = np.ones((14, 5), dtype) * np.array([1, -1, 0.5, 0, 1], dtype)
    bends = np.empty((400, 5), dtype)
    total, squares, levels = CompiledRows.of(rows).logistic(columns, weight, bends)
    m = (rows.astype(float) @ columns).astype(np.longdouble)
    slope = -1 / (1 + np.exp(m))
    bent, tiny = -weight * slope * (1 + slope), float(np.finfo(dtype).smallest_normal)
    assert (np.abs(bends - bent) <= (8 * unit) * weight * np.abs(slope) + 4 * tiny).all()
    terms = np.abs(rows).T.astype(float) @ np.abs(slope)
    assert (np.abs(total - rows.T @ slope) <= 40 * unit * terms + 1e4 * tiny).all()
    assert (np.abs(squares - (slope**2).sum(0)) <= 420 * unit * (slope**2).sum(0)).all()
    assert (np.abs(levels - bent.sum(0)) <= 420 * unit * np.abs(slope).sum(0)).all()


def test_the_compiled_logistic_loss_hides_no_nan():
    pytest.importorskip("numba")
    bends = np.empty((400, 2))
    columns = np.full((14, 2), [np.nan, 1.0])
    total, squares, levels = CompiledRows.of(one_hot()).logistic(columns, 1.0, bends)
    for found in (total[0], squares, levels, bends[0]):
        assert np.isnan(found).tolist() == [True, False]


def test_dense_rows_are_left_alone():
    dense = np.random.default_rng(0).standard_normal((50, 8))
    assert MixedRows.of(dense) is None
    assert CompiledRows.of(dense) is None
    assert CompiledRows.of(csr_array(dense)) is None


@pytest.mark.parametrize("numba", [True, False])
@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_sparse_columns_end_at_the_same_minimisers(loss, numba, monkeypatch):
    if numba:
        pytest.importorskip("numba")
    monkeypatch.setattr(compiled_module, "is_there", lambda: numba)
    rng = np.random.default_rng(1)
    offsets, linear = rng.standard_normal(400), rng.standard_normal((40, 14))
    dense, mixed = (
        SmoothSum(rows=one_hot(), offsets=offsets, loss=loss, weight=0.02) for _ in range(2)
    )
    plain = minimise(dense, linear, 0.2, np.zeros_like(linear))
    monkeypatch.setattr(smooth_module, "_MANY", 1)
    monkeypatch.setattr(module, "_SINGLE_FROM", 1)
    found = minimise(mixed, linear, 0.2, np.zeros_like(linear))
    form = CompiledRows if numba else MixedRows
    assert all(isinstance(mixed._cache[f"thin {name}"], form) for name in ("float32", "float64"))
    assert_the_same(dense, found.points, plain.points, linear, 0.2)
    assert_minimised(dense, found, linear, 0.2)


def test_a_runs_minimiser_does_not_depend_on_its_batch():
    total, linear = sample(Logistic(), records=300, d=6, runs=300)
    whole = minimise(total, linear, 0.2, np.zeros_like(linear)).points
    for r in (0, 150, 299):
        alone = minimise(total, linear[r : r + 1], 0.2, np.zeros((1, 6))).points[0]
        assert_the_same(total, alone[None], whole[r : r + 1], linear[r : r + 1], 0.2)


def test_the_last_runs_of_a_batch_keep_the_form_of_its_rows():
    """One run alone would go through the plain rows; the last one of forty does not."""
    pytest.importorskip("numba")
    total = SmoothSum(rows=one_hot(), offsets=None, loss=Logistic(), weight=0.02)
    columns, weights = np.ones((14, 1)), np.ones((400, 1))
    total.weighted(columns, weights, 1)
    assert not total._cache
    total.weighted(columns, weights, 41)
    assert isinstance(total._cache["thin float64"], CompiledRows)


def test_many_features_and_few_records():
    total, linear = sample(Logistic(), records=5, d=80)
    found = minimise(total, linear, 1e-3, np.zeros_like(linear))  # points are around 1e3
    assert_minimised(total, found, linear, 1e-3)


def test_a_planted_loose_tolerance_is_caught(monkeypatch):
    """The exactness test above has power: a solver stopped early does not pass it."""
    monkeypatch.setattr(module, "ROUNDING", 1e-3)
    total, linear = sample(Logistic())
    found = minimise(total, linear, 0.2, np.zeros_like(linear))
    with pytest.raises(AssertionError):
        assert_minimised(total, found, linear, 0.2)
    exact = minimise(*sample(Logistic(), seed=1), 0.2, np.zeros_like(linear)).points
    with pytest.raises(AssertionError):
        assert_the_same(total, found.points, exact, linear, 0.2)


def test_what_cannot_be_minimised_is_refused():
    total, linear = sample(Hinge())
    with pytest.raises(AssumptionViolated, match="SmoothedHinge"):
        minimise(total, linear, 1.0, linear)
    total, linear = sample(Logistic())
    with pytest.raises(InvalidInput, match="curvature"):
        minimise(total, linear, 0.0, linear)
    with np.errstate(invalid="ignore"), pytest.raises(NumericalFailure, match="moderate size"):
        minimise(total, np.full_like(linear, np.nan), 1.0, linear)


# ---- sums of losses


@pytest.mark.parametrize("loss", [*SMOOTH, Hinge()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("records", [3, 30])
def test_values_gradients_and_hessians_are_the_sums_they_stand_for(loss, records):
    total, points = sample(loss, records=records)
    for f, value, slope, bend, log_determinant in zip(
        points,
        total.value(points),
        total.gradient(points),
        total.hessian(points),
        total.log_determinant(points, 0.3),
        strict=True,
    ):
        m = [row @ f + o for row, o in zip(total.rows, total.offsets, strict=True)]
        assert value == pytest.approx(total.weight * sum(loss.value(np.array(x)) for x in m))
        expected = sum(
            loss.derivative(np.array([x]))[0] * r for x, r in zip(m, total.rows, strict=True)
        )
        np.testing.assert_allclose(slope, total.weight * expected, atol=1e-12)
        outer = sum(
            loss.second_derivative(np.array([x]))[0] * np.outer(r, r)
            for x, r in zip(m, total.rows, strict=True)
        )
        np.testing.assert_allclose(bend, total.weight * outer, atol=1e-12)
        sign, expected = np.linalg.slogdet(total.weight * outer + 0.3 * np.eye(4))
        assert sign == 1
        assert log_determinant == pytest.approx(expected, abs=1e-11)


def test_tiles_and_chunks_do_not_change_the_sums(monkeypatch):
    from dpcalc.algorithms.problems import smooth

    total, points = sample(Logistic(), records=100, runs=7)
    whole = total.value(points), total.gradient(points), total.hessian(points)
    monkeypatch.setattr(smooth, "_TILE", 32)
    monkeypatch.setattr(smooth, "_HESSIANS", 500)
    for one, other in zip(
        whole, (total.value(points), total.gradient(points), total.hessian(points)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
