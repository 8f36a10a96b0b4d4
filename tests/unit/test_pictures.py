"""Pictures that the command line draws: written, of the kind asked for, and refused clearly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dpcalc
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, PureDP
from dpcalc.report.claims import draw_claim
from dpcalc.report.profile import draw_profile
from dpcalc.theorems.catalogue import privacy_result

PNG = b"\x89PNG"
DP_ADMM = [
    "epsilon",
    "dp-admm",
    "--n-records",
    "1000",
    "--rounds",
    "10",
    "--gradient-bound",
    "1",
    "--sigma",
    "0.01",
]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_a_claim_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "claim.png"
    assert (
        run(*DP_ADMM, "--dual-start", "zero", "--delta", "1e-5", "--plot", str(target), "--json")
        == 0
    )
    assert target.read_bytes().startswith(PNG)
    assert json.loads(capsys.readouterr().out)["plot"] == str(target)


def test_a_claim_with_nothing_certified_says_so_in_its_legend(tmp_path: Path) -> None:
    kind = privacy_result("dp-admm")
    printed = kind(n_records=1000, rounds=10, gradient_bound=1, sigma=0.01, dual_start="data")
    draw_claim(printed, tmp_path / "claim.svg", delta=1e-5)
    assert "certified: no finite" in (tmp_path / "claim.svg").read_text()


def test_a_picture_that_cannot_be_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("claim.xyz", "no/such/folder.png"):
        assert run(*DP_ADMM, "--dual-start", "zero", "--plot", str(tmp_path / name)) == 2
        assert "picture" in capsys.readouterr().err


def test_a_profile_is_drawn_with_its_bracket_and_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "delta = 1e-5\nepsilon = 9\n[[release]]\nmechanism = 'laplace'\nscale_multiplier = 5\ncount = 12\n"
    )
    assert run("compose", str(plan), "--plot", str(tmp_path / "plan.png")) == 0
    assert (tmp_path / "plan.png").read_bytes().startswith(PNG)
    draw_profile(GDP(1.0), tmp_path / "curve.svg", delta=1e-5)  # no bracket to draw
    assert "svg" in (tmp_path / "curve.svg").read_text()[:400]
    assert run("compose", str(plan), "--plot", str(tmp_path / "plan.svg")) == 0
    drawn = " ".join((tmp_path / "plan.svg").read_text().split())
    said = capsys.readouterr().out.split("ε = ")[1].split()[0]
    for words in ("12 × laplace", "add-remove", f"dpcalc {dpcalc.__version__}", f"ε = {said} at"):
        assert words in drawn, words
    for nothing in (GDP(float("inf")), PureDP(0.0)):
        with pytest.raises(InvalidInput, match="finite"):
            draw_profile(nothing, tmp_path / "nothing.png")
    with pytest.raises(InvalidInput, match="picture"):
        draw_profile(GDP(1.0), tmp_path / "curve.xyz")
