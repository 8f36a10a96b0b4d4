"""A setting to draw, and the numbers of a picture."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from dpcalc.cli.main import main

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


def plotted(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["plot", *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code
