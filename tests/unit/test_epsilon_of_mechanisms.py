"""`dpcalc epsilon MECHANISM` is `dpcalc compose` of a file with that one release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpcalc.cli._fields import EXAMPLES, plain_mechanisms
from dpcalc.cli.main import main


def answered(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    with pytest.raises(SystemExit) as stop:
        main([*words, "--json"])
    assert not stop.value.code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("name", plain_mechanisms())
def test_it_is_what_compose_answers(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = EXAMPLES[name].split()
    found = answered(capsys, "epsilon", name, *words, "--delta", "1e-5")
    given = dict(zip(words[::2], words[1::2], strict=True))
    count = given.pop("--rounds", "1")
    lines = [
        f"{'epsilon' if key == '--each' else key[2:].replace('-', '_')} = {value}"
        for key, value in given.items()
    ]
    file = tmp_path / "plan.toml"
    file.write_text(
        f'delta = 1e-5\n[[release]]\nmechanism = "{name}"\ncount = {count}\n' + "\n".join(lines)
    )
    assert found == answered(capsys, "compose", str(file))


def test_the_relation_is_taken_and_a_missing_delta_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["epsilon", "gaussian", "--noise-multiplier", "4", "--delta", "1e-5"]
    one, other = (
        answered(capsys, *words, "--adjacency", relation)["certified"]["mu"]
        for relation in ("add-remove", "replace-one")
    )
    assert other == 2 * one == 0.5
    with pytest.raises(SystemExit) as stop:
        main(words[:-2])
    assert stop.value.code == 2
    assert "--delta above 0 is needed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "--rounds 30 --delta 1e-6",
            ["30 rounds of 256 out of 60,000 records: 0.128 passes over them"],
        ),
        (
            "--rounds 30 --delta 0.01",
            ["0.128 passes", "δ = 0.01 is above 1/60,000: publishing one"],
        ),
        ("--delta 1e-6", ["1 round of 256 out of 60,000 records: 0.00427 passes over them"]),
    ],
)
def test_passes_over_the_records_and_a_delta_that_protects_none_are_said(
    run: Any, words: str, said: list[str]
) -> None:
    batch = "--sample 256 --population 60_000 --noise-multiplier 1"
    status, out, _ = run("epsilon", "dp-sgd", *batch.split(), *words.split())
    assert status == 0
    text = " ".join(out.split())
    assert all(part in text for part in said)
    assert ("publishing one" in text) == (len(said) == 2)


def test_calibration_says_the_same(run: Any) -> None:
    words = "calibrate dp-sgd --sample 256 --population 60000 --rounds 235 --epsilon 3 --delta .5"
    text = " ".join(run(*words.split())[1].split())
    assert "235 rounds of 256 out of 60,000 records: 1 pass over them" in text
    assert "δ = 0.5 is above 1/60,000" in text
