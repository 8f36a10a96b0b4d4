"""Saddle points and the contours that they choose, against plain recomputations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp

from dpcalc.accounting.contour.saddle_points import (
    SaddlePoints,
    infinite_mass,
    summed_cumulants,
)
from dpcalc.accounting.losses import (
    DiscreteLoss,
    GaussianLoss,
    disclosure,
)
from dpcalc.errors import NumericalFailure

pytestmark = pytest.mark.usefixtures("fifty_digits")


def reference(mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The grid of saddle points of a Gaussian loss: orders, ln M, ε and ln δ."""
    square = mu * mu
    mean = square * (1e-6 + 0.5)
    c = np.geomspace(1e-3, 1e5, 100) / math.sqrt(square + (mean / 100) ** 2)
    value, at = square * c * (c + 1) / 2, square * (c + 0.5) - 1 / c - 1 / (c + 1)
    curvature = square + 1 / c**2 + 1 / (c + 1) ** 2
    logs = value - c * at - np.log(c * (c + 1)) - np.log(2 * np.pi * curvature) / 2
    return c, value, at, logs


@pytest.mark.parametrize("mu", [1e-3, 0.4, 5.0])
def test_saddle_points_of_a_gaussian(mu: float) -> None:
    points = SaddlePoints([(GaussianLoss(mu), 1)])
    for found, exact in zip(
        (points.orders, points.values, points.epsilons, points.log_deltas),
        reference(mu),
        strict=True,
    ):
        np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mu", [1e-3, 0.4, 5.0])
def test_chernoffs_bound_on_the_grid_is_above_and_near_that_of_the_best_order(mu: float) -> None:
    points = SaddlePoints([(GaussianLoss(mu), 1)])
    for epsilon in (mu, 3 * mu + mu * mu):
        best = -(max(epsilon - mu * mu / 2, 0.0) ** 2) / (2 * mu * mu)
        assert best - 1e-9 <= points.log_chernoff(epsilon) <= best + 0.1 * abs(best) + 0.01


def cheapest(c, value, epsilon: float, log_delta: float) -> tuple[float, float, float]:
    """By trying every pair: the shortest period, its line and the order that bounds its aliases."""
    need = -log_delta + math.log(1e9)
    lead = value - c * epsilon
    growth = lead - np.log(c * (c + 1)) - log_delta
    allowed = max(8.0, growth.min() + 2.0)
    lines = [j for j in range(len(c) - 1) if growth[j] <= allowed]
    best = (math.inf, 0.0, 0.0)
    for j in lines[:: max(1, len(lines) // 40)]:
        rights = [
            ((lead[k] + c[k] * 2 / c[j] + need) / (c[k] - c[j]), c[k]) for k in range(j + 1, len(c))
        ]
        right, order = min(rights)
        best = min(best, (max(need / c[j], right), c[j], order))
    return best


@pytest.mark.parametrize("mu", [0.4, 5.0])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-40])
def test_contours_for_a_delta_and_an_epsilon(mu: float, delta: float) -> None:
    points, (c, value, at, logs) = SaddlePoints([(GaussianLoss(mu), 1)]), reference(mu)
    found = points.contour_for_delta(delta)
    assert found.log_delta == pytest.approx(math.log(delta))
    assert found.epsilon == pytest.approx(max(np.interp(-math.log(delta), -logs, at), 0.0))
    period, line, order = cheapest(c, value, found.epsilon, found.log_delta)
    assert (found.period, found.c, found.order) == pytest.approx((period, line, order))
    assert found.slope == pytest.approx(np.interp(found.epsilon, at, c))
    back = points.contour_for_epsilon(found.epsilon)
    assert back.epsilon == found.epsilon
    assert back.log_delta == pytest.approx(min(np.interp(found.epsilon, at, logs), 0.0))
    told = points.contour_for_epsilon(found.epsilon, -7.0)
    assert told.log_delta == -7.0
    period, line, order = cheapest(c, value, found.epsilon, -7.0)
    assert (told.period, told.c, told.order) == pytest.approx((period, line, order))


def test_a_contour_that_loses_fewer_digits_has_a_longer_period() -> None:
    """A loss up to four times ε, ε next to nothing: nodes add up to c times the integrand."""
    points = SaddlePoints([(DiscreteLoss(np.linspace(5e-5, 4e-4, 50), np.full(50, 0.02)), 1)])
    epsilon, log_delta = 1e-4, math.log(1.2e-4)
    usual, *others = (
        points.contour_for_epsilon(epsilon, log_delta, 1.0, lost) for lost in (math.inf, 9.0, 6.0)
    )
    for contour, most in zip(others, (9.0, 6.0), strict=True):
        assert contour.c < usual.c
        assert contour.period > usual.period
        assert points.log_integrand(contour) + math.log(contour.c) - log_delta <= most
    at_least = points.contour_for_epsilon(epsilon, log_delta, 1.0, -50.0)
    assert at_least.period >= others[-1].period
    # Above the largest loss the integrand falls with c, up to where moments are no doubles.
    beyond = SaddlePoints([(DiscreteLoss(np.array([-5.0, 0.9]), np.array([0.5, 0.5])), 1)])
    usual = beyond.contour_for_epsilon(0.95, -9.0, 1.0)
    assert beyond.contour_for_epsilon(0.95, -9.0, 1.0, -50.0) == usual


def test_contours_beyond_the_grid() -> None:
    points = SaddlePoints([(GaussianLoss(1.0), 1)])
    last = points.contour_for_epsilon(1e9, -50.0)
    assert last.epsilon == 1e9
    assert points.contour_for_epsilon(0.0).log_delta <= 0
    assert points.contour_for_delta(0.999).epsilon == 0.0
    with pytest.raises(NumericalFailure, match="no order at which"):
        points.fewest_nodes(math.nan, -1.0)
    far = DiscreteLoss(np.array([1e308]), np.array([0.5]))
    with np.errstate(all="ignore"):
        nowhere = SaddlePoints([(far, 1)])
    with pytest.raises(NumericalFailure, match=r"no order was found .* try a larger delta"):
        nowhere.contour_for_delta(0.1)


def test_infinite_losses_leave_less_for_the_contour() -> None:
    rounds = [(GaussianLoss(1.0), 1), (disclosure(1e-3), 1)]
    points = SaddlePoints(rounds)
    assert points.contour_for_delta(5e-3).log_delta == pytest.approx(math.log(4e-3), rel=1e-12)
    assert points.contour_for_delta(1e-3).log_delta == pytest.approx(math.log(1e-6), rel=1e-9)


def test_the_chance_of_an_infinite_loss() -> None:
    assert infinite_mass([(GaussianLoss(1.0), 5)]) == 0
    assert infinite_mass([(disclosure(1.0), 1), (GaussianLoss(1.0), 2)]) == 1
    found = infinite_mass([(disclosure(0.25), 2), (disclosure(1e-9), 10)])
    truth = 1 - mp.mpf(0.75) ** 2 * (1 - mp.mpf(1e-9)) ** 10
    assert truth <= found <= truth * (1 + 3e-14)
    assert infinite_mass([(disclosure(0.9), 10**6)]) == 1


def test_cumulants_add_up() -> None:
    orders = np.array([0.3, 2.0])
    found = summed_cumulants([(GaussianLoss(0.5), 3), (GaussianLoss(1.0), 2)], orders)
    square = 3 * 0.25 + 2
    np.testing.assert_allclose(found[0], square * orders * (orders + 1) / 2)
    np.testing.assert_allclose(found[1], square * (orders + 0.5))
    np.testing.assert_allclose(found[2], [square, square])
