"""A question without δ whose answer at δ = 0 is infinite: one treatment in all verbs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpcalc.calibration import smallest_noise
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from dpcalc.guarantees.mechanisms import laplace
from dpcalc.theorems.catalogue import privacy_result

ZERO_START = "dp-admm --n-records 1000 --rounds 10 --gradient-bound 1 --dual-start zero"
CLAIM = """
[[claim]]
theorem = "dp-admm"
epsilon = 1
{delta}
[claim.parameters]
n_records = 1000
rounds = 10
gradient_bound = 1
dual_start = "zero"
sigma = 1
"""
GRIDS = {
    "dp-admm": """
theorem = "dp-admm"
attest = "all"
{delta}
[parameters]
n_records = 1000
rounds = [1, 2]
gradient_bound = 1
dual_start = "zero"
sigma = 1
""",
    "gaussian": """
mechanism = "gaussian"
{delta}
[parameters]
noise_multiplier = [1, 2]
""",
}
PLAN = '[[release]]\nmechanism = "gaussian"\nnoise_multiplier = 2\n'


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    (tmp_path / "claim.toml").write_text(CLAIM.format(delta=""))
    (tmp_path / "zero.toml").write_text(CLAIM.format(delta="delta = 0"))
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "pure.toml").write_text("[[release]]\npure = 0.1\ncount = 3\n")

    def call(line: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main([word.replace("HERE", str(tmp_path)) for word in line.split()])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (f"epsilon {ZERO_START} --sigma 1", "dp-admm"),
        (f"epsilon {ZERO_START} --sigma 1 --delta 0", "dp-admm"),
        (f"noise {ZERO_START} --epsilon 1", "dp-admm"),
        ("compose HERE/plan.toml", "this list of releases"),
        ("convert --gdp 1 --to approx", "gdp"),
        ("calibrate gaussian --epsilon 1", "gaussian"),
        ("calibrate gaussian --epsilon 9 --noise-multiplier 3", "gaussian"),
        (
            "calibrate poisson-subsampled-gaussian --epsilon 1 --rounds 3 --noise-multiplier 3",
            "poisson-subsampled-gaussian",
        ),
        (
            "calibrate gaussian-without-replacement --epsilon 9 --rounds 3 --noise-multiplier 3 "
            "--population 10",
            "gaussian-without-replacement",
        ),
    ],
)
def test_it_is_asked_for(run: Any, line: str, what: str) -> None:
    status, out, err = run(line)
    assert (status, out) == (2, "")
    assert (
        err == f"dpcalc: --delta above 0 is needed: {what} gives no ε at δ = 0; try --delta 1e-6\n"
    )
    with_delta = line.replace(" --delta 0", "") + " --delta 1e-6"
    assert run(with_delta)[0] == 0


def test_a_claim_that_says_zero_is_judged_and_one_that_says_nothing_is_not(
    run: Any, tmp_path: Path
) -> None:
    status, _, err = run("verify HERE/claim.toml")
    assert status == 2
    assert "delta above 0 is needed: dp-admm gives no ε at δ = 0; try delta = 1e-6" in err
    claim = (tmp_path / "claim.toml").read_text()
    (tmp_path / "claim.toml").write_text(claim.replace('"zero"', '"data"').replace("sigma = 1", ""))
    status, _, err = run("verify HERE/claim.toml")  # certified is no finite ε; a claim has a δ
    assert (status, "got delta" in err) == (2, False)
    assert "delta above 0 is needed: dp-admm gives no ε at δ = 0; try delta = 1e-6" in err
    status, out, _ = run("verify HERE/zero.toml --json")
    assert status == 1
    assert json.loads(out)["claims"][0]["verdict"] == "REFUTED"


@pytest.mark.parametrize("name", GRIDS)
def test_a_sweep_asks_for_it_in_words_of_its_file(run: Any, tmp_path: Path, name: str) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text(GRIDS[name].format(delta=""))
    status, out, err = run("sweep HERE/grid.toml")
    assert (status, out) == (2, "")
    assert f"delta above 0 is needed: {name} gives no ε at δ = 0; try delta = 1e-6" in err
    grid.write_text(GRIDS[name].format(delta="delta = [0, 1e-6]"))
    _, out, _ = run("sweep HERE/grid.toml --json")
    rows = json.loads(out)["rows"]
    assert [row["delta"] == 0 for row in rows] == ["refused" in row for row in rows]
    assert all(0 < row["certified"] < 10 for row in rows if row["delta"])
    grid.write_text(GRIDS[name].format(delta="delta = 1e-6"))
    assert "delta = 1e-6\n" in run("sweep HERE/grid.toml")[1]


@pytest.mark.parametrize(
    "line",
    [
        "compose HERE/pure.toml",
        "calibrate laplace --epsilon 1",
        "calibrate randomised-response --epsilon 1 --rounds 10",
        "convert --pure 1 --to approx",
    ],
)
def test_a_pure_answer_needs_none(run: Any, line: str) -> None:
    assert run(line)[0] == 0


@pytest.mark.parametrize("line", ["epsilon {} --sigma 1", "noise {} --epsilon 1"])
def test_it_is_asked_for_where_the_claim_alone_needs_one(run: Any, line: str) -> None:
    """At δ = 0 the paper claims nothing, at 1e-6 it does; certified is nothing at any δ."""
    status, out, err = run(line.format(ZERO_START.replace("zero", "data")))
    assert (status, out) == (2, "")
    assert (
        err == "dpcalc: --delta above 0 is needed: dp-admm gives no ε at δ = 0; try --delta 1e-6\n"
    )


def test_a_zero_that_was_said_is_answered_where_no_delta_helps(run: Any) -> None:
    """The starting dual variable, computed from the data, is released without noise."""
    released = ZERO_START.replace("zero", "data")
    status, out, _ = run(f"epsilon {released} --sigma 1 --delta 0 --json")
    assert status == 0
    assert json.loads(out)["certified"]["epsilon"] == "inf"


@pytest.mark.parametrize(
    ("guarantee", "needed"),
    [
        (GDP(1.0), True),
        (GDP(0.0), False),
        (GDP(float("inf")), False),
        (ZCDP(0.5), True),
        (ApproxDP(1.0, 1e-3), True),
        (ApproxDP(1.0, 0.0), False),
        (PureDP(1.0), False),
        (PureDP(float("inf")), False),
        (laplace(1.0, "add-remove"), False),
    ],
)
def test_guarantees_know_it(guarantee: Guarantee, needed: bool) -> None:
    assert guarantee.needs_delta() is needed


def test_python_says_the_same() -> None:
    kind = privacy_result("dp-admm")
    start = kind.from_parameters(
        {"n_records": 1000, "rounds": 10, "gradient_bound": 1, "dual_start": "zero", "sigma": 1}
    )
    with pytest.raises(InvalidInput, match="dp-admm gives no ε at δ = 0"):
        smallest_noise(start, 1.0)
