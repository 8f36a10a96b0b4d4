"""What `dpcalc new` writes runs as it stands; a theorem's own tests fail until it is filled in."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dpcalc.auditing import Outcome
from dpcalc.auditing.suite.run import carry_out
from dpcalc.cli.main import main
from dpcalc.theorems import catalogue
from dpcalc.theorems.base import Theorem
from tests.contracts import test_theorems as contracts


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any) -> Any:
    monkeypatch.chdir(tmp_path)

    def call(line: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(line.split())
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return call


@pytest.mark.parametrize(
    ("kind", "shown"), [("claim", "LOOSE 2"), ("plan", "within the budget ε = 2")]
)
def test_claims_and_plans_run(run: Any, kind: str, shown: str) -> None:
    status, out, _ = run(f"new {kind} my-file")
    assert status == 0
    following = [line for line in out.splitlines() if line.startswith("next: dpcalc ")]
    assert len(following) == 1
    status, out, _ = run(following[0].removeprefix("next: dpcalc "))
    assert (status, shown in out) == (0, True)


def test_an_audit_runs(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "my_release.py" in run("new audit my-release")[1]
    line = "audit my_release:target --runs 4000 --seed 1 --claim eps="
    assert "NOT REFUTED" in run(line + "1")[1]
    status, out, _ = run(line + "0.5")
    assert (status, "REFUTED" in out) == (1, True)
    sys.modules.pop("my_release", None)


def _module(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def written(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A theorem in a checkout of which the catalogue alone is there, known to the catalogue."""
    (tmp_path / "dpcalc/theorems").mkdir(parents=True)
    (tmp_path / "dpcalc/theorems/catalogue.py").touch()
    status, out, _ = run("new theorem my-admm")
    assert (status, out.count("written: ")) == (0, 5)
    name = "dpcalc.theorems.my_admm.my_admm"
    module = _module(tmp_path / "dpcalc/theorems/my_admm/my_admm.py", name)
    known = catalogue._modules() | {"my-admm": name}
    monkeypatch.setattr(catalogue, "_modules", lambda: known)
    yield module.MyAdmm
    sys.modules.pop(name)


def test_a_theorem_runs_and_keeps_the_contracts_that_need_no_paper(run: Any, written: Any) -> None:
    theorem: Theorem = written.from_parameters(written.example)
    for kept in (
        contracts.test_describes_itself,
        contracts.test_module_says_what_it_states_and_where_it_is_from,
        contracts.test_bounds_are_answers,
        contracts.test_certified_beats_what_an_instance_attains,
        contracts.test_more_noise_is_more_private_and_larger_delta_costs_less,
        contracts.test_calibration_meets_the_budget_and_hardly_more,
        contracts.test_prescription_inverts_the_claim,
    ):
        kept(theorem)
    status, out, _ = run("epsilon my-admm --sensitivity 1 --rounds 10 --sigma 8 --delta 1e-5")
    assert (status, "LOOSE" in out) == (0, True)


def _outcomes(tmp_path: Path) -> dict[str, Outcome]:
    """Of the audit that is written with it."""
    audit = _module(tmp_path / "audits/my_admm.py", "written_audit").AUDIT
    found = carry_out(audit.cases, seed=3, controls=False)
    return {each.key: each.verdict.outcome for each in found}


def test_its_audit_holds_and_catches_the_planted_bug(written: Any, tmp_path: Path) -> None:
    del written
    assert _outcomes(tmp_path) == {
        "certified": Outcome.NOT_REFUTED,
        "half-the-noise": Outcome.REFUTED,
    }


def test_a_bound_four_times_too_small_is_caught_twice(
    written: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = written.certified_mu
    monkeypatch.setattr(written, "certified_mu", lambda t, x: (plain(t, x)[0] / 4, "a quarter"))
    with pytest.raises(AssertionError):
        contracts.test_certified_beats_what_an_instance_attains(
            written.from_parameters(written.example)
        )
    assert _outcomes(tmp_path)["certified"] is Outcome.REFUTED


def test_the_tests_that_are_written_with_it_fail_until_it_is_filled_in(
    written: Any, tmp_path: Path
) -> None:
    del written
    tests = _module(tmp_path / "tests/unit/test_my_admm.py", "written_tests")
    found = [value for name, value in vars(tests).items() if name.startswith("test_")]
    assert len(found) == 2
    for test in found:
        with pytest.raises(AssertionError):
            test()
    tests.PRINTED.update(delta=1e-5, epsilon=0.078125 + 2 * (0.078125 * 11.512925465) ** 0.5)
    found[0]()
    tests.exact_mu = lambda: 10**0.5 / 8
    found[1]()
    page = (tmp_path / "docs/theorems/my-admm.md").read_text()
    assert "## What a careful reading finds" in page
    assert "$T$ releases" in page


def test_nothing_is_overwritten_and_names_are_checked(run: Any, tmp_path: Path) -> None:
    run("new plan mine")
    (tmp_path / "mine.toml").write_text("mine")
    for line, told in (
        ("new plan mine", "'mine.toml' exists"),
        ("new plan Mine", "'mine.toml' exists"),
        ("new plan ../up", "try my-name"),
        ("new plan 3rd", "try my-name"),
        ("new plans x", "did you mean 'plan'?"),
        ("new theorem x", "a checkout of dpcalc"),
        ("new plan x --family y", "leave it out"),
    ):
        status, _, err = run(line)
        assert (status, told in err) == (2, True), err
    assert (tmp_path / "mine.toml").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.toml"]
