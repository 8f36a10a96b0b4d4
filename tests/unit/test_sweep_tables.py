"""What a sweep's table holds, as those read it who compute with it."""

from __future__ import annotations

import csv
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
