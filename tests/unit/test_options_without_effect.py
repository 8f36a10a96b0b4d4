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
