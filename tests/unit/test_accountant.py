"""The online accountant and calibration of mechanisms."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcalc.accountant import Accountant
from dpcalc.claims.solution import MOST_ROUNDS
from dpcalc.claims.solve import solve
from dpcalc.cli.main import main
from dpcalc.errors import Infeasible, InvalidInput
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, PrivacyProfile, PureDP

STEP = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": 1.1, "rate": 0.01}


def test_spending_returns_another_accountant_and_adds_up() -> None:
    empty = Accountant(8.0, 1e-6)
    one_by_one = empty
    for _ in range(30):
        one_by_one = one_by_one.spend(STEP)
    at_once = empty.spend(STEP, 30)
    assert one_by_one == at_once
    assert empty.rounds == 0
    assert empty.epsilon_spent() == 0.0
    assert empty.epsilon_left() == 8.0
    assert at_once.epsilon_left() == 8.0 - at_once.epsilon_spent()
    assert at_once.within_budget()


def test_rounds_left_is_the_last_number_that_fits() -> None:
    spent = Accountant(2.0, 1e-6).spend(PureDP(0.2), 3)
    left = spent.rounds_left(STEP)
    assert spent.spend(STEP, left).within_budget()
    assert not spent.spend(STEP, left + 1).within_budget()
    assert Accountant(1.0).rounds_left(PureDP(0.3)) == 3
    assert Accountant(0.1, 1e-9).rounds_left(GDP(5.0)) == 0
    assert Accountant(1.0, 1e-9).rounds_left(PureDP(0.0)) == MOST_ROUNDS
    assert Accountant().rounds_left(PureDP(1.0)) == MOST_ROUNDS


RELEASES = st.one_of(
    st.floats(0, 5).map(PureDP),
    st.floats(0, 3).map(GDP),
    st.floats(0, 3).map(ZCDP),
    st.tuples(st.floats(0, 2), st.floats(0, 1e-3)).map(lambda v: ApproxDP(*v)),
    st.floats(0.01, 2).map(lambda b: RDP.from_points({2.0: b, 9.5: 2 * b})),
    st.floats(0.3, 9).map(lambda s: {"mechanism": "laplace", "scale_over_sensitivity": s}),
    st.just({"mechanism": "exponential-norm", "scale_over_sensitivity": 3.3, "dimension": 4}),
    st.just({"mechanism": "profile", "points": [[1.0, 1e-7], [0.2, 0.01]]}),
    st.just({**STEP, "adjacency": "replace-one"}),
)


@given(st.lists(st.tuples(RELEASES, st.integers(0, 10**9)), max_size=5), st.floats(0, 0.5))
def test_saving_and_loading_loses_nothing(releases: list[tuple[Any, int]], delta: float) -> None:
    accountant = Accountant(1 / 3, delta)
    for release, count in releases:
        accountant = accountant.spend(release, count)
    again = Accountant.from_json(accountant.to_json())
    assert again.to_json() == accountant.to_json()
    assert [(s.kind, s.count) for s in again.releases] == [
        (s.kind, s.count) for s in accountant.releases
    ]
    assert (again.epsilon, again.delta) == (accountant.epsilon, accountant.delta)


def test_a_loaded_accountant_gives_the_same_number() -> None:
    spent = Accountant(3.0, 1e-6).spend(STEP, 500).spend(ZCDP(0.01))
    assert Accountant.from_json(spent.to_json()).epsilon_spent() == spent.epsilon_spent()
    assert Accountant.from_json(Accountant().to_json()).epsilon == math.inf


@pytest.mark.parametrize(
    "make",
    [
        lambda: Accountant(-1.0),
        lambda: Accountant(math.nan),
        lambda: Accountant(1.0, 1.0),
        lambda: Accountant().spend(STEP, -1),
        lambda: Accountant().spend({**STEP, "count": 3}),
        lambda: Accountant().spend({**STEP, "rate": 2}),
        lambda: Accountant().spend(STEP).spend({**STEP, "adjacency": "replace-one"}),
        lambda: Accountant().spend(PrivacyProfile(lambda e: 0.0)),
        lambda: Accountant.from_json("{}"),
        lambda: Accountant.from_json("nonsense"),
        lambda: Accountant.from_json('{"format": "dpcalc accountant", "version": 99}'),
        lambda: solve({**STEP}, 5, 1.0, 1e-5),
        lambda: solve({"mechanism": "poisson-subsampled-gaussian"}, None, 1.0, 1e-5),
        lambda: solve({"mechanism": "gausian"}, 5, 1.0, 1e-5),
        lambda: solve({"mechanism": "gaussian"}, 5, 0.0, 1e-5),
    ],
)
def test_nonsense_is_refused(make: Any) -> None:
    with pytest.raises(InvalidInput):
        make()


# ------------------------------------------------------------------ calibration


@given(st.floats(0.05, 20), st.floats(-20, -1).map(lambda x: 10.0**x), st.integers(1, 10**6))
@settings(max_examples=10)
def test_gaussian_noise_is_the_exact_calibration(epsilon: float, delta: float, rounds: int) -> None:
    found = solve({"mechanism": "gaussian"}, rounds, epsilon, delta)
    assert found.guarantee.epsilon(delta) <= epsilon
    less = GDP(math.sqrt(rounds) / (found.value * (1 - 1e-9)))
    assert less.epsilon(delta) > epsilon or found.value == 0.02


CASES = [
    ({"mechanism": "poisson-subsampled-gaussian", "rate": 0.01}, 1000, "noise_multiplier", 1),
    ({"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": 2.0}, 1000, "rate", -1),
    ({"mechanism": "exponential-norm", "dimension": 5}, 20, "scale_multiplier", 1),
    ({"mechanism": "randomised-response"}, 100, "epsilon", -1),
]


@pytest.mark.parametrize(("table", "rounds", "field", "sign"), CASES)
def test_the_open_real_field_is_on_the_safe_side_of_the_root(
    table: dict[str, Any], rounds: int, field: str, sign: int
) -> None:
    found = solve(table, rounds, 2.0, 1e-5)
    assert found.field == field
    assert found.guarantee.epsilon(1e-5) <= 2.0
    beyond = {**table, field: found.value * (1 - sign * 1e-4)}
    assert Accountant(2.0, 1e-5).spend(beyond, rounds).epsilon_spent() > 2.0


def test_batch_sizes_and_rounds_are_whole_numbers_next_to_one_that_fails() -> None:
    for mechanism in ("poisson-subsampled-gaussian", "gaussian-without-replacement"):
        table = {"mechanism": mechanism, "population": 500, "noise_multiplier": 5.0}
        found = solve(table, 300, 1.0, 1e-5)
        assert found.field == "sample"
        over = {**table, "sample": found.value + 1}
        assert found.guarantee.epsilon(1e-5) <= 1.0
        assert Accountant(1.0, 1e-5).spend(over, 300).epsilon_spent() > 1.0
    rounds = solve(STEP, None, 1.0, 1e-5)
    assert rounds.guarantee.epsilon(1e-5) <= 1.0
    assert Accountant(1.0, 1e-5).spend(STEP, rounds.rounds + 1).epsilon_spent() > 1.0


def test_an_impossible_budget_says_so() -> None:
    with pytest.raises(Infeasible, match="larger epsilon"):
        solve({"mechanism": "gaussian"}, 10**9, 1e-9, 1e-300)
    with pytest.raises(Infeasible):
        solve({**STEP, "noise_multiplier": 0.1}, None, 0.01, 1e-9)


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    line = "calibrate poisson-subsampled-gaussian --rate 0.01 --rounds 1e3 --epsilon 2 --delta 1e-5"
    with pytest.raises(SystemExit) as stopped:
        main([*line.split(), "--json"])
    assert not stopped.value.code
    record = json.loads(capsys.readouterr().out)
    assert record["solved_for"] == "noise_multiplier"
    spent = record["certified"]
    assert spent["epsilon_lower"] <= spent["epsilon"] <= 2.0
    with pytest.raises(SystemExit) as stopped:
        main(line.split())
    assert "smallest" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main("calibrate profile --epsilon 1".split())
    assert stopped.value.code == 2
    assert "solved for" in capsys.readouterr().err


def test_tables_and_pictures(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    table, picture = tmp_path / "rounds.csv", tmp_path / "profile.png"
    table.write_text("mechanism, noise_multiplier, count\ngaussian, 20, 30\ngaussian, 25, 10\n")
    pytest.importorskip("matplotlib")
    with pytest.raises(SystemExit) as stopped:
        main(["compose", str(table), "--delta", "1e-6", "--plot", str(picture), "--json"])
    assert not stopped.value.code
    record = json.loads(capsys.readouterr().out)
    assert record["releases"] == 40
    exact = GDP(math.sqrt(30 / 400 + 10 / 625)).epsilon(1e-6)
    assert record["certified"]["epsilon"] == pytest.approx(exact)
    assert picture.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit) as stopped:
        main(["compose", str(table), "--delta", "1e-6", "--plot", str(tmp_path / "a.nonsense")])
    assert stopped.value.code == 2
    assert "--plot needs a name" in capsys.readouterr().err


def test_one_round_is_told_in_the_singular() -> None:
    accountant = Accountant(epsilon=1, delta=1e-6)
    assert repr(accountant.spend(GDP(0.1))).endswith("spent: 1 round of 1 kind)")
    assert repr(accountant.spend(GDP(0.1), 2)).endswith("spent: 2 rounds of 1 kind)")
