"""A few cases of the campaign on certificates, and how it counts; all of it: see certified.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpcalc.certificates.certify import CERTIFIED
from dpcalc.cli.main import main
from tests.campaign import certified


def test_no_end_is_certainly_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "cases"
    ahead = [{"case": n, "upper": CERTIFIED, "lower": CERTIFIED, "refused": ""} for n in range(4)]
    store.write_text("".join(json.dumps(case) + "\n" for case in ahead))
    assert certified.main(["--store", str(store), "--cases", "6"]) == 0
    judged = [json.loads(line) for line in store.read_text().splitlines()]
    assert [case["case"] for case in judged] == list(range(6))
    assert certified.counts(judged)["upper ends: certified"] == 6
    assert "cases: 6" in capsys.readouterr().out


def test_rare_samples_are_certified(tmp_path: Path) -> None:
    store = tmp_path / "cases"
    assert certified.main(["--store", str(store), "--cases", "2", "--rare"]) == 0
    judged = [json.loads(line) for line in store.read_text().splitlines()]
    assert certified.counts(judged)["upper ends: certified"] == 2


def test_contradictions_are_counted(tmp_path: Path) -> None:
    store = tmp_path / "cases"
    wrong = {"case": 0, "upper": "certainly wrong: δ(1) is in [2, 3]", "lower": "", "refused": ""}
    refused = {"case": 1, "upper": CERTIFIED, "lower": CERTIFIED, "refused": "does not follow"}
    store.write_text(json.dumps(wrong) + "\n" + json.dumps(refused) + "\n")
    assert certified.main(["--store", str(store), "--cases", "2"]) == 1
    assert certified.main(["--store", str(store), "--cases", "9", "--minutes", "0"]) == 1
    assert len(certified.contradictions([wrong, refused])) == 2
    store.write_text("")
    assert certified.main(["--store", str(store), "--cases", "9", "--minutes", "0"]) == 3
    larger = {**refused, "upper": "not certified: too long; ε = 2 is certified"}
    assert certified.counts([larger])["upper ends: not decided"] == 1


def test_a_closed_form_is_certified_from_above() -> None:
    only_gaussians = certified.judged(59)
    assert only_gaussians["upper"] == CERTIFIED
    assert only_gaussians["lower"].endswith("no such end")


def test_the_double_that_was_computed_with_is_stated_and_not_its_decimal() -> None:
    """Stated in decimals, ε of 0.346-GDP and the sum of 25 pure bounds were certainly wrong."""
    gaussian, pure = certified.judged(95), certified.judged(160)
    assert gaussian["upper"] == pure["upper"] == pure["lower"] == CERTIFIED
    assert gaussian["certificate"]["releases"][0]["mu"] == (0.346).hex()


@pytest.mark.campaign
def test_all_headline_claims_in_one_file_are_within_the_effort_that_is_allowed(
    tmp_path: Path,
) -> None:
    file = str(tmp_path / "headline.json")
    for words in (["verify", "--certify", file], ["check", file]):
        with pytest.raises(SystemExit) as stopped:
            main(words)
        assert stopped.value.code == 0
    assert len(json.loads(Path(file).read_text())) == 19
