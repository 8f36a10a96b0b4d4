"""Outward rounding and searches that return the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcalc.numerics.precise import mpf, normal_quantile, round_down, round_up
from dpcalc.numerics.rounding import Extended, deflate, extended, inflate, sum_up
from dpcalc.numerics.search import (
    largest_where,
    minimise,
    smallest_where,
)


@given(st.fractions(), st.integers(1, 10**6))
def test_rounding_encloses_and_is_tight(x: Fraction, scale: int) -> None:
    value = mpf(x.numerator) / x.denominator / scale
    low, high = round_down(value), round_up(value)
    assert mpf(low) <= value <= mpf(high)
    assert high <= math.nextafter(low, math.inf)


def test_rounding_at_the_ends_of_the_range() -> None:
    assert round_up(mpf("1e-400")) == 5e-324
    assert round_down(mpf("1e-400")) == 0.0
    assert round_up(mpf("1e400")) == math.inf
    assert round_down(mpf("1e400")) == pytest.approx(1.797e308, rel=1e-3)
    with pytest.raises(ArithmeticError):
        round_up(mpf("nan"))


@given(st.lists(st.floats(0, 1e6), max_size=40))
def test_sum_up_is_not_below_the_exact_sum(terms: list[float]) -> None:
    assert Fraction(sum_up(terms)) >= sum((Fraction(t) for t in terms), Fraction(0))


def test_inflate_and_deflate_enclose() -> None:
    value = Extended(1) / Extended(3)
    assert Fraction(inflate(value, 3)) > Fraction(1, 3) > Fraction(deflate(value, 3))
    assert inflate(Extended(0), 5) == 0
    assert inflate(np.longdouble("1e300"), 10**6) >= 1e300


def near(double: float, units: float) -> np.longdouble:
    """A double times 1 + units·eps, eps that of the extended type."""
    return Extended(double) * (Extended(1) + Extended(units) * np.finfo(Extended).eps)


@pytest.mark.parametrize("double", [1.0, 1e-280, 7.25e11])
@pytest.mark.parametrize("operations", [1, 6, 40])
def test_the_allowance_is_two_units_an_operation_and_no_more(
    double: float, operations: int
) -> None:
    """Just within the allowance of a double the next one is returned, just outside the double."""
    up, down = math.nextafter(double, math.inf), math.nextafter(double, -math.inf)
    inside, outside = 2 * operations - 1.5, 2 * operations + 2.5
    if Extended(up) < near(double, 8 * operations + 8):
        pytest.skip("the extended type has no digits to spare here")
    assert inflate(near(double, -inside), operations) == up
    assert inflate(near(double, -outside), operations) == double
    assert deflate(near(double, inside), operations) == down
    assert deflate(near(double, outside), operations) == double


def test_what_is_not_a_double_is_rounded_to_the_safe_neighbour_only() -> None:
    up = math.nextafter(1.0, 2.0)
    middle = (Extended(1) + Extended(up)) / 2
    if float(middle) == middle:
        pytest.skip("the extended type has no digits to spare here")
    assert inflate(middle, 1) == up
    assert deflate(middle, 1) == 1.0
    assert deflate(Extended(0), 3) == 0.0
    assert extended([0.1]).dtype == np.dtype(Extended)


@pytest.mark.parametrize("p", [1e-300, 1e-16, 0.01, 0.4999, 0.5, 0.9, 1 - 1e-12])
def test_normal_quantile_inverts_the_distribution_function(p: float) -> None:
    from dpcalc.numerics.precise import normal_cdf

    assert abs(normal_cdf(normal_quantile(mpf(p))) / mpf(p) - 1) < mpf("1e-40")


@given(st.floats(1e-300, 1e300))
def test_smallest_where_returns_the_edge_itself(edge: float) -> None:
    assert smallest_where(lambda x: x >= edge, 0.0, 1e308) == edge
    assert largest_where(lambda x: x <= edge, 0.0, 1e308) == edge


def test_searches_refuse_conditions_that_do_not_hold_where_they_must() -> None:
    with pytest.raises(ValueError, match="right end"):
        smallest_where(lambda x: False, 0.0, 1.0)
    with pytest.raises(ValueError, match="left end"):
        largest_where(lambda x: False, 0.0, 1.0)
    with pytest.raises(ValueError, match="non-negative"):
        smallest_where(lambda x: x > -1, -2.0, 1.0)


def test_minimise_finds_a_smooth_minimum() -> None:
    x, value = minimise(lambda t: (t - 1.234) ** 2 + 0.5, -3.0, 8.0)
    assert x == pytest.approx(1.234, abs=1e-5)
    assert value == pytest.approx(0.5, abs=1e-9)


@given(st.floats(1e-300, 1e300), st.integers(1, 10**4))
def test_inflating_covers_the_error_of_every_operation(value: float, operations: int) -> None:
    unit = Fraction(*np.finfo(Extended).eps.as_integer_ratio())  # at least twice the unit roundoff
    wide = Extended(value) * (1 + np.finfo(Extended).eps)
    exact = Fraction(*wide.as_integer_ratio())
    assert Fraction(inflate(wide, operations)) >= exact * (1 + operations * unit)
    assert Fraction(deflate(wide, operations)) <= exact * (1 - operations * unit)
    assert inflate(Extended(value), 0) == value == deflate(Extended(value), 0)
