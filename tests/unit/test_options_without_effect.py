"""An option that would change nothing is refused, with what it goes with."""

from __future__ import annotations

import pytest

from dpcalc.cli.main import main

COUNTS = "audit --counts 40 60 50 50 --claim eps=1 --adjacency add-remove"


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
    ],
)
def test_it_is_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    before, option = line.split(" | ")
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
