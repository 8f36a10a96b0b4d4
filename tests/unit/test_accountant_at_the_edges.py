"""An accountant's numbers and refusals, each by what it is made of."""

from __future__ import annotations

import json
import math

import pytest

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
    with pytest.raises(
        InvalidInput, match="a release needs plain numbers, texts and lists: Object"
    ):
        Accountant().spend(table)


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
