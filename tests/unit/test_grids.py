"""What the marker ``few`` keeps of a grid, and that nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.grids import spread

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("count", "kept", "places"),
    [(5, 3, [0, 2, 4]), (10, 2, [0, 9]), (7, 1, [0]), (3, 3, [0, 1, 2]), (2, 9, [0, 1])],
)
def test_places_are_spread_over_the_grid(count: int, kept: int, places: list[int]) -> None:
    assert spread(count, kept) == places


@pytest.mark.parametrize("kept", range(1, 40))
def test_as_many_are_kept_as_are_asked_for(kept: int) -> None:
    assert len(set(spread(40, kept))) == kept


def test_every_case_is_run_every_time_or_in_a_campaign(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tests.conftest import pytest_collection_modifyitems\n", encoding="utf-8"
    )
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\npythonpath = {ROOT}\nmarkers =\n    campaign\n    few\n", encoding="utf-8"
    )
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.few(2)\n"
        "@pytest.mark.parametrize('n', range(5))\n"
        "def test_grid(n): pass\n"
        "@pytest.mark.parametrize('n', range(3))\n"
        "def test_whole(n): pass\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    found = [
        subprocess.run(
            [*command, "-m", chosen], capture_output=True, text=True, cwd=tmp_path, check=False
        ).stdout
        for chosen in ("not campaign", "campaign")
    ]
    listed = [[line for line in text.splitlines() if "::" in line] for text in found]
    assert listed[0] == [f"test_it.py::test_{n}" for n in ("grid[0]", "grid[4]", "whole[0]", "whole[1]", "whole[2]")]  # fmt: skip
    assert listed[1] == [f"test_it.py::test_grid[{n}]" for n in (1, 2, 3)]
