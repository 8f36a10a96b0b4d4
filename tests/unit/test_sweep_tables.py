"""What a sweep's table holds, as those read it who compute with it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dpcalc.cli.main import main


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["sweep", *words])
    return int(stopped.value.code or 0)


def test_numbers_written_as_ratios_are_written_in_full(here: Path) -> None:
    (here / "grid.toml").write_text(
        'mechanism = "gaussian"\ndelta = ["1e-6", "1/60_000"]\n[parameters]\n'
        'noise_multiplier = 4\nadjacency = "add-remove"\n',
        encoding="utf-8",
    )
    assert run("grid.toml", "--out", "grid.csv") == 0
    with Path("grid.csv").open(encoding="utf-8") as file:
        assert [row["delta"] for row in csv.DictReader(file)] == ["1e-06", "1.6666666666666667e-05"]


# ---- trainings on a file

PATIENTS = "age,city,ill\n" + "".join(
    f"{20 + k % 60},{('Bonn', 'Ulm')[k % 2]},{('no', 'yes')[k % 60 > 30]}\n" for k in range(300)
)
TRAINED = """
run = "dp-acc-admm"
delta = 1e-3
epsilon = [1, 8]
seed = 0
[parameters]
data = "patients.csv"
positive = "yes"
"""


def grid(here: Path, text: str) -> str:
    (here / "patients.csv").write_text(PATIENTS, encoding="utf-8")
    (here / "grid.toml").write_text(text, encoding="utf-8")
    return "grid.toml"


def test_trainings_on_a_file_are_those_of_run_with_the_same_schema(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = 'age = [18, 90]\ncity = ["Bonn", "Ulm"]\n'
    (here / "facts.toml").write_text(facts, encoding="utf-8")
    assert run(grid(here, TRAINED + 'schema = "facts.toml"\n'), "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    words = "--data patients.csv --schema facts.toml --positive yes --delta 1e-3 --seed 0 --json"
    for row in rows:
        with pytest.raises(SystemExit):
            main(["run", "dp-acc-admm", "--epsilon", str(row["epsilon"]), *words.split()])
        alone = json.loads(capsys.readouterr().out)
        assert row["certified"] == alone["certified"]["epsilon"]
        assert row["test_error"] == alone["utility"]["test_error"][0]
    (here / "facts.toml").write_text(facts.replace("18", "0"), encoding="utf-8")
    assert run("grid.toml", "--json") == 0
    changed = json.loads(capsys.readouterr().out)["rows"]
    assert changed[0]["train_loss"] != rows[0]["train_loss"]


def test_what_a_training_does_not_know_is_refused_before_data_are_read(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(grid(here, TRAINED + 'scheme = "facts.toml"\n')) == 2
    said = capsys.readouterr().err
    assert "unknown parameter of a sweep of dp-acc-admm 'scheme'; did you mean 'schema'?" in said
    assert run(grid(here, TRAINED)) == 2
    assert 'a sweep takes schema = "FILE" in [parameters]' in capsys.readouterr().err
    assert run(grid(here, TRAINED + 'schema = "nofile.toml"\n')) == 2
    assert "there is no 'nofile.toml'" in capsys.readouterr().err
    assert run(grid(here, TRAINED + "row_bound = -1\n")) == 2
    assert "row_bound" in capsys.readouterr().err


def test_data_above_the_parameters_are_told_where_they_belong(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    misplaced = TRAINED.replace("[parameters]\n", "")
    assert run(grid(here, misplaced)) == 2
    said = capsys.readouterr().err
    assert "grid.toml: data stands in [parameters]; got it above; move it there" in said


def test_a_checkpoint_of_trainings_knows_what_its_files_held(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "facts.toml").write_text('age = [18, 90]\ncity = ["Bonn", "Ulm"]\n', encoding="utf-8")
    file = grid(here, TRAINED + 'schema = "facts.toml"\n')
    assert run(file, "--checkpoint", "kept") == 0
    assert run(file, "--checkpoint", "kept", "--resume") == 0
    capsys.readouterr()
    (here / "facts.toml").write_text('age = [0, 90]\ncity = ["Bonn", "Ulm"]\n', encoding="utf-8")
    assert run(file, "--checkpoint", "kept", "--resume") == 2
    assert "files" in capsys.readouterr().err
