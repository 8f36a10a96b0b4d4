"""An accountant's numbers and refusals, each by what it is made of."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcalc import calibrate
from dpcalc.accountant import MOST_ROUNDS, Accountant
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, RDP, PureDP
from dpcalc.numerals import Written, number

PURE = {"pure": 0.25}


def test_what_is_left_is_the_budget_minus_what_is_spent() -> None:
    spent = Accountant(epsilon=1.0).spend(PURE, 3)
    assert spent.epsilon_spent() == 0.75
    assert spent.epsilon_left() == 0.25
    assert spent.within_budget()
    assert spent.rounds == 3
    full = spent.spend(PURE)
    assert (full.epsilon_left(), full.within_budget(), full.rounds) == (0.0, True, 4)
    over = full.spend(PURE)
    assert (over.epsilon_left(), over.within_budget(), over.rounds) == (0.0, False, 5)
    assert Accountant().spend(PURE).epsilon_left() == math.inf
    assert Accountant().spend({"gdp": 1}).epsilon_left() == math.inf
    assert Accountant(epsilon=1.0).spend({"gdp": 1}).epsilon_left() == 0.0


def test_the_budgets_delta_counts_unless_another_is_asked_for() -> None:
    spent = Accountant(epsilon=9.0, delta=1e-3).spend({"gdp": 1.0})
    assert spent.epsilon_spent() == GDP(1.0).epsilon(1e-3)
    assert spent.epsilon_spent(1e-6) == GDP(1.0).epsilon(1e-6)
    assert spent.epsilon_spent(0.0) == math.inf
    with pytest.raises(InvalidInput, match=r"delta needs a number in \[0, 1\); got delta=1"):
        spent.epsilon_spent(1)


def test_rounds_left_count_what_was_spent_before() -> None:
    empty = Accountant(epsilon=1.0)
    assert empty.rounds_left(PURE) == 4
    assert empty.spend(PURE, 3).rounds_left(PURE) == 1
    assert empty.spend({"pure": 0.5}).rounds_left(PURE) == 2
    assert empty.spend(PURE, 4).rounds_left(PURE) == 0
    assert empty.spend(PURE, 5).rounds_left(PURE) == 0
    assert empty.rounds_left({"pure": 0}) == MOST_ROUNDS
    assert Accountant().spend(PURE).rounds_left({"gdp": 1}) == MOST_ROUNDS
    named = empty.spend({"mechanism": "laplace", "scale_multiplier": 8, "adjacency": "add-remove"})
    with pytest.raises(InvalidInput, match="one neighbouring relation is needed for all releases"):
        named.rounds_left(
            {"mechanism": "laplace", "scale_multiplier": 8, "adjacency": "replace-one"}
        )


def test_a_guarantee_is_the_release_of_its_table() -> None:
    by_value = Accountant().spend(PureDP(0.25)).spend(PURE, 2)
    assert by_value.rounds == 3
    assert len(by_value.releases) == 1
    kinds = [json.loads(r.kind) for r in Accountant().spend(GDP(2.0)).releases]
    assert kinds == [{"gdp": 2.0}]
    with pytest.raises(InvalidInput, match="expected a guarantee that can be written down"):
        Accountant().spend(RDP(lambda order: order))


def test_a_table_that_cannot_be_written_is_refused() -> None:
    table = {"mechanism": "profile", "points": [[0.5, 0.1]], "name": {1, 2}}
    with pytest.raises(InvalidInput, match=r"numbers, texts and lists: {1, 2} is none of these"):
        Accountant().spend(table)


@pytest.mark.parametrize("release", [None, "dp-sgd", 3])
def test_what_is_no_table_is_refused_with_one(release: Any) -> None:
    with pytest.raises(InvalidInput, match=r"or a release table; got .*; try {'mechanism'"):
        Accountant().spend(release)


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (np.float32(0.25), 0.25),
        (np.int64(2), 2.0),
        (np.longdouble(0.5), 0.5),
        (Fraction(1, 4), 0.25),
        (Fraction(1, 10), "1/10"),
    ],
)
def test_a_number_of_any_real_type_is_the_number_that_it_is(given: Any, plain: Any) -> None:
    """A training has its noise in single precision, or as a fraction."""
    spent = Accountant().spend({"gdp": given})
    assert spent == Accountant().spend({"gdp": plain})
    assert Accountant.from_json(spent.to_json()) == spent
    table = {"noise_multiplier": 1, "adjacency": "add-remove"}
    one, other = (
        calibrate("dp-sgd", epsilon=9.0, delta=0.01, **table, rate=rate).rounds
        for rate in (Fraction(1, 2), np.float32(0.5))
    )
    assert one == other


def test_a_curve_is_a_function_of_the_order() -> None:
    with pytest.raises(InvalidInput, match=r"got {2: 0.1}; try RDP.from_points"):
        RDP({2: 0.1})  # type: ignore[arg-type]


def test_a_saved_accountant_is_the_same_one() -> None:
    spent = Accountant(epsilon=1.0, delta=1e-6).spend(PURE, 3).spend({"gdp": 0.5, "name": "b"}, 2)
    found = Accountant.from_json(spent.to_json())
    assert found == spent
    assert list(json.loads(spent.to_json())) == [
        "format", "version", "epsilon", "delta", "releases", "sha256",
    ]  # fmt: skip
    unlimited = Accountant().spend(PURE)
    assert json.loads(unlimited.to_json())["epsilon"] is None
    assert Accountant.from_json(unlimited.to_json()) == unlimited


def test_numbers_as_written_are_equal_by_what_was_written() -> None:
    third, same, other = number("1/3"), Written(2, 6), Written(1, 10)
    assert third == same
    assert (third != same) is False
    assert third != other
    assert third != float(third)
    assert (third == float(third)) is False
    assert (third == "1/3") is False
    assert hash(third) == hash(same) == hash(float(third))
    assert third.__reduce__() == (Written, (1, 3))
    assert type(third).__eq__(third, "x") is type(third).__ne__(third, "x") is NotImplemented
