"""Every named mechanism and bare guarantee has its golden value, whichever way it is said.

Through a TOML file, a table of rounds, the command line, Python and, where there is one, an event of
dp-accounting. The values of mechanisms.toml come from oracle_mechanisms.py, which shares no code.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpmath import mp, mpf

from dpcalc.accountant import Accountant
from dpcalc.claims.composition import read_plan
from dpcalc.claims.named import mechanism_names
from dpcalc.cli.main import main
from dpcalc.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from dpcalc.guarantees import mechanisms as named
from dpcalc.guarantees.composition import compose
from tests.golden.oracle_mechanisms import DIGITS, delta

CASES = tomllib.loads(Path(__file__).with_name("mechanisms.toml").read_text())["case"]
WITHOUT_A_VALUE = {"profile"}
"""Its ε at a given point is that point, in test_a_profile_holds_at_its_points."""

EVERY = pytest.mark.parametrize(
    "case", CASES, ids=lambda c: "-".join(map(str, c["table"].values()))[:50]
)


def close(found: float, case: dict[str, Any]) -> bool:
    """Not below the value, and above it by no more than a numerical enclosure is wide."""
    with mp.workdps(DIGITS):
        exact = mpf(case["epsilon"])
        return bool(exact * (1 - mpf("1e-20")) <= mpf(found) <= exact * (1 + mpf("2e-6")))


@EVERY
def test_the_values_are_those_of_the_definitions(case: dict[str, Any]) -> None:
    with mp.workdps(DIGITS):
        found = delta(case["table"], case["count"], mpf(case["epsilon"]))
        assert abs(found / mpf(case["delta"]) - 1) < mpf("1e-18")


def test_no_mechanism_is_left_out() -> None:
    covered = {case["table"].get("mechanism") for case in CASES}
    assert set(mechanism_names()) - covered == WITHOUT_A_VALUE


def toml(case: dict[str, Any], path: Path, *, typed: bool = False) -> Path:
    """A composition file; ``typed`` writes decimals as TOML numbers, not as texts."""
    lines = [f"delta = {case['delta']}", "[[release]]", f"count = {case['count']}"]
    for name, value in case["table"].items():
        if isinstance(value, dict):
            text = "{ " + ", ".join(f'"{k}" = {v}' for k, v in value.items()) + " }"
        else:
            text = json.dumps(value)
        if typed and name not in ("mechanism", "adjacency"):
            text = text.replace('"', "")
        lines.append(f"{name} = {text}")
    path.write_text("\n".join(lines) + "\n")
    return path


def said(*words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--json"])
    assert not stopped.value.code
    record: dict[str, Any] = json.loads(capsys.readouterr().out)["certified"]
    return record


@EVERY
@pytest.mark.parametrize("typed", [False, True])
def test_through_a_file_and_the_command_line(
    case: dict[str, Any], typed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if typed and "rdp" in case["table"]:
        pytest.skip("orders are keys")
    path = toml(case, tmp_path / "plan.toml", typed=typed)
    plan = read_plan(path)
    assert close(plan.total().epsilon(plan.delta), case)
    record = said("compose", str(path), capsys=capsys)
    assert close(record["epsilon"], case)
    assert record.get("epsilon_lower", 0.0) <= float(case["epsilon"]) * (1 + 1e-15)


@EVERY
def test_through_a_table_of_rounds(
    case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = dict(case["table"])
    if "p" in table:
        pytest.skip("lists have no columns")
    if "approx" in table:
        table["epsilon"], table["delta"] = table.pop("approx")
    if "rdp" in table:
        table["rdp"] = " ".join(f"{order}:{value}" for order, value in table["rdp"].items())
    path = tmp_path / "rounds.csv"
    path.write_text(
        ";".join([*table, "count"]) + "\n" + ";".join([*map(str, table.values()), ""])
        + f"{case['count']}\n"
    )  # fmt: skip
    record = said("compose", str(path), "--delta", case["delta"], capsys=capsys)
    assert close(record["epsilon"], case)


PYTHON: dict[str, Callable[..., Guarantee]] = {
    "gaussian": lambda t: named.gaussian(t["noise_multiplier"], t["adjacency"]),
    "laplace": lambda t: named.laplace(t["scale_multiplier"], t["adjacency"]),
    "exponential-norm": lambda t: named.exponential_norm(
        t["scale_multiplier"], t["dimension"], t["adjacency"]
    ),
    "randomised-response": lambda t: PureDP(t["epsilon"]),
    "poisson-subsampled-gaussian": lambda t: named.poisson_subsampled_gaussian(
        t["noise_multiplier"], t["rate"], t["adjacency"]
    ),
    "gaussian-without-replacement": lambda t: named.gaussian_without_replacement(
        t["noise_multiplier"], t["sample"], t["population"]
    ),
    "finite-distributions": lambda t: named.finite_distributions(t["p"], t["q"], t["adjacency"]),
    "pure": lambda t: PureDP(t["pure"]),
    "approx": lambda t: ApproxDP(*t["approx"]),
    "gdp": lambda t: GDP(t["gdp"]),
    "zcdp": lambda t: ZCDP(t["zcdp"]),
    "rdp": lambda t: RDP.from_points(t["rdp"]),
}


def doubles(value: Any) -> Any:
    """Texts of numbers as doubles, everywhere in a table."""
    if isinstance(value, dict):
        return {(float(k) if k[0].isdigit() else k): doubles(v) for k, v in value.items()}
    if isinstance(value, list):
        return [doubles(v) for v in value]
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def near(found: float, case: dict[str, Any]) -> bool:
    """As `close`, where doubles stand for the decimals of the case."""
    return float(case["epsilon"]) * (1 - 1e-14) <= found <= float(case["epsilon"]) * (1 + 2e-6)


@EVERY
def test_from_python(case: dict[str, Any]) -> None:
    table = doubles(case["table"])
    kind = table.get("mechanism") or next(iter(table))
    each = PYTHON[kind](table)
    assert near(compose((each, case["count"])).epsilon(float(case["delta"])), case)
    if "mechanism" in table:
        spent = Accountant(delta=float(case["delta"])).spend(table, case["count"])
        assert near(spent.epsilon_spent(), case)


def events() -> dict[str, Callable[..., Any]]:
    e = pytest.importorskip("dp_accounting").dp_event
    return {
        "gaussian": lambda t: e.GaussianDpEvent(t["noise_multiplier"]),
        "laplace": lambda t: e.LaplaceDpEvent(t["scale_multiplier"]),
        "poisson-subsampled-gaussian": lambda t: e.PoissonSampledDpEvent(
            t["rate"], e.GaussianDpEvent(t["noise_multiplier"])
        ),
        "gaussian-without-replacement": lambda t: e.SampledWithoutReplacementDpEvent(
            t["population"], t["sample"], e.GaussianDpEvent(t["noise_multiplier"])
        ),
        "zcdp": lambda t: e.ZCDpEvent(t["zcdp"]),
    }


@EVERY
def test_from_an_event(case: dict[str, Any]) -> None:
    from dpcalc.interop.dp_accounting import event_of, guarantee_of

    table = doubles(case["table"])
    kind = table.get("mechanism") or next(iter(table))
    if kind not in (known := events()):
        pytest.skip("dp-accounting has no such event")
    e = pytest.importorskip("dp_accounting").dp_event
    event = e.SelfComposedDpEvent(known[kind](table), case["count"])
    relation = table.get("adjacency", "replace-one")
    assert near(guarantee_of(event, relation).epsilon(float(case["delta"])), case)
    if "mechanism" in table:
        written = event_of(Accountant().spend(table, case["count"]))
        assert near(guarantee_of(written, relation).epsilon(float(case["delta"])), case)


def test_an_event_of_randomised_response() -> None:
    """The answer stays with probability 1 - p, else is even over k: ratio (1 - p + p/k)/(p/k)."""
    e = pytest.importorskip("dp_accounting").dp_event
    from dpcalc.interop.dp_accounting import guarantee_of

    found = guarantee_of(e.RandomizedResponseDpEvent(0.25, 5), "replace-one").epsilon(0.0)
    exact = mp.log((mpf("0.75") + mpf("0.05")) / mpf("0.05"))
    assert float(exact) <= found <= float(exact) * (1 + 1e-15)


@pytest.mark.parametrize("point", [("1", "1e-7"), ("0.25", "0.01")])
def test_a_profile_holds_at_its_points(point: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        '[[release]]\nmechanism = "profile"\npoints = [["1", "1e-7"], ["0.25", "0.01"]]\n'
    )
    found = read_plan(path).total().epsilon(float(point[1]) * (1 + 1e-9))
    assert float(point[0]) * (1 - 1e-6) <= found <= float(point[0]) * (1 + 2e-6)
