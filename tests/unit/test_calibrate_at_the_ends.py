"""Calibration where nothing can be solved for, or where the search ends before the budget does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpcalc.cli.main import main

GAUSSIAN = "calibrate gaussian --delta 1e-5"


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(line: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(line.split())
        seen = capsys.readouterr()
        return int(stopped.value.code or 0), " ".join(seen.out.split()), seen.err

    return call


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("poisson-subsampled-gaussian --sample 256 --noise-multiplier 1", "--population"),
        (
            "poisson-subsampled-gaussian --sample 256 --noise-multiplier 1 --rounds 9",
            "--population",
        ),
        ("gaussian-without-replacement --sample 256 --noise-multiplier 1", "--population"),
        ("exponential-norm --scale-multiplier 3 --rounds 10", "--dimension"),
        ("exponential-norm --rounds 10", "--dimension"),
    ],
)
def test_a_field_that_nobody_solves_for_is_asked_for(answer: Any, line: str, said: str) -> None:
    status, out, err = answer(f"calibrate {line} --epsilon 1 --delta 1e-5")
    assert (status, out) == (2, "")
    assert f"needs {said}" in err


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (f"{GAUSSIAN} --epsilon 1e4", 0.02),  # 0.01 spends ε of about 5,400
        (f"{GAUSSIAN} --epsilon 1 --noise-multiplier 1e8", 1e9),  # 1e10 rounds meet it too
    ],
)
def test_the_end_of_the_search_is_not_called_the_best(answer: Any, line: str, value: float) -> None:
    status, out, _ = answer(line)
    assert status == 0
    assert "est that is certified" not in out
    assert "the search ends here" in out
    found = json.loads(answer(line + " --json")[1])
    assert (found["value"], found["at_limit"]) == (value, True)


@pytest.mark.parametrize(
    "line",
    [
        f"{GAUSSIAN} --epsilon 1",
        "calibrate poisson-subsampled-gaussian --noise-multiplier 9 --epsilon 1 --delta 1e-5",
    ],
)
def test_a_solution_is_the_best_where_no_better_one_makes_sense(answer: Any, line: str) -> None:
    assert "est that is certified" in answer(line)[1]
    assert json.loads(answer(line + " --json")[1])["at_limit"] is False


def test_a_budget_that_is_out_of_reach_names_the_range_that_was_searched(answer: Any) -> None:
    status, _, err = answer("calibrate gaussian --epsilon 1e-9 --delta 1e-12")
    assert status == 2
    assert "(1e-9, 1e-12) with noise multiplier in [0.02, 1e6]" in err
