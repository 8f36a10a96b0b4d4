"""Numbers at the far ends of the doubles: an answer, never an error of another kind, never below."""

from __future__ import annotations

import math

import pytest
from mpmath import mp, mpf

from dpcalc.guarantees import GDP, ApproxDP, Guarantee, PureDP, compose, mechanisms

POISSON = mechanisms.poisson_subsampled_gaussian


@pytest.mark.parametrize("sigma", [1e3, 1e155, 1e160, 1e162, 1e300])
@pytest.mark.parametrize("order", [2, 7])
def test_divergences_next_to_nothing_are_above_the_truth(sigma: float, order: int) -> None:
    """The binomial sum with seven hundred digits; what is below every double is the least of them."""
    with mp.workdps(700):
        terms = (
            mp.binomial(order, k)
            * mpf(0.5) ** order
            * mp.expm1(mpf(k * (k - 1)) / 2 / mpf(sigma) ** 2)
            for k in range(2, order + 1)
        )
        truth = mp.log1p(mp.fsum(terms)) / (order - 1)
        found = POISSON(sigma, 0.5, "add-remove").renyi(order)
        assert mpf(found) >= truth > 0
        assert mpf(found) <= truth * 5 + mpf("2e-321")  # or that of sampling every record


def test_nothing_has_no_divergence() -> None:
    assert mechanisms.finite_distributions([0.5, 0.5], [0.5, 0.5], "add-remove").renyi(2.0) == 0


def test_a_divergence_is_no_larger_than_the_largest_loss() -> None:
    """At orders whose moments are beyond the doubles."""
    points = [(1.0, 0.3), (699.0, 1e-9), (1e20, 0.0)]
    found = mechanisms.from_profile(points).renyi(1e300)
    assert 1e20 * (1 - 1e-12) <= found <= 1e20 * (1 + 1e-11)
    assert mechanisms.laplace(scale_over_sensitivity=1e160).renyi(1e15) >= 1e-160 * (1 - 1e-14)


@pytest.mark.parametrize("tiny", [1e-300, 1e-41, 1e-25])
def test_points_of_a_profile_that_are_next_to_each_other(tiny: float) -> None:
    """e^ε is the same number with sixty digits; what holds at one ε holds above it."""
    found = mechanisms.from_profile([(0.0, 0.3), (tiny, 1e-160)])
    assert tiny / 2 * (1 - 1e-15) <= found.delta(0.0) <= 1e-25  # h falls by half of what k grows
    assert found.delta(1e-20) <= 1e-150
    three = mechanisms.from_profile([(tiny, 1e-9), (1e-20, 1e-10), (1e3, 1e-160)])
    assert three.epsilon(2e-9) <= 1e-20


@pytest.mark.parametrize(
    "total",
    [
        compose((ApproxDP(1e300, 1e-160), 10**9), mechanisms.laplace(scale_over_sensitivity=1e8)),
        compose((mechanisms.laplace(scale_over_sensitivity=1e160), 1000), GDP(1.0)),
        compose((PureDP(1e300), 2), GDP(1e-8)),
    ],
)
def test_losses_beyond_squares_that_are_doubles(total: Guarantee) -> None:
    for delta in (1e-300, 1e-30, 0.3):
        found = total.bracket(delta)  # type: ignore[attr-defined]
        assert 0 <= found.lower <= found.upper
    assert 0 <= total.delta(1.0) <= 1
    if total.parts[-1][0] == GDP(1.0):  # type: ignore[attr-defined]
        assert total.delta(1.0) == pytest.approx(GDP(1.0).delta(1.0), rel=1e-6)
        assert total.delta(1.0) >= GDP(1.0).delta(1.0) * (1 - 1e-15)
    assert not math.isnan(total.renyi(2.0))


def test_rounding_beyond_the_doubles_is_no_warning() -> None:
    """A node's error may exceed every double far out; then a contour says nothing."""
    total = compose((POISSON(0.05, 1e-12, "add-remove"), 10**12))
    assert 0 <= total.delta(1e20) <= 1e-300
