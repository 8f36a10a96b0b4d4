"""What stands in the wrong place or under a foreign name is answered with the right one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpcalc.claims.tables import NAMED_STREAMS
from dpcalc.cli.main import main

PLAN = "# a plan\ndelta = 1e-6\n[[release]]\nmechanism = 'gaussian'\nnoise_multiplier = 2\n"
CLAIM = "[[claim]]\ntheorem = 'dp-admm'\nadjacency = 'add-remove'\n"
DP_ADMM = "epsilon dp-admm --rounds 10 --gradient-bound 1 --sigma 1 --delta 1e-6"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    for name in ("plan.toml", "plan.txt"):
        (tmp_path / name).write_text(PLAN)
    (tmp_path / "rounds.txt").write_text("# a table\nmechanism,noise_multiplier\ngaussian,2\n")
    (tmp_path / "claim.toml").write_text(CLAIM)
    (tmp_path / "none.toml").write_text("[[release]]\npure = 1\ncount = 0\n")

    def call(line: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(line.replace("HERE", str(tmp_path)).split())
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


def test_toml_is_read_whatever_the_name_of_its_file(run: Any) -> None:
    status, out, err = run("compose HERE/plan.txt")
    assert (status, err) == (0, "")
    assert out == run("compose HERE/plan.toml")[1]
    assert out == run("compose HERE/rounds.txt --delta 1e-6")[1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("compose HERE", "is a folder; name a file in it"),
        ("verify HERE", "is a folder; name a file in it"),
        ("compose -", "for standard input try /dev/stdin" if NAMED_STREAMS else "is not read"),
        ("verify -", "for standard input try /dev/stdin" if NAMED_STREAMS else "is not read"),
        (f"{DP_ADMM} --n-records 1,000", "a comma is no part of a number; try 1000"),
        ("run dp-admm --nodes 1,000", "a comma is no part of a number; try 1000"),
        ("calibrate gaussian --epsilon 0,5", "a comma is no part of a number; try 0.5"),
        ("calibrate gaussian --epsilon 1 --sensitivity 2", "noise over the sensitivity by yours"),
        (
            "verify HERE/claim.toml",
            "'adjacency' is a parameter of dp-admm; it goes into [claim.par",
        ),
    ],
)
def test_a_refusal_says_what_to_write(run: Any, line: str, words: str) -> None:
    status, out, err = run(line)
    assert (status, out) == (2, "")
    assert words in err
    assert "Errno" not in err
    assert err.count("\n") == 1


def test_nothing_released_spends_nothing_in_every_verb(run: Any) -> None:
    for line in ("compose HERE/none.toml", "convert --pure 1 --rounds 0 --to approx"):
        status, out, err = run(f"{line} --json")
        assert (status, err) == (0, "")
        assert json.loads(out)["certified"]["epsilon"] == 0
