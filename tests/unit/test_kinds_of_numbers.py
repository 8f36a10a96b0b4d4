"""Numbers of any type that Python and NumPy have are taken as they are, or refused in one sentence.

The oracle is the same number as a double, an exact fraction, or mpmath.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc import checks
from dpcalc.accountant import Accountant
from dpcalc.accounting.gaussian import total_mu
from dpcalc.claims import composition
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP, compose
from dpcalc.guarantees.mechanisms import (
    from_profile,
    gaussian,
    laplace,
    poisson_subsampled_gaussian,
)
from dpcalc.numerals import at_least, at_most, number, ratio
from tests.campaign.hostile import command

MAKERS: dict[str, Any] = {
    "pure": lambda x: PureDP(x).epsilon(0.0),
    "pure rounds": lambda x: compose((PureDP(x), 3)).epsilon(1e-6),
    "approx": lambda x: ApproxDP(1.0, x).epsilon(x),
    "gdp": lambda x: GDP(x).epsilon(1e-6),
    "gdp rounds": lambda x: compose((GDP(x), 3)).epsilon(1e-6),
    "zcdp": lambda x: ZCDP(x).epsilon(1e-6),
    "rdp": lambda x: RDP.from_points({2: x}).epsilon(1e-6),
    "delta": lambda x: GDP(1.0).epsilon(x),
    "delta of rounds": lambda x: compose((PureDP(0.5), 3)).epsilon(x),
    "epsilon": lambda x: GDP(1.0).delta(x),
    "gaussian": lambda x: gaussian(x, "add-remove").epsilon(1e-6),
    "laplace": lambda x: laplace(x, "replace-one").epsilon(1e-6),
    "rate": lambda x: poisson_subsampled_gaussian(1.0, x, "add-remove").epsilon(1e-6),
    "profile": lambda x: from_profile([(x, 1e-9)]).epsilon(1e-6),
    "accountant": lambda x: Accountant(x, 1e-6).epsilon_left(),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "value",
    [np.float16(0.25), np.float32(0.25), np.float64(0.25), np.longdouble(0.25), Fraction(1, 4)],
    ids=lambda value: type(value).__name__,
)
def test_a_quarter_is_a_quarter_in_every_type(name: str, value: Any) -> None:
    found = MAKERS[name](value)
    assert found == MAKERS[name](0.25)
    json.dumps(found)


@pytest.mark.parametrize("name", ["pure", "gdp", "zcdp", "gdp rounds", "gaussian", "accountant"])
@pytest.mark.parametrize("value", [np.int64(3), np.uint8(3), np.int16(3), Fraction(3), 3])
def test_whole_numbers_of_every_type(name: str, value: Any) -> None:
    found = MAKERS[name](value)
    assert found == MAKERS[name](3.0)
    json.dumps(found)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "value",
    [
        Decimal("0.25"), "0.25", None, True, np.True_, 0.25j, [0.25], math.nan, np.float32("nan"),
        np.array(0.25), np.array([0.25]), Fraction(1, 10**400), Fraction(10**400),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_anything_else_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput):
        MAKERS[name](value)


@pytest.mark.parametrize("adjacency", [np.array(["add-remove", "x"]), 1, ["add-remove"], b"x", 0])
def test_a_relation_that_is_no_text(adjacency: Any) -> None:
    with pytest.raises(InvalidInput, match="adjacency"):
        gaussian(1.0, adjacency)


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_neighbouring_doubles_of_fractions(value: Fraction) -> None:
    low, high = at_most(value), at_least(value)  # type: ignore[arg-type]  # any real number
    assert Fraction(low) <= value <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))


def test_the_widest_floats_are_not_rounded_to_the_nearest_double() -> None:
    third: Any = np.longdouble(1) / 3
    top, bottom = ratio(third)
    assert np.longdouble(top) / np.longdouble(bottom) == third
    assert Fraction(at_least(third)) >= Fraction(top, bottom) >= Fraction(at_most(third))


@pytest.mark.parametrize("bound", [2**53 + 1, 2**60 + 1, 10**22 + 1])
def test_whole_numbers_beyond_the_doubles_are_not_rounded_down(bound: int) -> None:
    """At a small δ next to nothing is taken off the sum of three such rounds."""
    found = compose((PureDP(bound), 3)).epsilon(1e-6)
    assert Fraction(found) > 3 * bound - 1
    assert Fraction(GDP(bound).epsilon(0.5)) > Fraction(bound**2, 2) - 1


def test_counts_beyond_the_doubles_in_a_file(tmp_path: Path) -> None:
    """A whole number in TOML is as exact as the same number in quotes."""
    file, count = tmp_path / "plan.toml", 2**53 + 1
    for written in (str(count), f'"{count}"'):
        file.write_text(f"[[release]]\npure = 0.001\ncount = {written}\n")
        found = json.loads(command("compose", str(file), "--json").out)
        assert found["releases"] == count
        assert Fraction(found["certified"]["epsilon"]) >= Fraction(count, 1000)


def test_decimals_compose_on_the_safe_side_of_their_doubles() -> None:
    """0.3 is above its double: the root of 10¹² squares of it is above that of the doubles'."""
    written = number("0.3")
    assert Fraction(total_mu([(written, 10**12)])) >= Fraction(3, 10) * 10**6
    assert Fraction(total_mu([(written, 1)])) >= Fraction(3, 10)


def _binomial_epsilon(each: mpf, rounds: int, delta: mpf) -> mpf:
    """ε of equal rounds of randomised response by bisection of Σ P(k)(1 - e^{ε-(2k-n)ε₀})⁺."""
    p = mp.e**each / (1 + mp.e**each)

    def delta_at(epsilon: mpf) -> mpf:
        return sum(
            mp.binomial(rounds, k)
            * p**k
            * (1 - p) ** (rounds - k)
            * max(mpf(0), 1 - mp.e ** (epsilon - (2 * k - rounds) * each))
            for k in range(rounds + 1)
        )

    low, high = mpf(0), rounds * each
    for _ in range(150):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


@pytest.mark.parametrize("delta", ["0.1", "0.2", "0.01", "1e-3", "1e-5", "1/3"])
def test_delta_is_what_was_typed(delta: str) -> None:
    """δ = 0.2 is below its double, at which a smaller ε would hold."""
    top, _, bottom = delta.partition("/")
    with mp.workdps(60):
        exact = _binomial_epsilon(mpf(0.5), 3, mpf(top) / mpf(bottom or 1))
        assert mpf(compose((PureDP(0.5), 3)).epsilon(number(delta))) >= exact


@pytest.mark.parametrize(
    "guarantee",
    [
        RDP.from_points({2.0: 1.0}),
        compose((PureDP(0.3), 2), GDP(0.5)),
        compose((laplace(2.0, "add-remove"), 2)),
    ],
    ids=["rdp", "unlike", "laplace"],
)
def test_epsilon_at_a_decimal_is_that_at_the_double_below(guarantee: Guarantee) -> None:
    typed = number("0.2")
    assert Fraction(float(typed)) > Fraction(1, 5)
    assert guarantee.epsilon(typed) == guarantee.epsilon(math.nextafter(0.2, 0.0))
    epsilon = number("0.2")
    assert guarantee.delta(epsilon) == guarantee.delta(math.nextafter(0.2, 0.0))


@pytest.mark.parametrize("delta", ["1e-5", "0.1", "1e-6"])
def test_a_failure_probability_that_was_typed_is_met_by_the_same_delta(delta: str) -> None:
    failing = ApproxDP(1.0, number(delta))
    assert compose(failing, PureDP(1.0)).epsilon(number(delta)) <= 2


def test_equal_rows_of_a_table_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of a million rounds has few kinds of them; a row that differs is another one."""
    seen: list[str] = []
    original = composition.release_from

    def counted(where: str, row: Any, around: str) -> Any:
        seen.append(where)
        return original(where, row, around)

    monkeypatch.setattr(composition, "release_from", counted)
    file = tmp_path / "rounds.csv"
    file.write_text("gdp,name\n" + "0.1,a\n0.1,b\n0.2,\n" * 50)
    total = composition.read_plan(file).total()
    assert len(seen) == 2
    assert total == GDP(total_mu([(number("0.1"), 100), (number("0.2"), 50)]))


def test_a_number_that_tells_no_ratio_is_the_double_that_it_says() -> None:
    assert ratio(mpf("0.75")) == (3, 4)


def test_a_fraction_that_no_double_stands_for_is_refused_and_zero_is_not() -> None:
    tiny, zero = Fraction(1, 10**400), Fraction(0)
    for check in (checks.positive, checks.non_negative, checks.probability):
        for value in (tiny, -tiny):
            with pytest.raises(InvalidInput, match="needs a"):
                check("x", value)
    assert checks.non_negative("x", zero) == checks.probability("x", zero) == 0.0


def test_a_ratio_is_not_the_double_next_to_it() -> None:
    """1/3 is above its double, at which the exact δ is that much above 0."""
    third = Fraction(1, 3)
    assert PureDP(third).delta(1 / 3) > 0
    assert PureDP(third).delta(third) == PureDP(third).delta(math.nextafter(1 / 3, 1)) == 0
    assert PureDP(0.25).delta(0.25) == 0
    assert (PureDP(math.inf).delta(9), PureDP(math.inf).delta(math.inf)) == (1, 0)


def test_what_no_double_can_stand_for_is_refused_as_that() -> None:
    for large in (10**400, Fraction(10**400, 3)):
        with pytest.raises(InvalidInput, match="a double can stand for") as refused:
            checks.count("count", large)
        assert "try" not in str(refused.value)
    with pytest.raises(InvalidInput, match=r"got count=-1; try 10$"):
        checks.count("count", -1)
