"""Bounds of eigenvalues and rates: what they allow for rounding, and no more."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpcalc.numerics.certified_eigenvalues import (
    UNIT,
    _norm,
    contraction,
    largest_eigenvalue,
    singular_values,
    smallest_eigenvalue,
)

MARGINS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)


@pytest.mark.parametrize("margin", MARGINS)
def test_a_rate_has_the_smallest_margin_that_proves_it(margin: float) -> None:
    """For a number r₀ with errors of b the proof takes P = 1/(1 - (r₀/r)²); 1 exceeds 8·17u(b²/r² + 1)P."""
    radius = 0.5
    rate = radius * (1 + margin)
    form = 1 / (1 - (radius / rate) ** 2)
    # Nearly the errors that this margin allows; the next smaller one allows a third or less.
    error = rate * math.sqrt(0.97 / (8 * 17 * UNIT * form) - 1)
    assert contraction(np.array([[radius]]), np.array([[error]])) == rate


def test_errors_beyond_the_largest_margin_prove_nothing() -> None:
    radius, rate = 0.5, 0.55
    form = 1 / (1 - (radius / rate) ** 2)
    error = rate * math.sqrt(1.03 / (8 * 17 * UNIT * form) - 1)
    assert contraction(np.array([[radius]]), np.array([[error]])) is None


@pytest.mark.parametrize("share", [0.97, 1.03])
def test_errors_of_the_size_of_the_entries_count_twice(share: float) -> None:
    """P and |M|ᵀ|P||M|/r² are both of its size: 8·18u·2|P| has to be below 1, by the series of P."""
    rate = 0.5 * 1.1
    unscaled = np.array([[0.5, 1e6], [0.0, 0.5]])
    form, power = np.eye(2), np.eye(2)
    for _ in range(400):
        power = power @ unscaled / rate
        form += power.T @ power
    entry = 1e6 * math.sqrt(share / (2 * 8 * 18 * UNIT * float(np.linalg.norm(form))))
    block = np.array([[0.5, entry], [0.0, 0.5]])
    assert contraction(block, block) == (rate if share < 1 else None)


def test_the_frobenius_norm_is_no_less_than_it_is() -> None:
    for entries in ([[3.0, 4.0]], [[0.1] * 7], [[1e-3, 7.0], [0.3, 2.0]]):
        exact = sum(Fraction(x) ** 2 for row in entries for x in row)
        found = Fraction(_norm(np.array(entries)))
        assert exact <= found**2 <= exact * (1 + Fraction(3e-12))


@pytest.mark.parametrize("entries", [(3.0, 4.0), (0.5, 1.0, 2.0), (0.75,)])
def test_what_is_allowed_for_an_eigenvalue_is_what_is_said(entries: tuple[float, ...]) -> None:
    """Of a diagonal matrix the estimate is right: 16nu times the Frobenius norm is added, once."""
    matrix = np.diag(entries)
    allowed = 16 * len(entries) * UNIT * math.hypot(*entries)
    room = 8 * UNIT * max(map(abs, entries))  # of the estimate, and of adding
    assert abs(largest_eigenvalue(matrix) - max(entries) - allowed) <= room
    assert abs(min(entries) - smallest_eigenvalue(matrix) - allowed) <= room


@pytest.mark.parametrize("columns", [2**12, 2**14])
def test_what_a_long_product_loses_in_rounding_is_covered(columns: int) -> None:
    """Terms below half a unit of the first are lost one by one, in whatever order they are added."""
    row = np.full((1, columns), math.sqrt(0.99 * UNIT))
    row[0, 0] = 1.0
    exact = 1 + (columns - 1) * Fraction(float(row[0, 1])) ** 2
    for matrix in (row, row.T):
        low, high = singular_values(matrix)
        assert Fraction(low) ** 2 <= exact <= Fraction(high) ** 2
    # (n + 2)·2u of the moduli, whatever this machine's order of adding lost.
    low, high = singular_values(np.ones((1, columns)))
    allowed = (columns + 2) * UNIT
    assert high >= math.sqrt(columns) * (1 + 0.99 * allowed)
    assert low <= math.sqrt(columns) * (1 - 0.99 * allowed)
    assert high - low <= 3 * math.sqrt(columns) * (allowed + 16 * UNIT)


def test_what_is_allowed_for_a_short_product_is_what_is_said() -> None:
    """Three terms: 2·(3 + 2)u for the product and 16u for the factorisation, then a root rounded."""
    low, high = singular_values(np.ones((1, 3)))
    above = (Fraction(high) ** 2 - 3) / 3 / Fraction(UNIT)
    below = (3 - Fraction(low) ** 2) / 3 / Fraction(UNIT)
    # The root is rounded and moved on by 4u of its square, the sum by u.
    assert 26 - 1 <= above <= 26 + 1 + 2 * 4
    assert 26 - 1 <= below <= 26 + 1 + 2 * 4


def test_powers_beyond_the_doubles_prove_nothing_and_say_nothing() -> None:
    for far in (1e150, 5e153, 1e160, 1e200):
        matrix = np.array([[0.5, far], [0.0, 0.5]])
        with np.errstate(over="raise", invalid="raise"):
            assert contraction(matrix, np.abs(matrix)) is None
