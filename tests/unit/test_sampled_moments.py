"""Moments of sampled Gaussian noise: never below the truth, at small and at huge orders."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from dpcalc import mechanisms
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.accounting.losses.sampled_moments import log_moments
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.accounting.renyi import log_moment
from dpcalc.guarantees import GDP, PureDP
from dpcalc.guarantees.many_orders import divergences
from tests.oracles.exact import sampled_log_moment

SETTINGS = [
    (1.0, 0.01),
    (0.3, 0.3),
    (5.0, 1e-3),
    (1.0, 1e-6),
    (2.0, 0.7),
    (0.05, 0.01),
    (20.0, 0.1),
]


def binomial(sigma: float, rate: float, order: int) -> mp.mpf:
    """ln Σ C(α,j) (1-q)^{α-j} q^j e^{j(j-1)/2σ²}, exact at whole orders."""
    with mp.workdps(60):
        s, q = mp.mpf(sigma), mp.mpf(rate)
        return mp.log(
            mp.fsum(
                mp.binomial(order, j) * (1 - q) ** (order - j) * q**j
                * mp.exp(mp.mpf(j) * (j - 1) / (2 * s * s))
                for j in range(order + 1)
            )
        )  # fmt: skip


@pytest.mark.parametrize(("sigma", "rate"), SETTINGS)
def test_whole_orders_are_those_of_the_finite_sum(sigma: float, rate: float) -> None:
    orders = [2, 3, 5, 12, 40, 80, 159, 400]
    found = log_moments(PoissonRemove(sigma, rate), np.array(orders, dtype=float))
    for order, value in zip(orders, found.tolist(), strict=True):
        truth = binomial(sigma, rate, order)
        assert truth <= value <= truth * (1 + mp.mpf("1e-4"))


@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.01), (2.0, 0.7), (0.7, 0.2)])
@pytest.mark.parametrize("exponent", [0.05, 0.7, 6.3])
@pytest.mark.few(2)
def test_all_three_directions_are_bounded_at_any_order(
    sigma: float, rate: float, exponent: float
) -> None:
    orders = np.array([1 + exponent])
    with mp.workdps(30):
        for pair, kind in ((PoissonRemove, "R"), (PoissonAdd, "A"), (PoissonReplace, "P")):
            truth = sampled_log_moment(sigma, rate, exponent, kind)
            value = float(log_moments(pair(sigma, rate), orders)[0])
            assert truth <= value
            if kind != "A":  # bounded by that of a record that is removed
                assert value <= truth * (1 + mp.mpf("1e-6"))


@pytest.mark.parametrize("order", [40, 80, 159])
def test_moments_where_normal_densities_are_no_doubles(order: int) -> None:
    truth = binomial(1.0, 0.01, order)
    assert (
        truth <= log_moment(PoissonRemove(1.0, 0.01), order - 1.0) <= truth * (1 + mp.mpf("1e-6"))
    )
    round_ = mechanisms.poisson_subsampled_gaussian(1.0, 0.01, "add-remove")
    assert round_.renyi(float(order)) >= truth / (order - 1)


def summed(pair: DensityPair, exponent: float, low: float, high: float) -> float:
    """ln of a sum instead of ∫ q e^{αL}, in logarithms: nothing is too small."""
    x = np.linspace(low, high, 400_001)
    logs = pair.log_q(x) + (1 + exponent) * pair.loss(x)
    return float(logs.max() + math.log(np.exp(logs - logs.max()).sum() * (x[1] - x[0])))


@pytest.mark.parametrize(
    ("pair", "exponent", "window"),
    [
        (WithoutReplacement(1.0, 0.01), 60.0, (0.5, 90.0)),
        (WithoutReplacement(0.5, 0.01), 90.0, (0.25, 90.0)),
        (PoissonReplace(1.0, 0.01), 60.0, (-10.0, 90.0)),
        (PoissonAdd(10.0, 1 - 1e-12), 100.0, (-900.0, 900.0)),
        (ExponentialNorm(20.0, 200), 90.0, (-6.0, 6.0)),
        (ExponentialNorm(80.0, 400), 30.0, (-6.0, 6.0)),
    ],
)
def test_so_it_is_for_other_pairs(
    pair: DensityPair, exponent: float, window: tuple[float, float]
) -> None:
    assert log_moment(pair, exponent) >= summed(pair, exponent, *window) * (1 - 1e-9)


def test_many_orders_are_one_after_the_other() -> None:
    orders = np.array([1.01, 2.0, 7.5, 300.0])
    sampled = mechanisms.poisson_subsampled_gaussian(1.1, 0.02, "add-remove")
    replaced = mechanisms.poisson_subsampled_gaussian(1.1, 0.02, "replace-one")
    for guarantee in (GDP(0.3), GDP(0.0), PureDP(0.5), sampled, replaced):
        one_by_one = [guarantee.renyi(order) for order in orders.tolist()]
        np.testing.assert_allclose(divergences(guarantee, orders), one_by_one, rtol=1e-4)
    assert divergences(GDP(math.inf), orders).tolist() == [math.inf] * 4
    with mp.workdps(40):
        for order, value in zip(orders.tolist(), divergences(GDP(0.3), orders), strict=True):
            assert mp.mpf(order) * mp.mpf(0.3) ** 2 / 2 <= float(value)
