"""Guarantees: conversions, composition, trade-off and risk."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.errors import InvalidInput
from dpcalc.guarantees import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ClaimedCurve,
    Guarantee,
    PrivacyProfile,
    PureDP,
    compose,
)
from dpcalc.guarantees.conversion import to_gdp, to_pure, to_rdp, to_zcdp
from dpcalc.guarantees.groups import group
from dpcalc.guarantees.mechanisms import laplace, poisson_subsampled_gaussian
from dpcalc.guarantees.mixture import GaussianMixture

ALL = [
    PureDP(0.7),
    ApproxDP(0.7, 1e-4),
    GDP(0.6),
    ZCDP(0.18),
    RDP.from_points({2: 0.4, 8: 1.5, 64: 12}),
    PrivacyProfile(lambda e: GDP(0.6).delta(e), "as a function"),
    GaussianMixture((0.5, 0.9), (0.5, 0.5)),
    compose((PureDP(0.1), 20)),
    laplace(2.0, "add-remove"),
    group(GDP(0.3), 2),
    group(ApproxDP(0.3, 1e-6), 2),
]

IDS = [f"{type(g).__name__}-{k}" for k, g in enumerate(ALL)]

# ε(δ) of ρ-zCDP at 40 digits: the minimum over α of αρ + ln((α-1)/α) - (ln δ + ln α)/(α-1).
ZCDP_AT_HALF = {1e-5: 4.728386984943}


@pytest.mark.parametrize("guarantee", ALL, ids=IDS)
def test_profile_falls_and_its_inverse_is_consistent(guarantee: Guarantee) -> None:
    values = [guarantee.delta(e) for e in (0.0, 0.2, 0.5, 1.0, 2.0, 8.0)]
    assert all(0 <= x <= 1 for x in values)
    assert all(x >= y * (1 - 1e-12) for x, y in itertools.pairwise(values))
    for delta in (0.2, 1e-3):
        epsilon = guarantee.epsilon(delta)
        if math.isfinite(epsilon):
            assert epsilon >= 0
            assert guarantee.delta(epsilon) <= delta * (1 + 1e-5)


@pytest.mark.parametrize("guarantee", ALL, ids=IDS)
def test_risk_is_a_probability_and_tradeoff_lies_below_the_diagonal(guarantee: Guarantee) -> None:
    assert 0.5 <= guarantee.attack_accuracy() <= 1
    assert guarantee.attack_accuracy() == pytest.approx((1 + guarantee.advantage()) / 2, rel=1e-12)
    assert guarantee.attack_accuracy(0.01) >= 0.99
    for fpr in (0.0, 0.05, 0.5, 1.0):
        assert 0 <= guarantee.tradeoff(fpr) <= 1 - fpr + 1e-15


@pytest.mark.parametrize("guarantee", ALL, ids=IDS)
def test_composing_once_changes_nothing_and_twice_never_helps(guarantee: Guarantee) -> None:
    assert compose((guarantee, 1)) == guarantee
    if guarantee.losses() is None and not math.isfinite(guarantee.renyi(2.0)):
        return
    twice = compose((guarantee, 2)).epsilon(1e-3)
    assert twice >= guarantee.epsilon(1e-3) * (1 - 1e-6)


@given(st.floats(0.01, 8), st.floats(0.0, 10))
def test_pure_profile_is_randomised_response(epsilon_0: float, epsilon: float) -> None:
    with mp.workdps(40):
        p = mp.exp(mpf(epsilon_0)) / (1 + mp.exp(mpf(epsilon_0)))
        truth = max(mpf(0), p - mp.exp(mpf(epsilon)) * (1 - p))
        assert mpf(PureDP(epsilon_0).delta(epsilon)) >= truth - mpf("1e-38")
        assert PureDP(epsilon_0).delta(epsilon) <= float(truth) * (1 + 1e-15)


@given(st.floats(0.01, 30), st.floats(1.001, 200))
def test_pure_renyi_divergence_is_that_of_randomised_response(epsilon: float, order: float) -> None:
    with mp.workdps(60):
        p = mp.exp(mpf(epsilon)) / (1 + mp.exp(mpf(epsilon)))
        a = mpf(order)
        truth = mp.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)
        found = PureDP(epsilon).renyi(order)
        assert mpf(found) >= truth * (1 - mpf("1e-40"))
        assert found <= float(truth) * (1 + 1e-12)


@given(st.floats(1e-3, 20))
def test_pure_to_zcdp_bounds_every_order(epsilon: float) -> None:
    rho = to_zcdp(PureDP(epsilon)).rho
    assert rho <= epsilon**2 / 2 * (1 + 1e-15)
    for order in (1.0001, 1.5, 3.0, 40.0, 1e4):
        assert PureDP(epsilon).renyi(order) <= rho * order * (1 + 1e-12)


@given(st.floats(1e-3, 30), st.floats(1e-6, 1 - 1e-6))
def test_pure_to_gdp_lies_below_the_polygon(epsilon: float, fpr: float) -> None:
    mu = to_gdp(PureDP(epsilon)).mu
    assert GDP(mu).tradeoff(fpr) <= PureDP(epsilon).tradeoff(fpr) * (1 + 1e-12) + 1e-15
    corner = 1 / (1 + math.exp(epsilon))
    assert GDP(mu * (1 - 1e-6)).tradeoff(corner) > corner * (1 - 1e-9)


def test_zcdp_conversion_is_the_minimum_over_orders() -> None:
    for delta, value in ZCDP_AT_HALF.items():
        assert ZCDP(0.5).epsilon(delta) == pytest.approx(value, rel=1e-11)
    assert ZCDP(0.5).epsilon(1e-5) > GDP(1.0).epsilon(1e-5)


def test_conversions_never_go_below_the_exact_gaussian() -> None:
    for mu in (1e-3, 0.1, 1.0, 20.0):
        for delta in (1e-300, 1e-30, 1e-9, 1e-2, 0.4):
            exact = GDP(mu).epsilon(delta)
            assert to_zcdp(GDP(mu)).epsilon(delta) >= exact
            assert to_rdp(GDP(mu)).epsilon(delta) >= exact * (1 - 1e-12)


@pytest.mark.parametrize("source", [ZCDP(0.5), GDP(1.0), ApproxDP(1.0, 1e-5)])
def test_pure_does_not_follow_from_weaker_notions(source: Guarantee) -> None:
    with pytest.raises(InvalidInput, match="--delta"):
        to_pure(source)


def test_gaussians_compose_exactly_and_zcdp_adds() -> None:
    assert compose(GDP(3.0), GDP(4.0)) == GDP(5.0)
    assert compose((ZCDP(0.25), 4)) == ZCDP(1.0)
    assert compose().epsilon(0.0) == 0


def test_unlike_guarantees_compose_through_their_losses() -> None:
    tight = compose((PureDP(0.1), 100), GDP(0.5)).epsilon(1e-6)
    split = compose((PureDP(0.1), 100)).epsilon(5e-7) + GDP(0.5).epsilon(5e-7)
    assert tight < split
    assert tight > max(compose((PureDP(0.1), 100)).epsilon(1e-6), GDP(0.5).epsilon(1e-6))


def test_renyi_parts_pull_the_others_to_renyi_and_failures_stay_apart() -> None:
    total = compose((ApproxDP(0.1, 1e-8), 100), ZCDP(0.125))
    assert math.isinf(total.epsilon(5e-7))
    assert math.isfinite(total.epsilon(1e-5))
    assert total.epsilon(1e-5) >= compose((PureDP(0.1), 100), GDP(0.5)).epsilon(1e-5)


def test_two_directions_are_not_mixed() -> None:
    once = poisson_subsampled_gaussian(1.0, 0.1, "add-remove")
    both = compose((once, 100))
    single = [
        compose((PrivacyProfile(lambda e: 1.0, "", (losses,)), 100)).epsilon(1e-6)
        for losses in once.losses() or ()
    ]
    assert both.epsilon(1e-6) == pytest.approx(max(single), rel=1e-9)


def test_claims_do_not_compose() -> None:
    claim = ClaimedCurve(lambda delta: 1.0, {})
    with pytest.raises(InvalidInput, match="certified"):
        compose((claim, 2))


def test_group_privacy() -> None:
    assert group(PureDP(0.5), 3) == PureDP(1.5)
    assert group(GDP(0.5), 3) == GDP(1.5)
    assert group(ZCDP(0.5), 3) == ZCDP(4.5)
    classical = 1e-6 * (math.exp(3.0) - 1) / (math.exp(1.0) - 1)
    assert group(ApproxDP(1.0, 1e-6), 3).delta(3.0) == pytest.approx(classical, rel=1e-12)
    exact = GDP(0.6).epsilon(1e-5)
    assert group(PrivacyProfile(GDP(0.3).delta), 2).epsilon(1e-5) >= exact


@pytest.mark.parametrize(
    "make",
    [
        lambda: PureDP(-1.0),
        lambda: PureDP(math.nan),
        lambda: ApproxDP(1.0, 1.5),
        lambda: GDP(-0.1),
        lambda: ZCDP(math.nan),
        lambda: RDP.from_points({}),
        lambda: RDP.from_points({1.0: 0.5}),
        lambda: GDP(1.0).epsilon(1.0),
        lambda: GDP(1.0).tradeoff(2.0),
        lambda: GDP(1.0).attack_accuracy(-0.1),
        lambda: compose((GDP(1.0), -1)),
        lambda: group(GDP(1.0), 0),
    ],
)
def test_nonsense_is_refused(make: object) -> None:
    with pytest.raises(InvalidInput, match="got"):
        make()  # type: ignore[operator] # a function


@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-5, 0.3])
def test_extremes_are_answered(delta: float) -> None:
    for guarantee in (
        GDP(1e-8),
        GDP(1e4),
        ZCDP(1e-12),
        ZCDP(1e6),
        compose((PureDP(1e-6), 10**9)),
        compose((GDP(1e-4), 10**9)),
        PureDP(1e6),
    ):
        epsilon = guarantee.epsilon(delta)
        assert 0 <= epsilon < math.inf
