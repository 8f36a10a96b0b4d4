"""Sweeps: grids of settings, answers that neighbours share, tables."""

from __future__ import annotations

import csv
import itertools
import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcalc import compose
from dpcalc.accounting.composition.neighbours import neighbouring
from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.guarantees.mechanisms import gaussian_without_replacement
from dpcalc.store import open_store
from dpcalc.sweep.accounted import line, shared_axis
from dpcalc.sweep.carry_out import rows_of
from dpcalc.sweep.grid import read_sweep
from dpcalc.sweep.lines import _share, answered
from dpcalc.theorems.catalogue import privacy_result

DP_ADMM = """
theorem = "dp-admm"
delta = 1e-6
attest = "all"
tolerance = 0.2
[parameters]
n_records = 32561
gradient_bound = 1
dual_start = "zero"
rounds = [10, 20]
sigma = {from = 0.001, to = 0.002, count = 40, scale = "log"}
"""
RATES = """
theorem = "penalty-perturbation"
attest = "all"
tolerance = 0.2
[parameters]
n_records = 100
n_nodes = 2
degree = 1
loss_weight = 1
regularization = 1
penalty = 1
rounds = 3
noise_rate = {from = 2, to = 1, count = 30}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sweep_of(text: str, here: Path) -> Any:
    file = here / "grid.toml"
    file.write_text(text, encoding="utf-8")
    return read_sweep(file)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["sweep", *words])
    return int(stopped.value.code or 0)


# ---- grids


def test_lists_and_ranges_are_axes_and_the_last_varies_fastest(here: Path) -> None:
    sweep = sweep_of(DP_ADMM, here)
    assert list(sweep.axes) == ["rounds", "sigma"]
    assert sweep.count == 80
    points = sweep.points()
    assert (points[0]["rounds"], float(points[0]["sigma"])) == (10, 0.001)
    assert (points[39]["rounds"], float(points[39]["sigma"])) == (10, 0.002)
    assert points[40]["rounds"] == 20
    ratios = {round(b["sigma"] / a["sigma"], 12) for a, b in itertools.pairwise(points[:40])}
    assert len(ratios) == 1
    assert float(sweep.fixed["delta"]) == 1e-6


@pytest.mark.parametrize(
    ("line_", "text"),
    [
        ("rounds = []", "at least one value; got an empty list"),
        ("rounds = [1, 1]", "different values of rounds"),
        ("rounds = {from = 1, to = 2}", "needs the field 'count'"),
        ("rounds = {from = 1, to = 1, count = 3}", "two different finite ends"),
        ('rounds = {from = 0, to = 1, count = 3, scale = "log"}', "ends above 0"),
        ('rounds = {from = 1, to = 2, count = 3, scale = "cubic"}', '"linear" or "log"'),
        ("rounds = {from = 1, to = 2, count = 1}", "count"),
        ("rounds = {from = 1, to = 2, count = 10_000_000}", "at most 1,000,000 places"),
        ("rounds = {from = 1, to = 2, steps = 3}", "unknown field 'steps'"),
        ("rounds = {from = 1, to = 2, count = 2, whole = 1}", "whole needs true or false; got 1"),
        ("rounds = {from = 1, to = 2.5, count = 2, whole = true}", "needs whole ends .* 2.5"),
        ("delta = 1", "delta is needed once"),
    ],
)
def test_what_is_no_axis_is_refused(line_: str, text: str, here: Path) -> None:
    with pytest.raises(InvalidInput, match=text):
        sweep_of(f'theorem = "dp-admm"\ndelta = 1e-6\n[parameters]\n{line_}\n', here)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("delta = 1", "exactly one of theorem, mechanism, audit, run"),
        ('theorem = "a"\nmechanism = "b"', "got theorem, mechanism"),
        ('theorem = "dp-admm"\ntolerance = 0', "tolerance needs a number from 1e-9 to 1"),
        ('theorem = "dp-admm"\ntolerence = 0.1', "did you mean 'tolerance'"),
        ('audit = "dp-admm"\ntolerance = 0.1', "asks about an audit; leave tolerance out"),
        ('run = "dp-admm"\ntolerance = 0.1', "asks about a run; leave tolerance out"),
    ],
)
def test_a_file_that_asks_nothing_is_refused(text: str, said: str, here: Path) -> None:
    with pytest.raises(InvalidInput, match=said):
        sweep_of(text, here)


@pytest.mark.parametrize(("rounds", "said"), [('"ten"', "rounds needs"), ("0", "1 or above")])
def test_what_is_said_of_rounds_calls_them_so(rounds: str, said: str, here: Path) -> None:
    sweep = sweep_of(
        'mechanism = "gaussian"\ndelta = 1e-6\n[parameters]\nadjacency = "add-remove"\n'
        f"noise_multiplier = 20\nrounds = [{rounds}, 3]",
        here,
    )
    refused, answered_ = line(sweep, None, sweep.points())
    assert said in refused["refused"]
    assert "count" not in refused["refused"]
    assert answered_["certified"] > 0


def test_whole_numbers_stay_whole_in_a_linear_range(here: Path) -> None:
    """600 + 59,400·k/99 is no whole number among the doubles for some k."""
    sweep = sweep_of(
        'theorem = "dp-admm"\n[parameters]\nrounds = {from = 600, to = 60000, count = 100}', here
    )
    assert sweep.axes["rounds"] == tuple(600.0 * k for k in range(1, 101))


# ---- what neighbours share


def test_rounds_share_what_is_computed_of_one_law(here: Path) -> None:
    """With the answers of lines of one question, asked for the sweep's width."""
    text = """
theorem = "private-dual-averaging"
delta = 0.0009765625
attest = "all"
[parameters]
n_records = 10
lipschitz = 1
sampling = "one"
sigma = [4, 5, 6]
rounds = [20, 30, 48]
"""
    assert shared_axis(sweep_of(text, here)) == "rounds"
    sweep = sweep_of(text.replace("[4, 5, 6]", "4"), here)
    assert shared_axis(sweep) == "rounds"
    for row in rows_of(sweep):
        theorem = privacy_result("private-dual-averaging").from_parameters(
            {
                "n_records": 10,
                "lipschitz": 1,
                "sampling": "one",
                "sigma": 4,
                "rounds": row["rounds"],
            }
        )
        rounds = theorem.certified().guarantee
        with neighbouring(), with_relative_width(sweep.tolerance / 2):
            assert row["certified"] == rounds.epsilon(2**-10)
        assert row["certified"] == pytest.approx(rounds.epsilon(2**-10), rel=sweep.tolerance)
    dense = text.replace("[4, 5, 6]", "{from = 2, to = 2.001, count = 30}")
    assert shared_axis(sweep_of(dense, here)) == "sigma"
    assert shared_axis(sweep_of(text.replace("[20, 30, 48]", "9"), here)) == "sigma"
    without = """
mechanism = "gaussian-without-replacement"
delta = [1e-4, 1e-3]
[parameters]
noise_multiplier = 4
sample = 1
population = 10
rounds = [20, 30, 48]
"""
    assert shared_axis(sweep_of(without, here)) == "rounds"
    rows = rows_of(sweep_of(without, here))
    with ThreadPoolExecutor(2) as pool:
        assert rows_of(sweep_of(without, here), executor=pool) == rows
    for row in rows:
        one = gaussian_without_replacement(4, 1, 10)
        bracket = compose((one, int(row["rounds"]))).bracket(row["delta"])
        assert bracket.lower <= row["certified"] <= bracket.upper * 1.001


@given(
    st.lists(st.floats(0, 1e6), min_size=0, max_size=200),
    st.floats(0, 1),
    st.lists(st.integers(0, 199), max_size=20),
)
def test_no_answer_lies_below_its_own_bound_nor_far_above(
    values: list[float], tolerance: float, missing: list[int]
) -> None:
    falling = sorted(values, reverse=True)
    asked: list[int] = []

    def bound(place: int) -> float | None:
        asked.append(place)
        return None if place in missing else falling[place]

    found = answered(bound, range(len(falling)), tolerance)
    assert len(asked) == len(set(asked))
    for place, value in enumerate(found):
        if value is None:
            assert place in missing
            assert place in asked
        else:
            assert falling[place] <= value <= falling[place] * (1 + tolerance) + 1e-300


def test_many_settings_cost_what_few_do() -> None:
    asked: list[int] = []

    def bound(place: int) -> float:
        asked.append(place)
        return math.exp(-place / 10_000)

    answered(bound, range(10_000), 0.01)
    assert len(asked) <= 105  # a factor e in steps of 1 %


@given(st.lists(st.floats(0, 1e6), max_size=200), st.floats(1e-9, 1), st.floats(0, 1))
def test_a_stretch_goes_as_far_as_the_lower_end_of_its_last_enclosure_allows(
    values: list[float], tolerance: float, width: float
) -> None:
    exact = sorted(values, reverse=True)
    asked: set[int] = set()

    def bound(place: int) -> float:
        asked.add(place)
        return exact[place] * (1 + width * tolerance)

    def floor(place: int) -> float:
        assert place in asked
        return exact[place]

    found = answered(bound, range(len(exact)), tolerance, floor)
    for place, value in enumerate(found):
        assert value is not None
        assert exact[place] <= value <= exact[place] * (1 + 2 * tolerance) + 1e-300


@pytest.mark.parametrize("text", [DP_ADMM, RATES], ids=["noise", "rate"])
def test_every_setting_gets_an_upper_bound_of_its_own(text: str, here: Path) -> None:
    """With the direction of the noise turned round, about half of these would be below."""
    sweep = sweep_of(text, here)
    kind = privacy_result(sweep.name)
    assert shared_axis(sweep) == kind.noise
    fixed = dict(sweep.fixed)
    delta = fixed.pop("delta", 0.0)
    shared = 0
    for row in rows_of(sweep):
        own = fixed | {name: row[name] for name in sweep.axes}
        exact = kind.from_parameters(own, ["all"]).certified().guarantee.epsilon(delta)
        assert exact * (1 - 1e-9) <= row["certified"] <= exact * (1 + sweep.tolerance)
        shared += row["certified"] > exact * 1.001
    assert shared > 5


def test_a_wide_tolerance_leaves_no_bound_out(here: Path) -> None:
    """By their pairs alone these rounds are a fifth above the answer to the single question."""
    own = {"n_records": 500, "lipschitz": 1, "sigma": 2.5, "sampling": "one", "rounds": 95}
    given = "\n".join(f"{name} = {json.dumps(value)}" for name, value in own.items())
    text = f'theorem = "private-dual-averaging"\ntolerance = 0.1\ndelta = [1e-3]\n[parameters]\n{given}'
    sweep = sweep_of(text, here)
    [row] = line(sweep, None, sweep.points())
    theorem = privacy_result(sweep.name).from_parameters(own, ["all"])
    exact = theorem.certified().guarantee.epsilon(1e-3)
    assert exact * (1 - 1e-9) <= row["certified"] <= exact * (1 + sweep.tolerance)


def test_the_same_rows_on_workers_and_after_an_interruption(here: Path) -> None:
    sweep = sweep_of(DP_ADMM, here)
    alone = rows_of(sweep)
    with ThreadPoolExecutor(3) as executor:
        assert rows_of(sweep, executor=executor) == alone

    class Interrupted(Exception):
        pass

    calls: list[int] = []

    def interrupted(*given_: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise Interrupted
        return line(*given_)

    with pytest.raises(Interrupted), open_store("kept", sweep.plan()) as store:
        rows_of(sweep, answer=interrupted, store=store)
    with open_store("kept", sweep.plan(), resume=True) as store:
        assert rows_of(sweep, answer=interrupted, store=store) == alone
    assert len(calls) == 3


# ---- the command


def test_a_table_of_all_rows(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "grid.toml").write_text(DP_ADMM, encoding="utf-8")
    assert run("grid.toml", "--out", "grid.csv", "--plot", "grid.svg") == 0
    shown = capsys.readouterr().out
    assert "80 settings, the first 20 shown" in shown
    assert "neighbours = replace-one" in shown
    assert all(len(text) <= 80 for text in shown.splitlines())
    with Path("grid.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 80
    assert {"rounds", "sigma", "claimed", "certified", "neighbours", "release"} == set(rows[0])
    assert run("grid.toml", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert [float(row["certified"]) for row in rows] == [row["certified"] for row in record["rows"]]
    assert "<svg" in Path("grid.svg").read_text(encoding="utf-8")


def test_a_parquet_file_holds_the_same(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra scale is not installed")
    text = (
        'mechanism = "gaussian"\ndelta = [1e-6, 0.1]\n[parameters]\nnoise_multiplier = [1, 2.5]\n'
    )
    (here / "grid.toml").write_text(text, encoding="utf-8")
    assert run("grid.toml", "--out", "grid.parquet", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert parquet.read_table("grid.parquet").to_pylist() == rows


def test_settings_that_make_no_sense_keep_their_rows(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "grid.toml").write_text(
        'mechanism = "poisson-subsampled-gaussian"\ndelta = 1e-6\n[parameters]\nrate = [0.01, 2]\n'
        'noise_multiplier = 1\nrounds = 10\nadjacency = "add-remove"\n',
        encoding="utf-8",
    )
    assert run("grid.toml", "--json") == 0
    first, second = json.loads(capsys.readouterr().out)["rows"]
    assert 0 < first["certified"] < 1
    assert "rate" in second["refused"]
    assert "certified" not in second
    (here / "grid.toml").write_text('theorem = "dp-admm"\nseed = [1, 2]\n', encoding="utf-8")
    assert run("grid.toml") == 2
    assert "expected at least one setting that makes sense" in capsys.readouterr().err


def test_audits_and_trainings(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("networkx", reason="the extra algorithms is not installed")
    (here / "audits.toml").write_text(
        'audit = "dp-admm"\ncase = "zero-start"\nruns = [40, 60]\nseed = 1\n', encoding="utf-8"
    )
    assert run("audits.toml", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["runs"] for row in rows] == [40, 60]
    assert all(row["lower"] <= row["certified"] for row in rows)
    (here / "runs.toml").write_text(
        'run = "private-r-admm"\ndelta = 1e-6\nepsilon = [0.5, 4]\nseed = 1\n', encoding="utf-8"
    )
    assert run("runs.toml", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["certified"] <= 0.5 < rows[1]["certified"] <= 4
    assert 0 < rows[1]["test_error"] < 0.5
    (here / "runs.toml").write_text('run = "private-r-admm"\nepsilon = [1, 2]\n', encoding="utf-8")
    assert run("runs.toml") == 2
    assert "needs a seed" in capsys.readouterr().err


def test_outputs_are_tried_before_any_work(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "grid.toml").write_text(DP_ADMM, encoding="utf-8")
    assert run("grid.toml", "--out", "grid.xlsx") == 2
    assert "ending in .csv or .parquet" in capsys.readouterr().err
    assert run("grid.toml", "--out", "nowhere/grid.csv") == 2


@pytest.mark.parametrize("asked", ['theorem = "dp-admm"', 'run = "dp-admm"'])
def test_memory_is_refused_where_nothing_is_bounded_by_it(asked: str, here: Path) -> None:
    with pytest.raises(InvalidInput, match="memory bounds what runs of an audit release"):
        sweep_of(f'{asked}\nmemory = "1GB"\n', here)


def test_a_stretch_that_falls_beyond_the_doubles_has_a_share() -> None:
    assert _share(4.0, 2.3e-308, 4.5e-308) == pytest.approx(0.5, abs=1e-3)
