"""Optimal composition of pure differential privacy, against sums over all outcomes."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.accounting.pure.binomial_sum import pure_delta, pure_epsilon
from dpcalc.guarantees import PureDP, compose
from dpcalc.numerals import number
from tests.oracles import exact

LOG_DELTAS = st.floats(-30, -0.5)


@given(st.floats(1e-3, 5), st.integers(1, 60), LOG_DELTAS)
def test_equal_rounds_enclose_the_binomial_sum(
    epsilon: float, count: int, log_delta: float
) -> None:
    delta = 10.0**log_delta
    found = pure_epsilon({epsilon: count}, delta)
    assert exact.equal_rounds_delta(epsilon, count, found.upper) <= mpf(delta)
    if found.lower > 0:
        assert exact.equal_rounds_delta(epsilon, count, found.lower) >= mpf(delta)
    assert found.relative_width < 1e-12


# fmt: off
NEXT_TO_THE_LARGEST_LOSS = [
    1.3232117140415802, 1.875, 1.5704847444244696, 1.6504430598307054, 1.3351604712475653,
    1.9486251006949045, 0.7643395358375928, 0.305061119151089, 0.41268434679316435,
]
# fmt: on


@given(st.lists(st.floats(0.01, 2), min_size=2, max_size=9), LOG_DELTAS)
@example(
    NEXT_TO_THE_LARGEST_LOSS, -10.225659232635454
)  # where the error of a sum of losses is all of δ
def test_different_rounds_enclose_the_sum_over_outcomes(
    epsilons: list[float], log_delta: float
) -> None:
    delta = 10.0**log_delta
    rounds = {e: epsilons.count(e) for e in epsilons}
    found = pure_epsilon(rounds, delta)
    assert exact.randomised_response_delta(epsilons, found.upper) <= mpf(delta)
    if found.lower > 0:
        assert exact.randomised_response_delta(epsilons, found.lower) >= mpf(delta)


@given(st.lists(st.floats(0.01, 2), min_size=1, max_size=8), st.floats(0, 5))
def test_delta_encloses_the_sum_over_outcomes(epsilons: list[float], epsilon: float) -> None:
    found = pure_delta({e: epsilons.count(e) for e in epsilons}, epsilon)
    truth = exact.randomised_response_delta(epsilons, epsilon)
    assert mpf(found.lower) <= truth
    assert mpf(found.upper) >= truth


@pytest.mark.parametrize(
    ("rounds", "epsilon", "delta", "expected"),
    [(10, 0.1, 1e-6, 0.99937090572), (100, 0.1, 1e-6, 4.77456758811)],
)
def test_published_values(rounds: int, epsilon: float, delta: float, expected: float) -> None:
    assert pure_epsilon({epsilon: rounds}, delta).upper == pytest.approx(expected, rel=1e-11)


def test_the_count_is_not_forgotten() -> None:
    values = [pure_epsilon({0.1: n}, 1e-6).upper for n in (10, 100, 1000)]
    assert values[0] < values[1] < values[2]


def test_many_rounds_stay_exact() -> None:
    found = pure_epsilon({0.01: 10**6}, 1e-6)
    assert found.relative_width < 1e-12
    assert found.upper < pure_epsilon({0.01: 10**6}, 0.0).upper


def test_zero_delta_is_the_sum_and_never_below_it() -> None:
    assert pure_epsilon({0.1: 100}, 0.0).upper >= 10.0
    assert pure_epsilon({0.1: 100}, 0.0).upper == pytest.approx(10.0, rel=1e-15)
    assert pure_epsilon({}, 0.0).upper == 0
    assert pure_epsilon({0.0: 5}, 1e-5).upper == 0


def test_composition_never_exceeds_the_sum() -> None:
    for rounds in ({0.5: 3}, {0.5: 2, 0.25: 1}, {50.0: 3}):
        total = math.fsum(e * n for e, n in rounds.items())
        assert pure_epsilon(rounds, 1e-12).upper <= total * (1 + 1e-15)


@given(
    st.floats(-6, 4).map(lambda x: 10**x), st.integers(1, 60), st.floats(0, 1), st.integers(-1, 1)
)
def test_delta_next_to_an_atom_is_enclosed(
    single: float, count: int, place: float, side: int
) -> None:
    """Where ε is within rounding of a loss, the rounding of the loss decides."""
    loss = (count - 2 * int(place * count / 2)) * single
    epsilon = loss * (1 + side * 2e-16)
    found = pure_delta({single: count}, epsilon)
    truth = min(exact.equal_rounds_delta(single, count, epsilon), mpf(1))
    assert mpf(found.lower) <= truth <= mpf(found.upper)


@pytest.mark.parametrize(
    "rounds", [{1e5: 2}, {1e6: 10**6}, {800.0: 1, 1.0: 2}, {1e5: 1, 1.0: 5}, {10.0: 5000}], ids=str
)
@pytest.mark.parametrize("delta", [0.5, 1e-6])
def test_rounds_that_reveal_nearly_all_are_enclosed_closely(
    rounds: dict[float, int], delta: float
) -> None:
    found = pure_epsilon(rounds, delta)
    assert 0 < found.lower <= found.upper < sum(e * n for e, n in rounds.items()) * (1 + 1e-15)
    assert found.relative_width < 1e-10


def test_a_certain_loss_leaves_the_logarithm_of_what_delta_leaves() -> None:
    """One round with ε = 1e5: δ(ε) = 1 - e^{ε - 1e5} but for e^{-1e5}."""
    found = pure_epsilon({1e5: 1}, 0.25)
    with mp.workdps(40):
        truth = mpf(10) ** 5 + mp.log(mpf("0.75"))
        assert mpf(found.lower) <= truth <= mpf(found.upper)


def test_what_reveals_adds_to_the_upper_end_of_the_rest() -> None:
    """Where the rest has an enclosure that is wider than a digit of the sum."""
    rest = {0.1 * k + 0.01 * k * k: 40 for k in range(1, 9)}
    known = pure_epsilon(rest, 1e-3)
    assert known.upper - known.lower > 1e-6
    found = pure_epsilon({**rest, 2e6: 3}, 1e-3)
    assert mpf(found.upper) >= mpf(6_000_000) + mpf(known.upper)
    assert mpf(found.lower) <= mpf(6_000_000) + mpf(known.upper)


def test_delta_is_a_probability_also_where_it_is_all_but_one() -> None:
    """Losses of which next to nothing is below ε: rounding up stops at 1."""
    for rounds in ({20.0: 3, 25.0: 2}, {30.0: 2, 31.0: 1}, {35.0: 1, 34.0: 1}):
        found = pure_delta(rounds, 1e-3)
        assert 0.999 < found.lower <= found.upper <= 1.0


def test_a_wide_enclosure_is_not_kept_for_who_asks_for_a_narrow_one() -> None:
    rounds = {0.3 * 1.01**i: 1 for i in range(50)}
    with with_relative_width(0.2):
        wide = pure_epsilon(rounds, 1e-6)
    narrow = pure_epsilon(rounds, 1e-6)
    assert wide.relative_width > 1e-4 > 1e-6 >= narrow.relative_width
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper


def test_rounds_that_reveal_everything() -> None:
    for total in (compose((PureDP(math.inf), 2)), compose((PureDP(math.inf), 2), PureDP(1.0))):
        assert total.bracket(1e-5).lower == math.inf  # type: ignore[attr-defined]
        assert total.epsilon(0.1) == math.inf
        assert total.delta(1.0) == 1.0
        assert total.deltas([0.0, 1.0]) == (1.0, 1.0)  # type: ignore[attr-defined]
        assert total.tradeoffs([0.1]) == (0.0,)


@given(st.integers(1, 10**21 - 1), st.integers(2, 30), st.integers(1, 10**19))
@example(4949747468305832 * 10**5, 2, 10**14)
def test_both_ends_are_of_the_numbers_as_they_were_written(
    bound: int, count: int, delta: int
) -> None:
    """Doubles above the bounds and below δ give a lower end above the truth."""
    written, asked = number(f"{bound}e-21"), number(f"{delta}e-19")
    with mp.workdps(60):
        each, most = mpf(bound) / 10**21, mpf(delta) / 10**19
        sum_of_all = count * each
    found = compose((PureDP(written), count)).bracket(asked)
    assert exact.equal_rounds_delta(each, count, found.upper) <= most
    assert found.lower <= sum_of_all
    if found.lower > 0:
        assert exact.equal_rounds_delta(each, count, found.lower) >= most
    back = compose((PureDP(written), count)).delta_bracket(written)
    assert back.lower <= exact.equal_rounds_delta(each, count, each) <= back.upper
