"""`dpcalc plot`: the numbers of the other verbs, in every format; what cannot be drawn is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import dpcalc
from dpcalc.pictures.curves import Curve, Picture
from dpcalc.pictures.drawing import figure_of
from dpcalc.report.theorem_curves import epsilon_over
from dpcalc.theorems import DPADMM
from tests.unit.pictures_to_draw import SETTING, plotted, rows, run


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
            "--delta above 0 is needed",
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


def test_the_noise_of_a_mechanism_over_the_budget_is_what_calibrate_answers(tmp_path: Path) -> None:
    table = tmp_path / "noise.csv"
    axis = ["--over", "epsilon", "--from", "1", "--to", "4", "--points", "2", "--delta", "1e-5"]
    files = ["--out", str(tmp_path / "noise.svg"), "--csv", str(table)]
    assert plotted("dp-sgd", "--rate", "0.1", "--rounds", "100", *axis, *files) == 0
    for row in rows(table):
        best = dpcalc.calibrate(
            "dp-sgd", epsilon=float(row["epsilon"]), delta=1e-5, rate=0.1, rounds=100
        )
        # Enclosures are 1e-3 wide in ε; the noise answers about as 1/ε, never less than half so.
        assert best.value * (1 - 1e-5) <= float(row["certified"]) <= best.value * 1.003


@pytest.mark.parametrize(
    ("over", "ends", "given"),
    [
        ("rounds", ("1", "9"), ["--noise-multiplier", "2"]),
        ("noise-multiplier", ("1", "4"), ["--rounds", "5"]),
        ("delta", ("1e-9", "1e-3"), ["--noise-multiplier", "2", "--rounds", "5"]),
    ],
)
def test_epsilon_of_a_mechanism_is_that_of_its_composition(
    over: str, ends: tuple[str, str], given: list[str], tmp_path: Path
) -> None:
    table, at = tmp_path / "curve.csv", [] if over == "delta" else ["--delta", "1e-5"]
    axis = ["--over", over, "--from", ends[0], "--to", ends[1], "--points", "3", *at]
    files = ["--out", str(tmp_path / "curve.png"), "--csv", str(table)]
    assert plotted("gaussian", *given, *axis, *files) == 0
    found = rows(table)
    assert len(found) == 3
    for row in found:
        setting = {"noise_multiplier": 2.0, "rounds": 5, "delta": 1e-5}
        setting[over.replace("-", "_")] = float(row[over.replace("-", "_")])
        # n rounds of a Gaussian with noise s are one with s/√n, exactly.
        noise = setting["noise_multiplier"] / float(setting["rounds"]) ** 0.5
        exact = dpcalc.mechanisms.gaussian(noise, "add-remove").epsilon(setting["delta"])
        assert exact * (1 - 1e-12) <= float(row["certified"]) <= exact * 1.001
