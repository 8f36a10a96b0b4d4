"""Constants and derivatives of losses; minimisers of regularisers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcalc.algorithms.problems.losses import (
    Hinge,
    Huber,
    Linear,
    Logistic,
    SmoothedHinge,
    Squared,
)
from dpcalc.algorithms.problems.regularisers import (
    Ball,
    ElasticNet,
    GroupLasso,
    lasso,
    no_regulariser,
    ridge,
)
from dpcalc.errors import AssumptionViolated, InvalidInput

LOSSES = [
    Logistic(),
    Hinge(),
    SmoothedHinge(width=0.5),
    Squared(scale=2.0),
    Huber(width=0.7),
    Linear(),
]
GRID = np.linspace(-6, 6, 1201) + 1e-4  # off the kinks


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_slopes_and_bends_are_derivatives(loss):
    h = 1e-6
    slope = (loss.value(GRID + h) - loss.value(GRID - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(GRID), slope, atol=1e-7)
    if loss.smooth:
        bend = (loss.derivative(GRID + h) - loss.derivative(GRID - h)) / (2 * h)
        np.testing.assert_allclose(loss.second_derivative(GRID), bend, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_constants_are_the_least_that_hold(loss):
    slopes, bends = np.abs(loss.derivative(GRID)), loss.second_derivative(GRID)
    assert slopes.max() <= loss.derivative_bound
    if math.isfinite(loss.derivative_bound):
        assert slopes.max() > 0.99 * loss.derivative_bound
    assert bends.min() >= loss.least_curvature
    assert bends.max() <= loss.curvature
    if loss.smooth:
        assert bends.max() > 0.99 * loss.curvature - 1e-12
    assert loss.quadratic == (np.ptp(bends) == 0 and loss.smooth)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slope_and_bend_together_agree_with_each_alone(loss, dtype):
    m, bend = GRID.astype(dtype), np.empty_like(GRID, dtype=dtype)
    slope = loss.derivatives(m.copy(), 3.0, bend)
    assert slope.dtype == dtype
    tolerance = 1e-5 if dtype == np.float32 else 1e-14
    np.testing.assert_allclose(slope, loss.derivative(m), atol=tolerance)
    np.testing.assert_allclose(bend, 3 * loss.second_derivative(m), atol=tolerance)


def test_the_logistic_loss_survives_huge_margins():
    m = np.array([-1e4, -800.0, 800.0, 1e4])
    loss = Logistic()
    np.testing.assert_allclose(loss.value(m), [1e4, 800, 0, 0], atol=1e-300)
    np.testing.assert_array_equal(loss.derivative(m), [-1, -1, -0.0, -0.0])
    bend = np.empty(4)
    loss.derivatives(m.copy(), 1.0, bend)
    np.testing.assert_array_equal(bend, 0)


@pytest.mark.parametrize("width", [0.0, -1.0, math.nan])
def test_widths_and_scales_are_checked(width):
    for make in (
        lambda: SmoothedHinge(width=width),
        lambda: Huber(width=width),
        lambda: Squared(scale=width),
        lambda: lasso(-1.0),
        lambda: Ball(radius=width),
        lambda: GroupLasso(weight=width, group=2),
    ):
        with pytest.raises(InvalidInput):
            make()


REGULARISERS = [
    no_regulariser(),
    lasso(0.4),
    ridge(0.7),
    ElasticNet(l1=0.3, l2=0.5),
    GroupLasso(weight=0.6, group=2),
    Ball(radius=0.8),
    Ball(radius=0.8, l2=0.5),
]


@pytest.mark.parametrize("h", REGULARISERS, ids=repr)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_argmin_beats_every_other_point(h, data):
    """⟨v, x⟩ + weight·h(x) + (ridge/2)‖x‖² is larger at points near and far."""
    number = st.floats(-4, 4, allow_subnormal=False)
    v = np.array(data.draw(st.lists(number, min_size=4, max_size=4)))
    weight, r = data.draw(st.floats(0.1, 5)), data.draw(st.floats(0.1, 5))
    best = h.argmin(v, weight=weight, ridge=r)

    def value(x):
        return x @ v + weight * h.value(x) + r / 2 * (x * x).sum(axis=-1)

    rng = np.random.default_rng(0)
    steps = rng.standard_normal((60, 4)) * np.geomspace(1e-4, 3, 60)[:, None]
    assert (value(best + steps) >= value(best) - 1e-12).all()


def test_the_proximal_map_is_the_soft_threshold_for_the_lasso():
    x = np.array([-2.0, -0.3, 0.0, 0.3, 2.0])
    np.testing.assert_allclose(lasso(0.5).prox(x, 1.0), [-1.5, 0, 0, 0, 1.5])
    np.testing.assert_allclose(ridge(1.0).prox(x, 1.0), x / 2)
    np.testing.assert_allclose(lasso(0.5).prox(x, np.array([1, 1, 1, 1, 2.0])), [-1.5, 0, 0, 0, 1])


def test_a_group_at_zero_stays_there():
    h = GroupLasso(weight=1.0, group=2)
    np.testing.assert_array_equal(h.argmin(np.zeros(4), ridge=1.0), 0)
    with pytest.raises(InvalidInput, match="divide"):
        h.argmin(np.zeros(3), ridge=1.0)
    with pytest.raises(InvalidInput, match="one ridge"):
        h.argmin(np.zeros(4), ridge=np.ones(4))
    with pytest.raises(InvalidInput, match="one ridge"):
        Ball(radius=1.0).argmin(np.zeros(4), ridge=np.ones(4))


def test_the_ball_has_a_boundary():
    h = Ball(radius=1.0, l2=2.0)
    assert h.value(np.array([0.6, 0.8])) == pytest.approx(1.0)
    assert h.value(np.array([0.7, 0.8])) == math.inf


def test_a_minimiser_that_is_not_unique_is_refused():
    with pytest.raises(AssumptionViolated, match="l2 term"):
        lasso(1.0).argmin(np.zeros(2))
    np.testing.assert_array_equal(ridge(1.0).argmin(np.ones(2)), -1)


@pytest.mark.parametrize("h", REGULARISERS, ids=repr)
def test_strong_convexity_and_quadratic_are_what_they_say(h):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 50, 4)) / 5
    middle = h.value(x) / 2 + h.value(y) / 2 - h.value((x + y) / 2)
    assert (middle >= h.strong_convexity / 8 * ((x - y) ** 2).sum(axis=1) - 1e-12).all()
    u, v = rng.standard_normal((2, 50, 4)) * 3
    ends = (h.argmin(u, ridge=1.0) + h.argmin(v, ridge=1.0)) / 2
    assert np.allclose(h.argmin((u + v) / 2, ridge=1.0), ends) == h.quadratic
