"""Failure probabilities far below one are never lost in one minus what is left."""

from __future__ import annotations

import math

import pytest
from mpmath import mp, mpf

from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP, compose
from dpcalc.guarantees.renyi_profile import renyi_pair
from dpcalc.guarantees.through_renyi import ApproximateRDP
from dpcalc.numerics.precise import any_of, round_up

TINY = (1e-50, 1e-55, 1e-66, 1e-150, 1e-300)


@pytest.mark.parametrize("failure", [*TINY, 5e-324, 1e-12, 0.75])
@pytest.mark.parametrize("count", [1, 3, 10**6])
def test_any_of_equal_events(failure: float, count: int) -> None:
    with mp.workdps(800):
        exact = 1 - (1 - mpf(failure)) ** count
        found = any_of([(failure, count)])
        assert abs(found / exact - 1) < mpf("1e-58")
        assert (
            exact * (1 - mpf("1e-58"))
            <= round_up(found)
            <= exact * (1 + mpf("3e-16")) + mpf(5e-324)
        )


def test_any_of_several_events() -> None:
    assert any_of([]) == 0
    assert any_of([(0.5, 2), (0.25, 1)]) == 0.8125
    assert any_of([(1e-100, 1), (1.0, 1)]) == 1
    assert round_up(any_of([(0.1, 1)])) == 0.1


@pytest.mark.parametrize("failure", TINY)
@pytest.mark.parametrize("other", [ZCDP(1e-3), GDP(0.01)])
def test_what_may_fail_has_at_least_the_probability_of_that(
    failure: float, other: Guarantee
) -> None:
    total = compose(other, (ApproximateRDP(ZCDP(1e-3), failure), 3))
    with mp.workdps(400):
        most = round_up(1 - (1 - mpf(failure)) ** 3)
    assert total.delta(1e4) >= most
    assert total.deltas([1e4])[0] >= most
    assert total.epsilon(2.9 * failure) == math.inf
    assert renyi_pair([(ApproximateRDP(ZCDP(1e-3), failure), 3)]).delta(1e4) >= most


@pytest.mark.parametrize("failure", TINY)
def test_the_plain_sum_of_approximate_guarantees_fails_as_often(failure: float) -> None:
    """It said that three releases which fail have ε = 3 at half the δ with which they do."""
    part = ApproxDP(1.0, failure)
    assert compose((part, 3)).epsilon(1.5 * failure) == math.inf
    assert compose((part, 3), PureDP(0.3)).epsilon(2.9 * failure) == math.inf
    assert compose((part, 3)).epsilon(3 * failure * (1 + 1e-12)) == 3.0


def test_the_least_divergence_shows_more_than_nothing() -> None:
    """Half of it is no double."""
    profile = renyi_pair([(RDP.from_points({2: 5e-324}), 1)])
    with mp.workdps(30):
        assert mp.sqrt(mpf(5e-324) / 2) <= mpf(profile.delta(0.0)) < mpf("1.6e-162")
