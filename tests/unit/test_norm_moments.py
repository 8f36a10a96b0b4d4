"""Moments of exponential-norm noise at many orders: never below sixty digits, and next to them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from dpcalc import mechanisms
from dpcalc.accounting.losses import norm_moments as module
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.accounting.losses.norm_moments import norm_moments
from dpcalc.guarantees.many_orders import divergences
from dpcalc.odometer import Odometer

ORDERS = 1 + np.geomspace(1e-2, 1e5, 96)
SETTINGS = [
    (1.0, 2, 0.016),
    (10.0, 2, 2e-3),
    (300.0, 2, 2e-3),
    (1.0, 3, 7e-3),
    (30.0, 10, 1e-3),
    (0.1, 105, 5e-4),
    (1.0, 105, 5e-4),
    (100.0, 105, 5e-4),
    (50.0, 1000, 1e-4),
    (1e-6, 5, 1e-9),
    (1e-3, 10**4, 1e-12),
    (1e5, 4, 1e-3),
]


def moment(a: float, dimension: int, order: float) -> mp.mpf:
    """Both integrals as Bessel functions, with sixty digits."""
    with mp.workdps(60):
        d, k, m = dimension, mp.mpf(a) / 2, mp.mpf(dimension) / 2 - 1
        constant = (d - 1) * mp.besselk(m + 1, k) / (k * mp.besselk(m, k))

        def whole(t: mp.mpf) -> mp.mpf:
            first = mp.gamma(m + mp.mpf(1) / 2) * (2 / t) ** m * mp.besseli(m, t)
            second = mp.gamma(m + mp.mpf(3) / 2) * (2 / t) ** (m + 1) * mp.besseli(m + 1, t)
            return constant * first + second

        return mp.log(whole(mp.mpf(a) * (mp.mpf(order) - mp.mpf(1) / 2)) / whole(k))


@pytest.mark.parametrize(("a", "dimension", "room"), SETTINGS)
def test_moments_are_never_below_the_truth_and_next_to_it(
    a: float, dimension: int, room: float
) -> None:
    places = slice(0, 96, 8)
    found = norm_moments(ExponentialNorm(a, dimension), ORDERS)[places]
    for order, value in zip(ORDERS[places], found, strict=True):
        true = moment(a, dimension, float(order))
        assert 0 <= mp.mpf(float(value)) - true <= room * true


def test_the_oracle_is_the_integral_over_the_loss() -> None:
    """E_P[e^{sL}], L = aν, ν distributed as in the module of the law."""
    a, d, order = 3.0, 4, 2.5
    with mp.workdps(30):
        k, m = mp.mpf(a) / 2, mp.mpf(d) / 2 - 1
        constant = (d - 1) * mp.besselk(m + 1, k) / (k * mp.besselk(m, k))

        def mass(exponent: mp.mpf) -> mp.mpf:
            return mp.quad(
                lambda v: (
                    mp.exp(exponent * v)
                    * (1 - v * v) ** (mp.mpf(d - 3) / 2)
                    * (constant + 1 - v * v)
                ),
                [-1, 0, 1],
            )

        assert abs(mp.log(mass(a * mp.mpf(2)) / mass(k)) - moment(a, d, order)) < mp.mpf("1e-20")


@pytest.mark.parametrize(("a", "dimension"), [(1e-100, 2), (1e-9, 10**6), (1e8, 2), (1e8, 10**6)])
def test_the_ends_of_the_range_have_finite_bounds(a: float, dimension: int) -> None:
    found = norm_moments(ExponentialNorm(a, dimension), ORDERS)
    assert np.isfinite(found).all()
    assert (found > 0).all()
    # For a loss in [-a, a] no moment exceeds that of randomised response.
    assert (found <= np.minimum(a * (ORDERS - 1), a * a * ORDERS * (ORDERS - 1)) * 1.0001).all()


def test_amos_inequalities_hold_where_they_are_used() -> None:
    for order in (24.0, 24.5, 76.5, 5024.0, 0.0, 0.5, 1.0):
        for t in (1e-3, 1.0, 30.0, 400.0, 3000.0):
            with mp.workdps(60):
                true = mp.besseli(order + 1, t) / mp.besseli(order, t) / t
            low, high = module._ends(t, np.array([t]), order)
            assert low[0] <= true <= high[0]


def test_bounds_are_never_larger_than_those_of_single_orders_by_more_than_a_little() -> None:
    guarantee = mechanisms.exponential_norm(2.0, 105, adjacency="add-remove")
    orders = np.array([1.5, 4.0, 32.0])
    for order, value in zip(orders, divergences(guarantee, orders), strict=True):
        single = guarantee.renyi(float(order))
        assert value <= 1.001 * single
        assert value >= 0.999 * single


def test_an_odometer_says_more_than_the_accountant_and_not_much() -> None:
    table = {"mechanism": "exponential-norm", "scale_multiplier": 2, "dimension": 105}
    odometer = Odometer(epsilon=100, delta=1e-5)
    said = odometer.spend({**table, "adjacency": "add-remove"}, 50)
    convolved = odometer.accountant.epsilon_spent()
    assert convolved <= said <= 1.4 * convolved
