"""Rényi guarantees against their definitions with fifty digits."""

from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.guarantees import GDP, RDP, ZCDP
from dpcalc.guarantees.groups import group
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.guarantees.through_renyi import ApproximateRDP

TIGHT = 1e-11
"""What an upper bound computed in doubles with a stated allowance may exceed the exact value by."""


@given(
    st.lists(st.tuples(st.floats(1.01, 60), st.floats(0, 20)), min_size=2, max_size=5),
    st.floats(0, 1),
)
def test_between_two_orders_a_curve_is_the_chord_of_excess_times_divergence(
    points: list[tuple[float, float]], share: float
) -> None:
    curve = dict(sorted(points))
    orders = list(curve)
    if len(orders) < 2:
        return
    left, right = orders[0], orders[1]
    order = min(max(left + share * (right - left), left), right)
    found = RDP.from_points(curve).renyi(order)
    with mp.workdps(50):
        a, b, x = mpf(left) - 1, mpf(right) - 1, mpf(order) - 1
        chord = (a * mpf(curve[left]) * (b - x) + b * mpf(curve[right]) * (x - a)) / (b - a) / x
        assert mpf(found) >= chord
        assert mpf(found) <= chord * (1 + mpf(2) ** -52) + mpf(5e-324)


def test_a_curve_beyond_its_orders_is_unknown_and_before_them_at_most_the_first() -> None:
    curve = RDP.from_points({3: 0.5, 2: 0.25, 8: math.inf})
    assert curve.renyi(1.5) == 0.25
    assert curve.renyi(2) == 0.25
    assert curve.renyi(3) == 0.5
    assert curve.renyi(5) == math.inf
    assert curve.renyi(9) == math.inf


@pytest.mark.parametrize("order", [1.0001, 1.5, 2.0, 17.0, 900.0])
@pytest.mark.parametrize(
    ("mus", "weights"),
    [((1.0,), (1.0,)), ((0.3, 2.0), (0.75, 0.25)), ((1e-9, 0.1), (0.5, 0.25)), ((7.0,), (1e-3,))],
)
def test_a_mixture_has_the_divergence_of_its_definition(
    mus: tuple[float, ...], weights: tuple[float, ...], order: float
) -> None:
    with mp.workdps(50):
        a = mpf(order)
        moment = 1 - mp.fsum(mpf(w) for w in weights)
        moment += mp.fsum(
            mpf(w) * mp.exp((a - 1) * a * mpf(m) ** 2 / 2)
            for m, w in zip(mus, weights, strict=True)
        )
        exact = mp.log(moment) / (a - 1)
    found = GaussianMixture(mus=mus, weights=weights).renyi(order)
    assert mpf(found) >= exact
    # 1 - (1 - 1e-12) in the last factor, and (1 + 1e-13)(1 + 1e-14) of the exponent where it is large.
    assert mpf(found) <= exact * (1 + 3e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 3.0])
def test_a_mixture_has_the_profile_of_its_definition(epsilon: float) -> None:
    mus, weights = (0.5, 1.5), (0.6, 0.3)
    with mp.workdps(50):
        exact = mp.fsum(
            mpf(w)
            * (
                mp.ncdf(mpf(m) / 2 - mpf(epsilon) / mpf(m))
                - mp.exp(mpf(epsilon)) * mp.ncdf(-mpf(m) / 2 - mpf(epsilon) / mpf(m))
            )
            for m, w in zip(mus, weights, strict=True)
        )
    found = GaussianMixture(mus=mus, weights=weights).delta(epsilon)
    assert exact <= mpf(found) <= exact * (1 + TIGHT)


def test_a_failure_probability_is_spent_before_the_rest() -> None:
    base, failure = ZCDP(0.1), 0.01
    failing = ApproximateRDP(base, failure)
    assert failing.epsilon(failure) == math.inf
    assert failing.epsilon(failure / 2) == math.inf
    share = (mpf(0.02) - mpf(failure)) / (1 - mpf(failure))
    assert failing.epsilon(0.02) == pytest.approx(base.epsilon(float(share)), rel=1e-12)
    assert failing.epsilon(0.02) >= base.epsilon(math.nextafter(float(share), 1))
    expected = mpf(failure) + (1 - mpf(failure)) * mpf(base.delta(2.0))
    assert expected <= mpf(failing.delta(2.0)) <= expected * (1 + mpf(2) ** -52)
    assert failing.delta(0.0) <= 1.0


@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-9, 1e-30])
@pytest.mark.parametrize("rho", [1e-6, 0.05, 3.0])
def test_the_conversion_is_the_least_over_orders(rho: float, delta: float) -> None:
    """β + ln((α-1)/α) - (ln δ + ln α)/(α-1) at the best order, by a fine grid and fifty digits."""
    found = ZCDP(rho).epsilon(delta)
    with mp.workdps(50):

        def at(log_excess: float) -> mpf:
            a = 1 + mp.exp(mpf(log_excess))
            return a * mpf(rho) + mp.log((a - 1) / a) - (mp.log(mpf(delta)) + mp.log(a)) / (a - 1)

        best = min(at(-8 + k / 40) for k in range(1200))
    best = max(best, mpf(0))
    assert mpf(found) <= best * (1 + mpf("1e-12")) + mpf("1e-12")
    # A grid of 1/40 in ln(α-1) is above the least by at most an eighth of the square times curvature.
    assert found == 0 or mpf(found) >= best * (1 - mpf("1e-2"))
    exact_gaussian = GDP(math.sqrt(2 * rho)).epsilon(delta)
    assert found >= exact_gaussian * (1 - 1e-12)


def test_orders_and_divergences_grow_as_stated() -> None:
    assert ZCDP(0.25).renyi(4) == 1.0
    assert group(ZCDP(0.25), 3).renyi(4) == 9.0
    assert ZCDP(math.inf).renyi(2) == math.inf
    assert RDP.from_points({2: 0.1}).parameters() == {"divergence at order 2": 0.1}


def _randomised_response(epsilon: float) -> RDP:
    """The exact Rényi divergence of one answer to a yes-or-no question, fifty digits."""

    def divergence(order: float) -> float:
        with mp.workdps(50):
            p = 1 / (1 + mp.exp(-mpf(epsilon)))
            a = mpf(order)
            moment = p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)
            return math.nextafter(float(mp.log(moment) / (a - 1)), math.inf)

    return RDP(divergence, "randomised response")


@pytest.mark.parametrize("epsilon", [1e-4, 1e-3, 1e-2, 0.1])
def test_the_divergence_near_order_one_bounds_the_total_variation_and_nothing_less(
    epsilon: float,
) -> None:
    """Two answers whose total variation tanh(ε/2) is all but √(KL/2)."""
    guarantee = _randomised_response(epsilon)
    with mp.workdps(50):
        exact = mp.tanh(mpf(epsilon) / 2)
    assert exact <= guarantee.delta(0.0) <= exact * (1 + epsilon**2 / 10 + mpf("1e-6"))
    assert guarantee.epsilon(float(exact) * (1 - 1e-9)) > 0
    assert guarantee.epsilon(float(exact) * (1 + epsilon**2 / 10 + 1e-6)) == 0


@pytest.mark.parametrize("excess", [5e8, 1e9, 2e9])
def test_a_rest_beyond_the_doubles_is_no_error_where_large_noise_meets_large_orders(
    excess: float,
) -> None:
    """Sampling saves something of the divergence without it, and no more than ln(1/rate)."""
    sigma, rate = 9571.0, 6.5e-6
    found = poisson_subsampled_gaussian(sigma, rate, "add-remove").renyi(1 + excess)
    whole = (1 + excess) / 2 / sigma**2
    assert max(whole - math.log(1 / rate) * (1 + 2 / excess), 0.0) <= found <= whole * (1 + 1e-9)


def test_curves_through_the_same_points_are_equal_and_travel() -> None:
    curve = RDP.from_points({2: 0.25, 8: 1})
    assert curve == RDP.from_points({8.0: 1.0, 2.0: 0.25})
    assert curve != RDP.from_points({2: 0.25, 8: 2})
    assert pickle.loads(pickle.dumps(curve)) == curve  # noqa: S301 - our own
