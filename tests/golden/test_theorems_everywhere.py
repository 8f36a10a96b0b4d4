"""Every privacy theorem has its golden values, whichever way it is asked: Python, command line, claims file.

The values of theorems.toml come from oracle_theorems.py, which shares no code. A certified ε must not be
below its value; what is claimed is the printed formula.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpmath import mp, mpf

from dpcalc.cli.main import main
from dpcalc.theorems.base import Theorem
from dpcalc.theorems.catalogue import keys, privacy_result
from tests.golden.oracle_theorems import DIGITS, values

CASES = tomllib.loads(Path(__file__).with_name("theorems.toml").read_text())["case"]

EVERY = pytest.mark.parametrize("case", CASES, ids=lambda c: c["theorem"])
Run = Callable[..., Any]


def printed(case: dict[str, Any]) -> dict[str, float]:
    """The printed quantities under their names."""
    prefix = "claimed_"
    return {k.removeprefix(prefix): float(v) for k, v in case.items() if k.startswith(prefix)}


def sound(found: float, case: dict[str, Any]) -> bool:
    """Not below the certified value, and above it by no more than a numerical enclosure is wide."""
    with mp.workdps(DIGITS):
        exact = mpf(case["certified"])
        return bool(exact * (1 - mpf("1e-20")) <= mpf(found) <= exact * (1 + mpf("2e-6")))


def instance(case: dict[str, Any]) -> Theorem:
    return privacy_result(case["theorem"]).from_parameters(case["parameters"], attest="all")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> Any:
        with pytest.raises(SystemExit) as stopped:
            main([*arguments, "--json"])
        captured = capsys.readouterr()
        assert stopped.value.code in (0, 1), captured.err  # 1: a claim is refuted or not supported
        return json.loads(captured.out)

    return call


def test_every_theorem_has_a_value() -> None:
    assert {case["theorem"] for case in CASES} == set(keys(privacy=True))


@EVERY
def test_the_oracle_gives_the_recorded_values(case: dict[str, Any]) -> None:
    with mp.workdps(DIGITS):
        for name, value in values(case).items():
            assert abs(value / mpf(case[name]) - 1) < mpf("1e-23"), name


@EVERY
def test_from_python(case: dict[str, Any]) -> None:
    theorem = instance(case)
    assert sound(theorem.certified().guarantee.epsilon(case["delta"]), case)
    for name, value in printed(case).items():
        claim = theorem.claimed()
        found = claim.guarantee.epsilon(case["delta"]) if name == "epsilon" else claim.numbers[name]
        assert found == pytest.approx(value, rel=2e-6 if name == "epsilon" else 1e-13), name


@pytest.mark.parametrize(
    "case", [c for c in CASES if "claimed_epsilon" in c], ids=lambda c: c["theorem"]
)
def test_the_noise_prescribed_for_the_printed_epsilon_is_the_noise_of_the_case(
    case: dict[str, Any],
) -> None:
    """A misprint in a formula for the noise shows against the oracle's ε, which solves for it.

    Searches stop within 1e-6 of their end; formulas are right to the digits of ε.
    """
    theorem = instance(case)
    found = theorem.prescribed(float(case["claimed_epsilon"]), case["delta"]).noise_level()
    searched = type(theorem).prescribed_noise is Theorem.prescribed_noise
    assert found == pytest.approx(theorem.noise_level(), rel=1e-5 if searched else 1e-13)


def options(parameters: dict[str, Any]) -> list[str]:
    flags = {f"--{k.replace('_', '-')}": v for k, v in parameters.items()}
    return [
        part
        for flag, value in flags.items()
        if value is not False
        for part in ((flag,) if value is True else (flag, str(value)))
    ]


@EVERY
def test_from_the_command_line(case: dict[str, Any], run: Run) -> None:
    given = [*options(case["parameters"]), "--attest", "all", "--delta", repr(case["delta"])]
    record = run("epsilon", case["theorem"], *given)
    assert sound(record["certified"]["epsilon"], case)
    assert record["certified"]["delta"] == case["delta"]
    for name, value in printed(case).items():
        bound = 2e-6 if name == "epsilon" else 1e-13
        assert record["claimed"][name] == pytest.approx(value, rel=bound), name


@EVERY
def test_from_a_claims_file(case: dict[str, Any], run: Run, tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    lines = [f"{k} = {json.dumps(v)}" for k, v in case["parameters"].items()]
    head = f'[[claim]]\ntheorem = "{case["theorem"]}"\nattest = "all"\nepsilon = 1\n'
    path.write_text(
        f"{head}delta = {case['delta']!r}\n[claim.parameters]\n" + "\n".join(lines) + "\n"
    )
    (record,) = run("verify", str(path))["claims"]
    assert sound(record["certified"]["epsilon"], case)
    assert record["certified"]["delta"] == case["delta"]
