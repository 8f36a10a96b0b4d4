"""Moments of batches of a fixed size: never below an integral with many more points, and near it."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

from dpcalc import mechanisms
from dpcalc.accounting.losses.batch_moments import _rule, batch_moments
from dpcalc.accounting.losses.subsampled_gaussian import WithoutReplacement
from dpcalc.guarantees.many_orders import divergences

ORDERS = 1 + np.geomspace(1e-2, 1e5, 96)
Extended = NDArray[np.longdouble]


def in_detail(mu: float, rate: float, order: float, parts: int = 4000) -> float:
    """ln M by eight points in every one of many parts, in logarithms and extended precision.

    Off by some 1e-14 of itself, or of the order times μ in the exponent.
    """
    nodes, weights = np.polynomial.legendre.leggauss(8)
    end = order * mu + 14
    ends = np.concatenate(
        [np.linspace(0, min(1.0, end), parts // 2), np.linspace(min(1.0, end), end, parts)]
    )
    half = np.diff(ends.astype(np.longdouble)) / 2
    x: Extended = (ends[:-1, None] + half[:, None] * (1 + nodes.astype(np.longdouble))).ravel()
    f_less_1 = np.longdouble(rate) * np.expm1(np.longdouble(mu) * x)
    loss = np.log1p(f_less_1)
    s, a = np.longdouble(order) - 1, np.longdouble(order)
    logs = a * loss - (np.longdouble(mu) / 2 + x) ** 2 / 2
    top = max(float(logs.max()), 0.0)
    terms = np.exp(logs - top) * np.expm1(-s * loss) * np.expm1(-a * loss)
    total = (terms * (half[:, None] * weights).ravel()).sum() / np.sqrt(2 * np.longdouble(np.pi))
    if top < 300:
        return float(np.log1p(total * np.exp(np.longdouble(top))))
    return float(np.log(total) + top)


@pytest.mark.parametrize(
    ("mu", "rate", "order"),
    [(2.0, 0.01, 1.4), (0.3, 0.6, 7.3), (1.0, 1e-5, 12.0), (5.0, 0.2, 1.05)],
)
def test_the_oracle_by_adaptive_quadrature(mu: float, rate: float, order: float) -> None:
    """Straight from the law: positive losses, their mirror image, and what is left at zero."""
    with mp.workdps(30):
        m, q, a = mp.mpf(mu), mp.mpf(rate), mp.mpf(order)

        def integrand(y: mp.mpf) -> mp.mpf:
            f = 1 - q + q * mp.exp(m * y - m * m / 2)
            p, p_mirrored = mp.npdf(y) * f, mp.npdf(y)
            return p * (f ** (a - 1) - 1) + p_mirrored * (f ** (1 - a) - 1)

        places = [m / 2 + k * (a * m + 14) / 10 for k in range(11)]
        exact = mp.log1p(mp.quad(integrand, places))
    assert in_detail(mu, rate, order) == pytest.approx(float(exact), rel=1e-12)


def cases(seed: int, count: int) -> list[tuple[float, float]]:
    """(μ, γ), now and then tiny or huge noise, rates near 0 and near 1."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        low, high = [(-1.5, 0.7), (-4, -1), (0.5, 1.6)][random.choice(3, p=[0.6, 0.2, 0.2])]
        rates = 10 ** random.uniform(-4, 0), 10 ** random.uniform(-9, -3)
        rate = [*rates, 1 - 10 ** random.uniform(-12, -0.5)][random.choice(3, p=[0.6, 0.2, 0.2])]
        found.append((float(10 ** random.uniform(low, high)), float(rate)))
    return found


def test_moments_at_random() -> None:
    """Off by less than a millionth where they are summed at all, but for 1e-15 in all."""
    random = np.random.default_rng(3)
    near = 0
    for mu, rate in cases(17, 24):
        found = batch_moments(WithoutReplacement(mu, rate), ORDERS)
        for place in random.choice(int(np.searchsorted(ORDERS, 600 / mu)), 3, replace=False):
            order = float(ORDERS[place])
            exact = in_detail(mu, rate, order)
            assert exact * (1 - 1e-12) <= found[place], (mu, rate, order)
            grown = math.log(rate) + (order - 1) * mu * mu / 2
            if order * mu < 128 and grown < math.log(999) and mu < 15 and exact < 600:
                near += 1
                assert found[place] <= exact * (1 + 1e-6) + 1e-15, (mu, rate, order)
    assert near > 36


@pytest.mark.parametrize("planted", ["weights", "order"])
def test_a_moment_that_is_too_small_is_seen(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if weights were short of a billionth, or every order a ten millionth lower."""
    pair, order = WithoutReplacement(1.3, 0.05), np.array([6.0])
    exact = in_detail(1.3, 0.05, 6.0)
    assert batch_moments(pair, order)[0] >= exact * (1 - 1e-12)
    if planted == "weights":
        monkeypatch.setattr(
            "dpcalc.accounting.losses.batch_moments._rule",
            lambda count: (_rule(count)[0], _rule(count)[1] * (1 - 1e-9)),
        )
    else:
        order = order - 1e-7
    assert batch_moments(pair, order)[0] < exact * (1 - 1e-12)


@pytest.mark.parametrize(("mu", "rate"), [(1e-9, 0.5), (1e-150, 1e-9)])
def test_hardly_any_loss(mu: float, rate: float) -> None:
    found = batch_moments(WithoutReplacement(mu, rate), ORDERS)
    assert (found > 0).all()
    assert (found <= ORDERS * (ORDERS - 1) * mu * mu / 2 * (1 + 1e-10) + 1e-299).all()


def test_hardly_any_noise() -> None:
    """Closed forms alone, a tenth above at most; beyond the doubles nothing is promised."""
    found = batch_moments(WithoutReplacement(40.0, 0.01), ORDERS)
    for place in (0, 10, 20):
        exact = in_detail(40.0, 0.01, float(ORDERS[place]))
        assert exact * (1 - 1e-12) <= found[place] <= exact * 1.1
    endless = batch_moments(WithoutReplacement(1e160, 0.5), ORDERS)
    assert endless.tolist() == [math.inf] * len(ORDERS)


def test_points_and_weights() -> None:
    """As far off as the docstring counts, by fifty digits."""
    places, weights = _rule(1)
    count = len(places)
    with mp.workdps(50):
        for place, weight in zip(places.tolist(), weights.tolist(), strict=True):
            x = mp.findroot(lambda z: mp.legendre(count, z), mp.mpf(place) - 1)
            slope = count * (x * mp.legendre(count, x) - mp.legendre(count - 1, x)) / (x * x - 1)
            assert abs(x + 1 - mp.mpf(place)) <= mp.mpf("1e-15")
            assert abs(weight * (1 - x * x) * slope**2 / 2 - 1) <= mp.mpf("2e-12")
    twice, both = _rule(2)
    np.testing.assert_allclose(twice, [*places, *(places + 2)], rtol=1e-15)
    assert both.tolist() == [*weights, *weights]


def test_a_round_is_what_its_dominating_pair_has() -> None:
    guarantee = mechanisms.gaussian_without_replacement(1.1, 10, 1000)
    orders = ORDERS[5:50:15]
    one_by_one = np.array([guarantee.renyi(order) for order in orders.tolist()])
    np.testing.assert_allclose(divergences(guarantee, orders), one_by_one, rtol=1e-9)


def test_rates_next_to_nothing_with_little_noise() -> None:
    """e^{μx} at the last point is beyond the doubles."""
    found = batch_moments(WithoutReplacement(14.9, 1e-300), ORDERS)
    assert (np.diff(found) > 0).all()
    for place in (10, 42, 48):
        order = float(ORDERS[place])
        assert found[place] >= in_detail(14.9, 1e-300, order)
