"""Calibration ends at the last digits that the enclosure supports."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest

from dpcalc.accounting.enclosure import Bracket, sharpened
from dpcalc.claims import solve
from dpcalc.claims.budget_search import TOLERANCE
from dpcalc.guarantees import GDP
from dpcalc.guarantees.composition import Composition
from dpcalc.numerics.root import Root

EPSILON, DELTA = 0.2, 1e-5


def _tail(x: Any) -> Any:
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def _sampled_gaussian(sigma: Any, rate: Any) -> Any:
    """δ(0.2) when the record is removed, N(1, σ²) with probability ``rate`` against N(0, σ²)."""
    level = mpmath.exp(EPSILON)
    place = mpmath.mpf("0.5") + sigma**2 * mpmath.log((level - 1 + rate) / rate)
    return (1 - rate - level) * _tail(place / sigma) + rate * _tail((place - 1) / sigma)


@pytest.mark.parametrize("field", ["noise_multiplier", "rate"])
def test_one_sampled_round_is_solved_to_ten_digits(field: str) -> None:
    """Against the exact law in forty digits; both directions, of which removal costs more."""
    given = {"noise_multiplier": 1.0, "rate": 0.01}
    start = given.pop(field)
    table = {"mechanism": "poisson-subsampled-gaussian", "adjacency": "add-remove", **given}
    found = solve.solve(table, 1, EPSILON, DELTA)
    with mpmath.workdps(40):

        def excess(x: Any) -> Any:
            rate = mpmath.mpf(0.01) if field == "noise_multiplier" else x
            sigma = x if field == "noise_multiplier" else mpmath.mpf(1)
            return _sampled_gaussian(sigma, rate) / mpmath.mpf(DELTA) - 1

        exact = mpmath.findroot(excess, start)
        spare = (found.value - exact) / exact * (1 if field == "noise_multiplier" else -1)
    # ε is enclosed to 1e-11 here, which is worth at most four times as much of the field.
    assert 0 <= spare <= 1e-10


@pytest.mark.parametrize(("width", "reached"), [(0.0, 1e-12), (1e-9, 2e-9), (1e-6, 1e-6)])
def test_the_search_ends_where_the_enclosures_do(width: float, reached: float) -> None:
    """Twice their width, no less than the last digits and no more than before."""

    class Answer:
        def bracket(self, delta: float) -> Bracket:
            assert delta == DELTA
            return Bracket(1.0 - width, 1.0, "given")

    found = Root(1.0 - 0.3e-6, 1.0 + 0.7e-6, 1.0, 1.0)
    nearer = sharpened(lambda x: 1 - x, found, tolerance=1e-6, at=lambda _: Answer(), delta=DELTA)
    assert 1.0 <= nearer.high <= 1.0 + reached
    assert (nearer is found) == (width == 1e-6)


def test_a_root_that_turns_out_farther_away_is_left() -> None:
    found = Root(1.0, 1.0 + TOLERANCE, 1.0, 1.0)
    left = sharpened(
        lambda x: 2.0 - x, found, tolerance=TOLERANCE, at=lambda _: Composition(()), delta=DELTA
    )
    assert left is found


def test_closed_forms_and_ends_of_the_range_are_left() -> None:
    for found in (
        Root(1.0, 1.0, 1.0, 1.0),
        Root(1.0, 2.0, 1.0, 1.5),
        Root(9.0, math.inf, 1.0, 9.0),
    ):
        assert found is sharpened(
            lambda x: 1.2 - x, found, tolerance=1.0, at=lambda _: GDP(1.0), delta=DELTA
        )
