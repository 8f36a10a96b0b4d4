"""`dpcalc plot`: the numbers of the other verbs, in every format; what cannot be drawn is refused."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

import dpcalc
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.report.curve_picture import figure_of
from dpcalc.report.curves import Curve, Picture, epsilon_over, steps
from dpcalc.theorems import DPADMM

COMMON = ["--n-records", "32561", "--gradient-bound", "1", "--dual-start", "zero"]
SETTING = {"n_records": 32561, "gradient_bound": 1, "dual_start": "zero"}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["plot", "dp-admm", *COMMON, *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_epsilon_over_rounds_is_what_epsilon_answers(tmp_path: Path) -> None:
    picture, table = tmp_path / "rounds.svg", tmp_path / "rounds.csv"
    ends = ["--over", "rounds", "--from", "1", "--to", "100", "--points", "5", "--delta", "1e-5"]
    assert run("--sigma", "0.01", *ends, "--out", str(picture), "--csv", str(table)) == 0
    found = rows(table)
    assert [row["rounds"] for row in found] == ["1.0", "3.0", "10.0", "32.0", "100.0"]
    for row in found:
        answer = dpcalc.epsilon(
            "dp-admm", delta=1e-5, rounds=int(float(row["rounds"])), sigma=0.01, **SETTING
        )
        # On the command line 0.01 is the decimal, which is within 2^-53 of the double; ε moves by
        # at most twice as much, and every number is rounded once.
        for kind in ("claimed", "certified", "attained"):
            assert float(row[kind]) == pytest.approx(getattr(answer, kind), rel=2**-50)
    assert "<svg" in picture.read_text()


def test_noise_over_the_budget_is_what_noise_answers(tmp_path: Path) -> None:
    table = tmp_path / "noise.csv"
    ends = ["--over", "epsilon", "--from", "0.5", "--to", "2", "--points", "2", "--delta", "1e-5"]
    page = tmp_path / "noise.html"
    assert run("--rounds", "100", *ends, "--out", str(page), "--csv", str(table)) == 0
    for row in rows(table):
        answer = dpcalc.noise(
            "dp-admm", epsilon=float(row["epsilon"]), delta=1e-5, rounds=100, **SETTING
        )
        assert float(row["certified"]) == pytest.approx(answer.value, rel=1e-11)
        assert answer.prescribed is not None
        assert float(row["prescribed"]) == answer.prescribed.noise_level()
    text = page.read_text()
    assert text.count("<tr>") == 3
    assert "<svg" in text
    assert not re.search(r"(src|href)=\"?http", text)


@pytest.mark.parametrize("name", ["claim.png", "claim.pdf", "claim.svg", "claim.html"])
def test_every_format_is_written(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    options = ["--sigma", "0.01", "--rounds", "10", "--points", "3", "--delta", "1e-5", "--json"]
    assert run(*options, "--out", str(path)) == 0
    start = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml", "html": b"<!doctype html>"}
    assert path.read_bytes().startswith(start[path.suffix[1:]])
    record = json.loads(capsys.readouterr().out)
    assert set(record["curves"]) == {"claimed", "certified", "attained"}
    for said in ("n records = 32561", "replace-one", "release: every iterate", dpcalc.__version__):
        assert said in record["setting"]


def test_lines_that_coincide_say_so() -> None:
    line = ((0.1, 1.0), (0.2, 2.0))
    other = tuple((x, y * 1.001) for x, y in line)
    apart = tuple((x, y * 1.01) for x, y in line)
    for third, labels in (
        (other, ["claimed = certified = attained"]),
        (apart, ["claimed = certified", "attained"]),
    ):
        curves = Curve("claimed", line), Curve("certified", line), Curve("attained", third)
        figure = figure_of(Picture("delta", "epsilon", curves), title="t", setting="s")
        (axes,) = figure.axes
        assert axes.get_legend_handles_labels()[1] == labels


def test_a_value_that_a_theorem_refuses_is_left_out() -> None:
    instance = DPADMM(rounds=10, sigma=0.01, n_records=100, gradient_bound=1, dual_start="zero")
    picture = epsilon_over(instance, "split", [0.0, 0.5, 1.0], 1e-5)
    assert [x for x, _ in picture.curves[0].points] == [0.5]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rounds", "10", "--sigma", "1", "--out", "x.xyz"], "--out needs a name ending in"),
        (["--rounds", "10", "--out", "x.png", "--over", "adjacency"], "is a number"),
        (["--sigma", "1", "--out", "x.png", "--over", "rounds"], "needs --from and --to"),
        (
            ["--sigma", "1", "--out", "x.png", "--over", "rounds", "--from", "9", "--to", "1"],
            "--from needs to be below --to",
        ),
        (
            [*"--rounds 9 --sigma 1 --over rounds --from 1 --to 9 --out x.png".split()],
            "leave it out",
        ),
        (
            ["--sigma", "1", "--over", "rounds", "--from", "1", "--to", "9", "--out", "x.png"],
            "--delta is needed",
        ),
        (["--rounds", "9", "--sigma", "1", "--from", "0", "--out", "x.png"], "in \\(0, 1\\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*options) == 2
    assert re.search(said, capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


def test_places_of_an_axis() -> None:
    assert steps(1, 4, 3) == pytest.approx([1, 2, 4])
    assert steps(0, 4, 3) == [0, 2, 4]
    assert steps(1, 3, 40, whole=True) == [1, 2, 3]
    with pytest.raises(InvalidInput, match="points"):
        steps(1, 2, 1)


CLAIM = """[[claim]]
name = "ten rounds"
theorem = "dp-admm"
epsilon = 5
delta = 1e-5
[claim.parameters]
n_records = 50
gradient_bound = 1
rounds = {rounds}
sigma = 0.1
dual_start = "zero"
"""
SMALL = "--n-records 50 --gradient-bound 1 --dual-start zero --sigma 0.1 --points 4".split()


def test_attacks_on_the_same_setting_are_points(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claims, answer, table = (tmp_path / name for name in ("c.toml", "audit.json", "plot.csv"))
    claims.write_text(CLAIM.format(rounds=10))
    with pytest.raises(SystemExit):
        main(["verify", str(claims), "--audit", "--runs", "200", "--seed", "1", "--json"])
    answer.write_text(capsys.readouterr().out)
    attack = json.loads(answer.read_text())["claims"][0]["audit"]["attack"]["epsilon"]
    files = ["--attacked", str(answer), "--csv", str(table), "--out", str(tmp_path / "p.svg")]
    over = ["--over", "rounds", "--from", "1", "--to", "100"]
    with pytest.raises(SystemExit) as ended:
        main(["plot", "dp-admm", *SMALL, *over, "--delta", "1e-5", *files])
    assert not ended.value.code
    (point,) = [row for row in rows(table) if row["attacked"]]
    assert (float(point["rounds"]), float(point["attacked"])) == (10, attack)
    for other in (["--delta", "1e-6"], ["--delta", "1e-5", "--split", "0.4"]):
        with pytest.raises(SystemExit) as ended:
            main(["plot", "dp-admm", *SMALL, *over, *other, *files])
        assert ended.value.code == 2
        assert "has to be the same" in capsys.readouterr().err


def test_only_the_answer_of_verify_is_taken_for_attacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("{}", "[1]", "no JSON", '{"verb": "audit", "results": []}'):
        (tmp_path / "x.json").write_text(text)
        files = ["--attacked", str(tmp_path / "x.json"), "--out", str(tmp_path / "p.svg")]
        with pytest.raises(SystemExit) as ended:
            main(["plot", "dp-admm", *SMALL, "--rounds", "3", *files])
        assert ended.value.code == 2
        assert "verify" in capsys.readouterr().err


def test_an_answer_draws_itself() -> None:
    found = dpcalc.epsilon("dp-admm", delta=1e-5, rounds=10, sigma=0.01, **SETTING)
    axes = found.plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("δ", "ε")
    assert {line.get_label() for line in axes.lines} >= {"claimed"}
