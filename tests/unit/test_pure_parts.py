"""Rounds of pure differential privacy: each way to sum them, its window, its name and its limits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.accounting.pure import chernoff
from dpcalc.accounting.pure.binomial_sum import (
    _Binomial,
    _reach,
    _step,
    _sum,
    _too_many,
    _without_revealing,
    pure_delta,
    pure_epsilon,
)
from dpcalc.errors import InvalidInput
from dpcalc.numerics.rounding import Extended
from tests.oracles.exact import equal_rounds_delta, randomised_response_delta

EQUAL = "optimal composition, binomial sum"

pytestmark = pytest.mark.usefixtures("fifty_digits")


@pytest.mark.parametrize(
    ("epsilon", "count"), [(0.3, 1), (0.3, 40), (2.0, 7), (0.01, 400), (40.0, 3)]
)
def test_equal_rounds_to_a_few_doubles(epsilon: float, count: int) -> None:
    found = _Binomial(epsilon, count, 30.0)
    for at in (0.0, 0.37 * epsilon * count, 0.9 * epsilon * count, epsilon * count):
        truth = equal_rounds_delta(epsilon, count, at)
        bracket = found.delta(at)
        assert bracket.method == EQUAL
        assert bracket.lower <= truth <= bracket.upper
        # Sixteen operations a term, of the extended type, and what a loss is rounded by.
        unit = float(np.finfo(Extended).eps)
        slack = 4e-16 + 2 * (16 * (count + 1) + 64) * unit
        assert bracket.upper - bracket.lower <= 3 * slack * (float(truth) + epsilon * count)


@pytest.mark.parametrize(
    ("epsilon", "count", "delta"), [(0.3, 40, 1e-5), (2.0, 7, 0.1), (0.01, 400, 1e-9)]
)
def test_the_crossing_of_equal_rounds(epsilon: float, count: int, delta: float) -> None:
    found = _Binomial(epsilon, count, -math.log(delta)).epsilon(delta)
    with mp.workdps(40):
        truth = mp.findroot(
            lambda e: equal_rounds_delta(epsilon, count, e) - mpf(delta),
            (mpf(found.lower) * (1 - mpf("1e-9")), mpf(found.upper) * (1 + mpf("1e-9"))),
            solver="anderson",
        )
        assert found.lower <= truth <= found.upper
    assert found.relative_width < 1e-12
    assert pure_epsilon({epsilon: count}, delta).upper == min(found.upper, _sum({epsilon: count}))


def test_a_window_around_the_mean() -> None:
    epsilon, count, depth = 0.02, 10**6, 20.0
    p = 1 / (1 + math.exp(-epsilon))
    reach = math.sqrt(160 * count * p * (1 - p)) + 120
    assert _reach(epsilon, count, depth) == pytest.approx(reach)
    found = _Binomial(epsilon, count, depth)
    anchor = int(count * p)
    assert found._first == anchor - int(reach)
    assert len(found._terms) == 2 * int(reach) + 1
    assert float(found._terms.sum()) == pytest.approx(1.0, rel=1e-14)
    assert float(found._before) == pytest.approx(math.exp(-70))
    with mp.workdps(40):
        q = mp.exp(epsilon) / (1 + mp.exp(epsilon))
        for k in (0, 500, int(reach), 2 * int(reach)):
            n = found._first + k
            log = mp.loggamma(count + 1) - mp.loggamma(n + 1) - mp.loggamma(count - n + 1)
            exact = mp.exp(log + n * mp.log(q) + (count - n) * mp.log(1 - q))
            assert float(found._terms[k]) == pytest.approx(float(exact), rel=1e-13)
        tail = mp.mpf(0)
        term = exact
        for j in range(n, n + 400):
            term *= mpf(count - j) / (j + 1) * mp.exp(epsilon)
            tail += term
        assert tail <= float(found._beyond) <= float(tail) * 1.5
    assert float(found._losses[0]) == pytest.approx((2 * found._first - count) * epsilon)
    assert found._operations == 16 * len(found._terms) + 64
    whole = _Binomial(0.3, 5, depth)
    assert (whole._first, len(whole._terms)) == (0, 6)
    assert float(whole._before) == float(whole._beyond) == 0.0
    sure = _Binomial(800.0, 3, depth)
    assert sure._first == 3
    assert float(sure._before) == 3 * math.exp(-800.0)
    below = whole.delta(0.2).upper
    assert below <= 1.0
    # Where ε is below every loss that is kept, what lies left of the window counts as well.
    assert found.delta(0.0).upper - found.delta(0.0).lower >= 0


def test_which_way_rounds_are_summed() -> None:
    for given, delta, method in (
        ({0.3: 5}, 0.0, "plain sum"),
        ({}, 0.1, "plain sum"),
        ({0.0: 5, 0.5: 0}, 0.1, "plain sum"),
        ({0.1: 1}, 0.06, "total variation"),
        ({0.3: 5}, 1e-5, EQUAL),
        ({0.3: 5, 0.7: 2}, 1e-5, "sum over all outcomes"),
        ({1e7: 1, 0.3: 5}, 1e-5, f"plain sum of the largest; {EQUAL}"),
        ({1e-4: 10**13}, 1e-5, chernoff.METHOD),
        ({0.3: 2**50 + 1}, 1e-5, chernoff.METHOD),
    ):
        assert pure_epsilon(given, delta).method == method, given
    total = mpf(0.3) * 5
    assert 0 <= pure_epsilon({0.3: 5}, 0.0).upper - total < 3e-16
    assert pure_epsilon({0.1: 1}, 0.06).upper == 0.0
    mixed = pure_epsilon({1e7: 1, 0.3: 5}, 1e-5)
    rest = pure_epsilon({0.3: 5}, 1e-5)
    assert mixed.upper == pytest.approx(1e7 + rest.upper, rel=1e-15)
    assert mixed.lower == rest.lower
    small = pure_epsilon({0.3: 5, 0.7: 2}, 1e-12)
    assert small.upper <= math.nextafter(2.9, 3)
    both = pure_epsilon({0.3: 5, 0.7: 2}, 1e-3)
    assert randomised_response_delta([0.3] * 5 + [0.7] * 2, both.upper) <= 1e-3
    assert randomised_response_delta([0.3] * 5 + [0.7] * 2, both.lower) >= mpf(1e-3) * (
        1 - mpf("1e-10")
    )
    assert both.relative_width < 1e-9
    for bad in (-0.1, 1.0, math.nan):
        with pytest.raises(InvalidInput, match="delta"):
            pure_epsilon({0.3: 5}, bad)


def test_which_way_a_delta_is_summed() -> None:
    assert pure_delta({}, 0.1).upper == 0.0
    assert pure_delta({0.3: 5}, 1.6).upper == 0.0
    assert pure_delta({0.3: 5}, math.inf).method == "plain sum"
    assert pure_delta({1e7: 1, 0.3: 5}, 5.0).upper == 1.0
    left = pure_delta({1e7: 1, 0.3: 5}, 1e7 + 0.5)
    near = pure_delta({0.3: 5}, 0.5)
    assert left.lower == 0.0
    assert near.upper <= left.upper <= near.upper * (1 + 1e-6)
    truth = equal_rounds_delta(0.3, 5, 0.5)
    assert near.lower <= truth <= near.upper
    assert near.method == EQUAL
    few = pure_delta({0.3: 5, 0.7: 2}, 0.5)
    truth = randomised_response_delta([0.3] * 5 + [0.7] * 2, 0.5)
    assert few.lower <= truth <= few.upper
    assert few.method == "sum over all outcomes"
    assert few.relative_width < 1e-12
    with with_relative_width(1e-3):
        many = pure_delta({0.01: 2000, 0.02: 1000}, 1.0)
    assert many.method == "moment inversion, two-sided"
    weaker = pure_delta({1e-4: 10**13}, 10.0)
    assert weaker.method == chernoff.METHOD
    for bad in (-0.1, math.nan):
        with pytest.raises(InvalidInput, match="epsilon"):
            pure_delta({0.3: 5}, bad)


def test_limits_of_the_sums() -> None:
    assert _without_revealing({1e7: 3}) == {1e7: 3}
    assert _without_revealing({1e7: 2**50 + 1}) == {}
    assert _without_revealing({1e7: 1, 1e6: 2}) == {1e6: 2}
    assert not _too_many({0.3: 5, 0.4: 10**12}, 10.0)
    assert _too_many({0.3: 2**50 + 1}, 10.0)
    assert _too_many({0.3: 2**50, 0.4: 1}, 10.0)
    assert not _too_many({701.0: 2**50}, 10.0)
    assert _too_many({0.001: 2**49}, 10.0)
    # A million terms: reach² = 2(depth + 60)·n/4, n about 2.8e10 at depth 10.
    n = int(1_000_000**2 * 4 / 140)
    assert not _too_many({1e-9: int(n * 0.999)}, 10.0)
    assert _too_many({1e-9: int(n * 1.001)}, 10.0)
    assert 0 <= mpf(_sum({0.1: 3, 0.7: 2})) - (3 * mpf(0.1) + 2 * mpf(0.7)) < 3e-16


def test_steps_away_from_a_guess() -> None:
    assert _step(1.0, 1, lambda x: x >= 1.0) == 1.0
    up = _step(1.0, 1, lambda x: x >= 1 + 1e-12)
    assert 1 + 1e-12 <= up <= 1 + 2.1e-12
    down = _step(1.0, -1, lambda x: x <= 1 - 1e-12)
    assert 1 - 2.1e-12 <= down <= 1 - 1e-12
    assert _step(0.0, -1, lambda _: False) == 0.0
    assert _step(1e-3, -1, lambda _: False) == 0.0
    small = _step(0.0, 1, lambda x: x >= 1e-12)
    assert 1e-12 <= small <= 2.1e-12


def divergence(rounds: dict[float, int], c: mpf) -> mpf:
    total = mpf(0)
    for e, n in rounds.items():
        p = mp.exp(mpf(e)) / (1 + mp.exp(mpf(e)))
        total += n * mp.log(p * mp.exp(c * mpf(e)) + (1 - p) * mp.exp(-c * mpf(e)))
    return total / c


def entropy(c: mpf) -> mpf:
    return c * mp.log(c) - (1 + c) * mp.log(1 + c)


@pytest.mark.parametrize("rounds", [{0.01: 10**7}, {1e-6: 10**13, 2e-6: 10**12}, {3.0: 4}])
def test_chernoff_bounds_are_the_least_over_all_orders(rounds: dict[float, int]) -> None:
    with mp.workdps(50):
        for c in (mpf("0.01"), mpf(2), mpf(300)):
            assert abs(chernoff._divergence(rounds, c) / divergence(rounds, c) - 1) < mpf("1e-35")
            assert abs(chernoff._entropy(c) / entropy(c) - 1) < mpf("1e-40")
        grid = [mp.exp(mpf(k) / 50) for k in range(-1000, 500)]
        for delta in (1e-5, 0.3):
            best = min(
                divergence(rounds, c) + (entropy(c) - mp.log(mpf(delta))) / c for c in grid[::5]
            )
            found = chernoff.epsilon_by_chernoff(rounds, delta)
            assert found.method == chernoff.METHOD
            assert (
                0 < found.upper <= max(best, mpf(0)) * (1 + mpf("1e-12")) + mpf("1e-300")
                or best <= 0
            )
            assert found.upper >= float(best) * (1 - 1e-2) or best <= 0
        epsilon = 5.0
        least = min(c * (divergence(rounds, c) - epsilon) + entropy(c) for c in grid[::5])
        found = chernoff.delta_by_chernoff(rounds, epsilon)
        assert mpf(found.upper) <= min(mp.exp(least), 1) * (1 + mpf("1e-12"))
        assert mpf(found.upper) >= min(mp.exp(least), 1) * mpf("0.97")


def test_what_half_the_outcomes_give() -> None:
    rounds = {0.01: 10**6}
    with mp.workdps(40):
        p = 1 / (1 + mp.exp(-mpf(0.01)))
        loss = (2 * (mp.floor(10**6 * p) - 1) - 10**6) * mpf(0.01)
        assert chernoff._loss_at_the_mean(rounds) == pytest.approx(loss, rel=1e-30)
        found = chernoff.epsilon_by_chernoff(rounds, 1e-5)
        assert 0 <= loss + mp.log1p(-2 * mpf(1e-5)) - found.lower < 1e-13
        low = chernoff.delta_by_chernoff(rounds, 20.0).lower
        assert 0 <= -mp.expm1(20 - loss) / 2 - low < 1e-15
    assert chernoff.epsilon_by_chernoff(rounds, 0.5).lower == 0.0
    assert chernoff.epsilon_by_chernoff({0.01: 5, 0.02: 5}, 1e-5).lower == 0.0
    assert chernoff.delta_by_chernoff({0.01: 5, 0.02: 5}, 0.01).lower == 0.0
    assert chernoff.delta_by_chernoff(rounds, 100.0).lower == 0.0


def test_a_valley_is_found_by_golden_section() -> None:
    with mp.workdps(50):
        for at in (-300, -2, 0, 5, 700):
            found = chernoff._least(lambda x, c=at: (mp.log(x) - c) ** 2 + 3)
            assert 0 <= found - 3 < mpf("1e-24")


def test_a_plain_sum_is_enclosed() -> None:
    """0.1 three times is no double: one on either side of it."""
    found, exact = pure_epsilon({0.1: 3}, 0.0), 3 * Fraction(0.1)
    assert Fraction(found.lower) < exact < Fraction(found.upper)
    assert found.upper == math.nextafter(found.lower, math.inf)
