"""The exact Gaussian law and its inverses, against a closed form with eighty digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.gaussian import (
    gaussian_delta,
    gaussian_delta_bounds,
    gaussian_epsilon,
    gaussian_mu,
    total_mu,
)
from dpcalc.errors import InvalidInput
from tests.oracles import exact

MUS = st.floats(1e-8, 1e4)
DELTAS = st.floats(-300, -1e-9).map(lambda e: 10.0**e)


@given(MUS, st.floats(0, 60))
def test_delta_is_the_next_double_above_the_truth(mu: float, ratio: float) -> None:
    epsilon = ratio * mu
    truth = exact.gaussian_delta(mu, epsilon, 120)
    found = gaussian_delta(mu, epsilon)
    assert mpf(found) >= truth
    assert found == 5e-324 or found <= float(truth) * (1 + 3e-16) or found == math.nextafter(0, 1)


@given(MUS, DELTAS)
def test_epsilon_is_never_below_the_truth_and_at_most_one_double_above(
    mu: float, delta: float
) -> None:
    found = gaussian_epsilon(mu, delta)
    assert exact.gaussian_delta(mu, found, 120) <= mpf(delta)
    if found > 0:
        below = math.nextafter(math.nextafter(found, 0), 0)
        assert exact.gaussian_delta(mu, below, 120) > mpf(delta)


@given(st.floats(0, 1e6), DELTAS)
def test_mu_meets_the_budget_and_the_next_double_does_not(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert exact.gaussian_delta(mu, epsilon, 700) <= mpf(delta)
    above = math.nextafter(math.nextafter(mu, math.inf), math.inf)
    assert exact.gaussian_delta(above, epsilon, 700) > mpf(delta)


def test_closed_form_agrees_with_the_integral() -> None:
    for mu, epsilon in ((1.0, 1.0), (0.3, 2.0), (4.0, 0.5)):
        closed, integral = (
            exact.gaussian_delta(mu, epsilon),
            exact.gaussian_delta_by_quadrature(mu, epsilon),
        )
        assert abs(closed - integral) < mpf("1e-25")


def test_composition_is_the_root_of_the_sum_of_squares_rounded_up() -> None:
    with mp.workdps(50):
        exact_total = mp.sqrt(3 * mpf(0.1) ** 2 + 5 * mpf(0.7) ** 2)
        assert mpf(total_mu([(0.1, 3), (0.7, 5)])) >= exact_total
    assert total_mu([(0.3, 10**9)]) == pytest.approx(0.3 * 10**4.5, rel=1e-15)
    assert total_mu([(math.inf, 1)]) == math.inf


@given(st.floats(1e-3, 50), st.floats(0, 40))
@example(0.0625, 3.0)  # the truth is 2e-505: below the smallest double, but not zero
def test_double_precision_bounds_are_above_and_close(mu: float, epsilon: float) -> None:
    (bound,) = gaussian_delta_bounds(np.array([mu]), epsilon)
    truth = exact.gaussian_delta(mu, epsilon, 200)
    assert mpf(float(bound)) >= truth
    if truth > mpf("1e-250"):
        assert bound <= float(truth) * (1 + 1e-9)


@pytest.mark.parametrize("bad", [math.nan, -1.0])
def test_nonsense_is_refused(bad: float) -> None:
    with pytest.raises(InvalidInput, match="mu"):
        gaussian_epsilon(bad, 1e-5)
    with pytest.raises(InvalidInput, match="delta"):
        gaussian_epsilon(1.0, bad)
    with pytest.raises(InvalidInput):
        gaussian_mu(bad, 1e-5)


def test_edges() -> None:
    assert gaussian_epsilon(0.0, 1e-5) == 0
    assert gaussian_epsilon(1.0, 0.0) == math.inf
    assert gaussian_epsilon(math.inf, 1e-5) == math.inf
    assert gaussian_delta(math.inf, 3.0) == 1
    assert gaussian_delta(1.0, math.inf) == 0
    assert gaussian_epsilon(1.0, 0.5) == 0


@pytest.mark.parametrize("mu", [0.1, 0.7, 3.0])
def test_cumulants_are_those_of_a_normal_loss(mu: float) -> None:
    """The loss is normal with mean μ²/2 and variance μ²: ln M(c) = cμ²/2 + c²μ²/2."""
    from dpcalc.accounting.losses.gaussian import GaussianLoss

    value, first, second = GaussianLoss(mu).cumulants(np.array([0.5, 2.0, 7.0]))
    for k, c in enumerate((0.5, 2.0, 7.0)):
        mean, variance = mu * mu / 2, mu * mu
        assert value[k] == pytest.approx(c * mean + c * c * variance / 2, rel=1e-13)
        assert first[k] == pytest.approx(mean + c * variance, rel=1e-13)
        assert second[k] == pytest.approx(variance, rel=1e-13)
