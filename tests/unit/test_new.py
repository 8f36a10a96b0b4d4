"""What `dpcalc new` writes runs as it stands; a theorem's own tests fail until it is filled in."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dpcalc.reproduction.catalogue as figures
import dpcalc.training.catalogue as training
from dpcalc import algorithms
from dpcalc.algorithms.problems.builtin import classification
from dpcalc.auditing import Outcome
from dpcalc.auditing.suite.run import carry_out
from dpcalc.cli.main import main
from dpcalc.errors import AssumptionViolated
from dpcalc.reproduction.setup import ExperimentConfig
from dpcalc.theorems import catalogue
from dpcalc.theorems.base import Theorem
from dpcalc.training.method import Budget
from dpcalc.training.prepared_run import prepare
from tests.algorithms import test_contracts as runs
from tests.algorithms import test_density_contracts as densities
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
def checkout(tmp_path: Path) -> Path:
    """A folder of which the catalogue alone is there."""
    (tmp_path / "dpcalc/theorems").mkdir(parents=True)
    (tmp_path / "dpcalc/theorems/catalogue.py").touch()
    return tmp_path


def _begun(monkeypatch: pytest.MonkeyPatch, folder: Path, package: str, name: str) -> ModuleType:
    """A module that was written, as if it stood in its package."""
    full = f"{package}.{name}"
    monkeypatch.setitem(sys.modules, full, ModuleType(full))
    place = full.removeprefix("dpcalc.") if "algorithms" in package else full
    return _module(folder / f"{place.replace('.', '/')}.py", full)


def _fails_until_filled_in(tests: ModuleType) -> None:
    found = [value for name, value in vars(tests).items() if name.startswith("test_")]
    assert found
    for test in found:
        with pytest.raises(AssertionError):
            test()


@pytest.fixture
def written(run: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A theorem that was written, known to the catalogue."""
    status, out, _ = run("new theorem my-admm")
    assert (status, out.count("written: ")) == (0, 5)
    kind = _begun(monkeypatch, checkout, "dpcalc.theorems.my_admm", "my_admm").MyAdmm
    known = catalogue._modules() | {"my-admm": kind.__module__}
    monkeypatch.setattr(catalogue, "_modules", lambda: known)
    return kind


@pytest.fixture
def algorithm(run: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An algorithm that was written, known to the catalogue."""
    assert run("new algorithm my-admm")[0] == 0
    kind = _begun(monkeypatch, checkout, "dpcalc.algorithms", "my_admm").ALGORITHM
    monkeypatch.setattr(algorithms, "catalogue", lambda: ("my-admm",))
    return kind


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


def test_an_algorithm_keeps_its_contracts(algorithm: Any, checkout: Path) -> None:
    for kept in (
        runs.test_same_seed_same_bits,
        runs.test_a_batch_is_its_runs_one_by_one,
        runs.test_a_transcript_is_frozen_and_says_what_it_holds,
        runs.test_the_last_iterate_is_the_end_of_the_full_release,
        densities.test_every_access_is_declared_and_no_other_happens,
        densities.test_accesses_are_complete_records,
    ):
        kept(algorithm.example())
    densities.test_no_neighbour_moves_a_query_by_more_than_its_sensitivity(algorithm.example(), 1)
    tests = _module(checkout / "tests/algorithms/test_my_admm.py", "written_tests")
    _fails_until_filled_in(tests)
    example = algorithm.example()

    def by_hand(noise: Any) -> Any:
        x, found = np.zeros((1, 3)), []
        for unit in noise:
            x = x - 0.5 * (example.problem.gradient(x) + 0.3 * unit)
            found.append(x[0])
        return np.array(found)

    tests.by_hand = by_hand
    tests.test_it_follows_its_equations()


def test_a_method_calibrates_and_trains_with_the_other_two(
    run: Any, written: Any, algorithm: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del algorithm
    assert run("new method my-admm")[0] == 0
    kind = _begun(monkeypatch, checkout, "dpcalc.training.methods", "my_admm").METHOD
    monkeypatch.setattr(training, "methods", lambda: ("my-admm",))
    ready = prepare(kind(), classification(40, 2), network=None, budget=Budget(2.0, 1e-5))
    assert 2 * (1 - 1e-5) < ready.certified <= 2
    assert type(ready.theorem) is written
    assert kind().weights(ready.run(1, runs=3)).shape == (3, 2)
    tests = _module(checkout / "tests/algorithms/test_my_admm_method.py", "written_tests")
    _fails_until_filled_in(tests)


def test_a_figure_is_computed(run: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("new figure smith2026-figure-1")[0] == 0
    name, package = "smith2026_figure_1", "dpcalc.reproduction.figures"
    found = _begun(monkeypatch, checkout, package, name).EXPERIMENT
    assert found.reference == "smith2026, figure 1"
    outcome = found.compute(ExperimentConfig())
    assert [curve.noise for curve in outcome.curves] == ["none", "printed", "certified"]
    assert [curve.epsilon is None for curve in outcome.curves] == [True, False, False]
    monkeypatch.setattr(figures, "names", lambda: ("smith2026-figure-1",))
    tests = _module(checkout / f"tests/algorithms/test_{name}.py", "written_tests")
    _fails_until_filled_in(tests)
    tests.PRINTED = float(outcome.curves[0].statistics()[1][-1])
    tests.test_the_curve_without_noise_ends_where_the_paper_says()


def test_a_result_on_convergence_bounds_what_a_problem_reaches(
    run: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("new convergence my-rate")[0] == 0
    package = "dpcalc.theorems.convergence"
    kind = _begun(monkeypatch, checkout, package, "my_rate").MyRate
    known = catalogue._modules() | {"my-rate": kind.__module__}
    monkeypatch.setattr(catalogue, "_modules", lambda: known)
    status, out, _ = run(
        "rate my-rate --strong-convexity .1 --smoothness 1 --distance 2 --rounds 10"
    )
    assert (status, "LOOSE" in out) == (0, True)
    theorem = kind.from_parameters(kind.example)
    assert theorem.attained().value <= theorem.certified().value < theorem.claimed().value
    for formula in theorem.symbolic():
        which = getattr(theorem, formula.name.split(".")[0])().value
        at = {symbol: formula.values[symbol.name] for symbol in formula.expression.free_symbols}
        assert float(formula.expression.subs(at)) == pytest.approx(which, rel=1e-12)
    with pytest.raises(AssumptionViolated, match="at most smoothness"):
        kind.from_parameters({**kind.example, "strong_convexity": 2}).claimed()
    tests = _module(checkout / "tests/unit/test_my_rate.py", "written_tests")
    _fails_until_filled_in(tests)
    tests.PRINTED, tests.run = 4 * 0.9**10, lambda: 4 * 0.9**20 * (1 - 1e-9)
    tests.test_the_claim_is_the_number_that_the_paper_prints()
    tests.test_a_run_stays_below_the_certified_bound_and_comes_near()
    assert "$$|x_T - x^*|^2" in (checkout / "docs/theorems/my-rate.md").read_text()


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
        ("new figure x", "a figure needs the name of its paper"),
        ("new figure smith2026-figure-1", "a checkout of dpcalc"),
        ("new plan x --family y", "leave it out"),
    ):
        status, _, err = run(line)
        assert (status, told in err) == (2, True), err
    assert (tmp_path / "mine.toml").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.toml"]
