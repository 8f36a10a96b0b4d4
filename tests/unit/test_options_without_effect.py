"""An option that would change nothing is refused, with what it goes with."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcalc.cli.main import main

COUNTS = "audit --counts 40 60 50 50 --claim eps=1 --adjacency add-remove"

TRAINING = "run dp-admm --epsilon 1 --delta 1e-6 --rounds 2 --seed 1"


@pytest.mark.parametrize(
    "line",
    [
        "verify | --alpha 0.1",
        "verify | --runs 10",
        "verify | --seed 10",
        "verify --json | --details",
        f"{COUNTS} | --runs 100",
        f"{COUNTS} | --seconds 10",
        f"{COUNTS} | --bugs",
        f"{COUNTS} | --case zero-start",
        f"{COUNTS} | --seed 2",
        f"{COUNTS} | --workers 2",
        f"{COUNTS} | --no-controls",
        f"{COUNTS} | --no-early-stop",
        f"{COUNTS} | --delta 1e-3",
        f"{COUNTS} | --certified",
        f"{COUNTS} | --set a=1",
        "audit | --runs 10",
        "audit --json | --seed 1",
        "audit | --member a",
        "audit dp-admm | --delta 1e-3",
        "audit dp-admm | --adjacency add-remove",
        "audit dp-admm --claim eps=1,delta=1e-5 | --bugs",
        f"{TRAINING} | --runs-at-once 3",
        f"{TRAINING} | --measure-every 2",
        f"{TRAINING} --out HERE/a.json --out HERE/a.npz | --measure-every 2",
        "run r-admm --runs 2 --apart | --runs-at-once 3",
        "run r-admm --apart | --measure-every 2",
    ],
)
def test_it_is_refused(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, option = line.replace("HERE", str(tmp_path)).split(" | ")
    with pytest.raises(SystemExit) as stopped:
        main([*before.split(), *option.split()])
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" or "--json" in before
    assert f"{option.split()[0]} goes with" in err.replace("--controls", "--no-controls").replace(
        "--early-stop", "--no-early-stop"
    )


def test_what_a_verb_sets_itself_is_not_taken_for_the_user(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(COUNTS.split())
    assert stopped.value.code == 3
    assert "Recorded runs" in capsys.readouterr().out


@pytest.mark.parametrize("more", ["--measure-every 0", "--out HERE/a.csv --measure-every 2"])
def test_looks_are_taken_for_a_table_and_left_out_anywhere(
    more: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(f"{TRAINING} {more} --json".replace("HERE", str(tmp_path)).split())
    assert stopped.value.code == 0, capsys.readouterr().err
    for table in tmp_path.iterdir():
        assert [row.split(",")[1] for row in table.read_text().splitlines()] == ["round", "2"]


def test_no_table_of_looks_is_written_that_nobody_took(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["run", "r-admm", "--apart", "--out", str(tmp_path / "a.csv")])
    assert stopped.value.code == 2
    assert "take .json or .npz" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


UTILITY = (
    "rate dp-admm-utility --matrix 1 --dimension 10 --penalty 1 --step-size 0.1 --smoothness 2 "
    "--distance 3 --sigma 0.05 --rounds 1000"
)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--epsilon 1", "the noise needs sigma or a budget; got sigma=0.05 and epsilon=1.0"),
        ("--split 0.3", "the noise needs sigma or a budget; got sigma=0.05 and split=0.3"),
        (
            "--n-records 9 --epsilon 1 --delta 0.1 --gradient-bound 1",
            "sigma=0.05 and n_records=9, epsilon=1.0, delta=0.1; leave out",
        ),
        ("--multiplier-norm 2", "multiplier_norm goes with dual_start zero"),
    ],
)
def test_what_a_published_result_would_not_read_is_refused(
    options: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*UTILITY.split(), *options.split()])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main(UTILITY.split())
    assert stopped.value.code == 0


def test_a_picture_over_the_budget_gives_the_noise_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The records belong to the budget there, and the utility result takes its noise from it."""
    sizes = UTILITY.removeprefix("rate ").replace(" --sigma 0.05", "")
    words = f"plot {sizes} --n-records 99 --gradient-bound 1 --dual-start zero --delta 1e-5"
    line = [*words.split(), *"--over epsilon --points 3 --csv".split(), str(tmp_path / "u.csv")]
    with pytest.raises(SystemExit) as stopped:
        main([*line, "--out", str(tmp_path / "u.svg")])
    assert stopped.value.code == 0, capsys.readouterr().err
    assert len((tmp_path / "u.csv").read_text("utf-8").splitlines()) == 4
