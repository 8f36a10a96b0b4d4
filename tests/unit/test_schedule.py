"""Schedules: numbers, rules, tables, and what is wrong with a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcalc.errors import InvalidInput
from dpcalc.numerals import number
from dpcalc.theorems.base import Scope
from dpcalc.theorems.objective_perturbation.penalty_perturbation import PenaltyPerturbation
from dpcalc.theorems.schedule import Schedule


def test_number_rule_and_table(tmp_path: Path) -> None:
    assert Schedule.of("x", 2).rounds("x", 3, 2) == [((2.0, 2.0), 3)]
    assert Schedule.of("x", "1/4:2").rounds("x", 3, 1) == [((0.25,), 1), ((0.5,), 1), ((1.0,), 1)]
    file = tmp_path / "values.csv"
    file.write_text("# per node\n1,2\n3,4\n")
    assert Schedule.of("x", f"@{file}").rounds("x", 2, 2) == [((1.0, 2.0), 1), ((3.0, 4.0), 1)]
    file.write_text("1\n2\n")
    assert Schedule.of("x", f"@{file}").rounds("x", 2, 3) == [((1.0,) * 3, 1), ((2.0,) * 3, 1)]
    assert Schedule.of("x", f"@{file}").nodes("x", 2) == (1.0, 2.0)
    assert Schedule.of("x", [[1, 2, 3]]).rounds("x", 5, 3) == [((1.0, 2.0, 3.0), 5)]


def test_scaling_keeps_the_shape() -> None:
    assert Schedule.of("x", "3:1.5").scaled(6.0) == Schedule(6.0, 1.5)
    assert Schedule.of("x", [[1.0, 2.0]]).scaled(3.0).table == ((3.0, 6.0),)
    assert Schedule.of("x", 2).constant
    assert not Schedule.of("x", "2:1.1").constant
    assert str(Schedule.of("x", "2:1.1")) == "2:1.1"


@pytest.mark.parametrize("text", ["", "abc", "1:", ":2", "1/0", "@/no/such/file", "1:2:3"])
def test_unreadable_text_is_one_clear_error(text: str) -> None:
    with pytest.raises(InvalidInput, match="penalty") as caught:
        Schedule.of("penalty", text)
    assert "\n" not in str(caught.value)


def test_wrong_shapes_say_what_was_needed(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="1 or 5 rows"):
        Schedule.of("x", [[1.0], [2.0]]).rounds("x", 5, 1)
    with pytest.raises(InvalidInput, match="columns"):
        Schedule.of("x", [[1.0, 2.0]]).rounds("x", 5, 3)
    with pytest.raises(InvalidInput, match="equal length"):
        Schedule.of("x", [[1.0, 2.0], [3.0]])
    with pytest.raises(InvalidInput, match="empty"):
        Schedule.of("x", [])
    with pytest.raises(InvalidInput, match="leaves the range"):
        Schedule.of("x", "1:2").rounds("x", 100_000, 1)
    with pytest.raises(InvalidInput, match="different rounds"):
        Schedule.of("x", "1:1.0000001").rounds("x", 10**8, 1)


def test_a_constant_serves_any_number_of_rounds_at_once() -> None:
    assert Schedule.of("x", 0.5).rounds("x", 10**9, 1) == [((0.5,), 10**9)]


def test_numbers_as_people_write_them() -> None:
    assert float(number("1e-5")) == 1e-5
    assert float(number(" 1/3 ")) == 1 / 3
    with pytest.raises(ValueError, match="is no number"):
        number("one")


def test_a_table_of_penalties_over_rounds_is_taken() -> None:
    theorem = PenaltyPerturbation(
        n_records=8000,
        n_nodes=5,
        degree=2,
        loss_weight=1750,
        regularization=1,
        penalty=[[1], [2], [3]],
        noise_rate=1,
        rounds=3,
    )
    assert theorem.claimed().numbers["beta"] > 0
    assert theorem.replace(dual_step=1.5).violations(Scope.CLAIMED) == [
        "penalties must be at least dual_step=1.5; the first is 1"
    ]
