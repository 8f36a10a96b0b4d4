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
from dpcalc.pictures.curves import Curve, Picture, steps
from dpcalc.pictures.drawing import figure_of
from dpcalc.report.theorem_curves import epsilon_over, epsilon_over_delta
from dpcalc.theorems import DPADMM
from dpcalc.theorems.catalogue import privacy_result

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


def plotted(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["plot", *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


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


def test_utility_over_the_budget_has_the_least_certified_noise(tmp_path: Path) -> None:
    table = tmp_path / "utility.csv"
    words = (
        "--n-records 1000 --rounds 100 --gradient-bound 1 --dual-start zero --matrix 1 "
        "--dimension 10 --penalty 1 --step-size 0.1 --smoothness 2 --distance 3 --over epsilon "
        "--from 0.5 --to 2 --points 2 --delta 1e-5"
    )
    files = ["--out", str(tmp_path / "utility.svg"), "--csv", str(table)]
    assert plotted("dp-admm-utility", *words.split(), *files) == 0
    from dpcalc.theorems.catalogue import result

    for row in rows(table):
        noise = dpcalc.noise(
            "dp-admm", epsilon=float(row["epsilon"]), delta=1e-5, n_records=1000, rounds=100,
            gradient_bound=1, dual_start="zero",
        ).value  # fmt: skip
        bound = result("dp-admm-utility").from_parameters(
            {
                "matrix": 1, "dimension": 10, "penalty": 1, "step_size": 0.1, "smoothness": 2,
                "distance": 3, "rounds": 100, "dual_start": "zero", "sigma": noise, "gradient_bound": 1,
            }
        )  # fmt: skip
        certified: float = bound.certified().value  # type: ignore[attr-defined] # a utility result
        assert float(row["certified"]) == pytest.approx(certified, rel=1e-9)


@pytest.mark.parametrize("key", ["recycled-admm-convergence", "dual-averaging-utility"])
def test_the_help_of_a_utility_result_has_an_example_that_runs(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert plotted(key, "--help") == 0
    _, _, example = capsys.readouterr().out.partition("Example:\n")
    words = example.partition("\n\n")[0].replace("\\\n", " ").split()
    assert words[:3] == ["dpcalc", "plot", key]
    assert plotted(*words[2:], "--points", "3") == 0
    assert (tmp_path / "bound.svg").exists()


def recorded(path: Path, method: str, epsilon: float, errors: list[float], **more: object) -> Path:
    data = {"source": "mine", "train": 80, "test": 20}
    run = {
        "verb": "run",
        "algorithm": method,
        "data": data,
        "utility": {"test_error": errors, "test_error_of_a_constant": [0.5]},
        "budget": {"epsilon": epsilon, "delta": 1e-6},
        "certified": {"epsilon": epsilon},
        "theorem": "dp-admm",
        "release": "every iterate",
        "adjacency": "replace-one",
    }
    path.write_text(json.dumps(run | more))
    return path


def test_trainings_stand_over_what_they_spent(tmp_path: Path) -> None:
    files = [
        recorded(tmp_path / "a.json", "one", 1.0, [0.1, 0.3]),
        recorded(tmp_path / "b.json", "one", 2.0, [0.1, 0.2]),
        recorded(tmp_path / "c.json", "one", 2.0, [0.3]),
        recorded(tmp_path / "d.json", "none", 2.0, [0.05], budget=None,
                 certified={"epsilon": "inf"}, adjacency=None),
    ]  # fmt: skip
    table = tmp_path / "error.csv"
    ends = ["--out", str(tmp_path / "error.svg"), "--csv", str(table)]
    assert plotted("runs", *map(str, files), *ends, "--json") == 0
    first, second = rows(table)
    assert [float(first[k]) for k in ("epsilon", "one", "one lowest", "one highest")] == (
        pytest.approx([1, 0.2, 0.1, 0.3])
    )
    assert [float(second[k]) for k in ("epsilon", "one", "one lowest", "one highest")] == (
        pytest.approx([2, 0.2, 0.1, 0.3])
    )
    assert float(second["none without noise"]) == 0.05
    assert float(second["the best constant answer"]) == 0.5


@pytest.mark.parametrize(
    "other",
    [
        {"budget": {"epsilon": 1.0, "delta": 1e-5}},
        {"adjacency": "add-remove"},
        {"data": {"source": "mine", "train": 81, "test": 20}},
    ],
)
def test_trainings_that_do_not_compare_are_refused(
    other: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = recorded(tmp_path / "a.json", "one", 1.0, [0.1])
    two = recorded(tmp_path / "b.json", "one", 2.0, [0.1], **other)
    assert plotted("runs", str(one), str(two), "--out", str(tmp_path / "x.svg")) == 2
    assert "runs with the same" in capsys.readouterr().err
    assert not (tmp_path / "x.svg").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("gaussian --noise-multiplier 1 --over noise-multiplier --from 1 --to 2 --delta 1e-5",
         "leave it out"),
        ("gaussian --noise-multiplier 1 --over rounds --from 1 --to 2", "--delta is needed"),
        ("gaussian --noise-multiplier 1 --over colour --from 1 --to 2", "a field of gaussian"),
        ("gaussian --noise-multiplier 1 --rounds 2 --over epsilon --delta 1e-5", "left open"),
        ("profile --over delta", "unknown theorem or mechanism"),
        ("m-admm-rate --over delta", "is a number"),
        ("dp-admm-utility --over epsilon --sigma 1", "follows from the budget"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_of_the_rest_is_refused(
    words: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.svg"
    if "utility" in words:
        words += " --n-records 9 --rounds 9 --gradient-bound 1 --matrix 1 --penalty 1 --step-size 1"
        words += " --smoothness 1 --distance 1"
    assert plotted(*words.split(), "--out", str(out)) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_places_without_a_point_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "exponential-norm --scale-multiplier 4 --over dimension --from 0 --to 2 --points 3"
    assert plotted(*words.split(), "--delta", "1e-5", "--out", str(tmp_path / "x.svg")) == 0
    assert "1 place has no point: exponential-norm: dimension needs" in capsys.readouterr().out


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


def test_what_is_drawn_as_attained_is_attained() -> None:
    """A picture's enclosures are wide; an upper end would stand above what anything leaks."""
    kind = privacy_result("private-dual-averaging")
    instance = kind.from_parameters(kind.example)
    (point,) = {c.name: c for c in epsilon_over_delta(instance, [1e-6]).curves}["attained"].points
    exact = instance.attained()
    assert exact is not None
    assert 0.99 * exact.guarantee.epsilon(1e-6) < point[1] <= exact.guarantee.epsilon(1e-6)


def test_a_narrow_picture_keeps_its_letters_and_all_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = ["--rounds", "100", "--sigma", "0.01", "--points", "3"]
    found = tmp_path / "narrow.png"
    assert run(*ends, "--width", "3.3", "--out", str(found)) == 0
    assert int.from_bytes(found.read_bytes()[16:20], "big") == int(3.3 * 160)  # the PNG's own width
    assert run(*ends, "--width", "1", "--out", str(found)) == 2
    assert "--width needs a number of 2 or more; got 1" in capsys.readouterr().err
    line = Curve("certified", ((1.0, 1e-4), (1000.0, 1.0)))
    words = "a setting that goes on " * 20
    wide, narrow = (
        figure_of(Picture("rounds", "epsilon", (line,)), title=words, setting=words, width=width)
        for width in (7.0, 3.3)
    )
    for figure in (wide, narrow):
        axes = figure.axes[0]
        figure.draw_without_rendering()
        assert " ".join(figure.get_supxlabel().split()) == words.strip()
        assert axes.title.get_fontsize() == 10
        for text in (axes.title, figure._supxlabel):  # type: ignore[attr-defined]  # the text itself
            box = text.get_window_extent()
            assert -1 <= box.x0 <= box.x1 <= figure.bbox.width + 1
        assert axes.bbox.height > 0.3 * axes.bbox.width
