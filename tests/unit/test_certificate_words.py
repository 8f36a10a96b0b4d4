"""What the command line says of certificates: of what a lower end is one, and lists of numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpcalc.certificates import certify
from dpcalc.certificates.reading import _described
from dpcalc.cli.main import main
from dpcalc.report.enclosures import PAIR, WORST_CASE

pytest.importorskip("flint")

PLAN = """
delta = 1e-2
adjacency = "{}"
[[release]]
mechanism = "finite-distributions"
p = [0.25, 0.5, 0.25]
q = [0.5, 0.375, 0.125]
count = 2
"""


@pytest.mark.parametrize(
    ("adjacency", "of_what", "says"),
    [
        ("replace-one", PAIR, "both ends certified (lower end: of the dominating pair); verify"),
        ("add-remove", WORST_CASE, "both ends certified; verify"),
    ],
)
def test_a_lower_end_of_the_pair_is_called_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], adjacency: str, of_what: str, says: str
) -> None:
    """In either order each round loses less than the pair that dominates it in both."""
    plan, out = tmp_path / "plan.toml", tmp_path / "out.json"
    plan.write_text(PLAN.format(adjacency))
    with pytest.raises(SystemExit):
        main(["compose", str(plan), "--certify", str(out), "--json"])
    record = json.loads(capsys.readouterr().out)
    assert record["certificate"]["lower_of"] == record["certified"]["epsilon_lower_of"] == of_what
    with pytest.raises(SystemExit):
        main(["compose", str(plan), "--certify", str(out)])
    assert says in " ".join(capsys.readouterr().out.split())


def test_what_the_checker_does_not_take_is_not_certified(tmp_path: Path, capsys: Any) -> None:
    """Its limits are those of a file that somebody else wrote; the engine's are wider."""
    asked = "epsilon exponential-norm --scale-multiplier 1 --dimension 10001 --delta 1e-6"
    with pytest.raises(SystemExit) as stopped:
        main([*asked.split(), "--certify", str(tmp_path / "out.json")])
    assert stopped.value.code == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "not certified: the checker refuses it: expected a whole number from 2 to 10,000" in said


def test_a_wrong_end_is_an_exit_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever end it is."""
    plan, out = tmp_path / "plan.toml", tmp_path / "out.json"
    plan.write_text(PLAN.format("add-remove"))
    certify_it = certify.certify

    def with_a_lower_end_too_high(parts: Any, adjacency: str, delta: float, *ends: Any) -> Any:
        return certify_it(parts, adjacency, delta, ends[0], ends[0] * 1.001, *ends[2:])

    monkeypatch.setattr(certify, "certify", with_a_lower_end_too_high)
    with pytest.raises(SystemExit) as stopped:
        main(["compose", str(plan), "--certify", str(out)])
    assert stopped.value.code == 3
    assert "certainly wrong" in capsys.readouterr().out


def test_lists_of_numbers_are_no_formulas() -> None:
    shift = {
        "mechanism": "shifted-gaussian",
        "start": "0",
        "steps": [["1/2", "1", ["power", "5", "1/2"]], ["1/2", "0", "1"]],
        "shifts": ["0", ["quotient", "1", "3"], "0"],
        "count": 1,
    }
    assert _described(shift) == (
        "1 × shifted-gaussian, start 0, steps 1/2 1 5^(1/2); 1/2 0 1, shifts 0; 1/3; 0"
    )
    assert _described({"mechanism": "m", "x": ["0"] * 6, "count": 2}) == (
        "2 × m, x 0; 0; 0; 0; and 2 more"
    )


CLAIM = """
[[claim]]
name = "{}"
epsilon = 6
delta = 1e-5
adjacency = "add-remove"
rounds = "rounds.csv"
"""


def test_claims_of_which_the_same_is_certified_are_told_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claims, out = tmp_path / "claims.toml", tmp_path / "out.json"
    claims.write_text(CLAIM.format("first") + CLAIM.format("second"))
    (tmp_path / "rounds.csv").write_text("mechanism,noise_multiplier\ngaussian,1\n")
    with pytest.raises(SystemExit):
        main(["verify", str(claims), "--certify", str(out)])
    shown = " ".join(capsys.readouterr().out.split())
    assert "Certificates 1-2 both ends certified Verify with: dpcalc check" in shown
