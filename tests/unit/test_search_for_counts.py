"""The search for the largest number of rounds: the right one, and few guarantees looked at."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcalc.claims.budget_search import largest_count, most_rounds
from dpcalc.claims.solution import MOST_ROUNDS
from dpcalc.errors import Infeasible
from dpcalc.guarantees import Guarantee, PureDP


def _counted(epsilon: Callable[[int], float]) -> tuple[Callable[[int], Guarantee], list[int]]:
    asked: list[int] = []

    def of(n: int) -> Guarantee:
        asked.append(n)
        return PureDP(epsilon(n))

    return of, asked


@given(
    st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9),
    st.sampled_from([0.3, 0.5, 1.0, 2.0]),
)  # fmt: skip
def test_it_is_the_largest_that_meets_the_budget(
    first: int, second: int, third: int, power: float
) -> None:
    low, limit, high = sorted((first, second, third))
    of, asked = _counted(lambda n: (n / (limit + 0.5)) ** power)
    assert largest_count(of, 1.0, 0.0, low, high) == limit
    assert all(low <= n <= high for n in asked)
    bits = math.log2(1 + high - low)
    assert (
        len(asked) <= 6 + 2 * bits / 3 + bits
    )  # in steps of eight; then at least every third halves


def test_a_power_of_the_number_is_found_at_once() -> None:
    """ln ε is linear in ln n: a line through two points of it meets the budget where it is met."""
    for power in (0.5, 1.0):
        of, asked = _counted(lambda n, power=power: (n / 123_456.5) ** power)
        assert most_rounds(of, 1.0, 0.0, minimum=1) == 123_456
        assert len(asked) <= 16


def test_jumps_are_halved() -> None:
    for limit in (1, 7, 8, 9, 1000, 10**8 + 7):
        of, asked = _counted(lambda n, limit=limit: 1e-9 if n <= limit else 1e9)
        assert most_rounds(of, 1.0, 0.0, minimum=1) == limit
        assert len(asked) <= 60
        of, asked = _counted(lambda n, limit=limit: 0.0 if n <= limit else math.inf)
        assert most_rounds(of, 1.0, 0.0, minimum=0) == limit
        assert len(asked) <= 60


def test_the_ends() -> None:
    def free(_: int) -> Guarantee:
        return PureDP(1.0)

    assert most_rounds(free, 1.0, 0.0, minimum=1) == MOST_ROUNDS
    assert largest_count(free, 1.0, 0.0, 3, 3) == 3
    assert largest_count(free, 1.0, 0.0, 3, 4) == 4
    assert largest_count(lambda n: PureDP(float(n)), 4.0, 0.0, 3, 5) == 4
    assert largest_count(lambda n: PureDP(1.0 + n), 0.5, 0.0, 0, 9) == 0
    with pytest.raises(Infeasible) as caught:
        largest_count(lambda n: PureDP(float(n)), 0.5, 0.0, 1, 9)
    assert str(caught.value) == (
        "no value meets the budget (0.5, 0); try a larger epsilon or delta, fewer rounds, or a smaller "
        "rate"
    )
