"""`dpcalc plot` of utilities, trainings and attacks; places without a point."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dpcalc
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.pictures.curves import Curve, Picture, steps
from dpcalc.pictures.drawing import figure_of
from dpcalc.report.theorem_curves import epsilon_over_delta
from dpcalc.theorems.catalogue import privacy_result
from tests.unit.pictures_to_draw import SETTING, plotted, rows, run


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
        ("gaussian --noise-multiplier 1 --over rounds --from 1 --to 2", "--delta above 0 is needed"),
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
