"""What `import dpcalc` offers: loaded on demand, seen by type checkers, the answers of the verbs."""

from __future__ import annotations

import ast
import json
import math
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import dpcalc
from dpcalc.cli.main import main
from dpcalc.errors import InvalidInput
from dpcalc.theorems import DPADMM, stub
from dpcalc.theorems.catalogue import keys, privacy_result, results
from dpcalc.theorems.parameters import parameters

SETTING: dict[str, Any] = {
    "n_records": 32561,
    "rounds": 100,
    "gradient_bound": 1,
    "dual_start": "zero",
}
OPTIONS = ["--n-records", "32561", "--rounds", "100", "--gradient-bound", "1"]


def _names_for_type_checkers() -> set[str]:
    tree = ast.parse(Path(dpcalc.__file__).read_text())
    (branch,) = [
        node
        for node in tree.body
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    ]
    imports = [node for node in branch.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def test_every_name_exists_at_run_time_and_for_type_checkers() -> None:
    assert _names_for_type_checkers() == set(dpcalc.__all__)
    for name in dpcalc.__all__:
        assert getattr(dpcalc, name) is not None
        assert name in dir(dpcalc)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="calibrat"):
        _ = dpcalc.calibrat  # type: ignore[attr-defined]  # the error that is tested


def test_the_public_names_in_a_fresh_interpreter_load_one_at_a_time() -> None:
    script = (
        "import sys, dpcalc; dpcalc.PureDP; "
        "print(sorted({'dpcalc.auditing', 'dpcalc.claims', 'sympy'} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_the_list_of_results_for_type_checkers_is_complete() -> None:
    written = ast.dump(ast.parse(stub.PATH.read_text(encoding="utf-8")))
    assert written == ast.dump(ast.parse(stub.text())), "run: python -m dpcalc.theorems.stub"


def test_every_result_can_be_imported_by_its_class_name() -> None:
    import dpcalc.theorems as package

    for result in results():
        assert getattr(package, result.__name__) is result
        assert result.__name__ in dir(package)
    assert not hasattr(package, "DPADM")


@pytest.mark.parametrize("result", [*results()], ids=lambda result: result.key)
def test_choices_are_known_to_type_checkers(result: Any) -> None:
    """As literals or as an enum, the very words that are taken."""
    types = get_type_hints(result)
    for name, parameter in parameters(result).items():
        if parameter.kind == "choice":
            parts = [types[name], *get_args(types[name])]
            enums = [part for part in parts if isinstance(part, type) and issubclass(part, StrEnum)]
            literals = [part for part in parts if get_origin(part) is Literal]
            words = {str(w) for part in enums for w in part}
            words |= {str(w) for part in literals for w in get_args(part)}
            assert {word.replace(" ", "-") for word in words} >= set(parameter.choices), name


def test_epsilon_is_what_the_command_line_prints(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--sigma", "0.01", "--dual-start", "zero", "--delta", "1e-5", "--json"]
    with pytest.raises(SystemExit):
        main(["epsilon", "dp-admm", *OPTIONS, *arguments])
    printed = json.loads(capsys.readouterr().out)
    found = dpcalc.epsilon("dp-admm", delta=1e-5, sigma=0.01, **SETTING)
    assert {**printed, **found.record()} == printed
    assert set(printed) - set(found.record()) == {"schema_version", "dpcalc_version", "verb"}
    assert float(found) == found.certified == printed["certified"]["epsilon"]
    assert found.claimed == printed["claimed"]["epsilon"]
    assert found.verdict == printed["verdict"] == "REFUTED"
    assert found.attained is not None
    assert found.claimed is not None
    assert found.claimed < found.attained <= found.certified
    assert found.reason == printed["reason"]


def test_noise_is_what_the_command_line_prints(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--dual-start", "zero", "--epsilon", "1", "--delta", "1e-5", "--json"]
    with pytest.raises(SystemExit):
        main(["noise", "dp-admm", *OPTIONS, *arguments])
    printed = json.loads(capsys.readouterr().out)
    found = dpcalc.noise("dp-admm", epsilon=1, delta=1e-5, **SETTING)
    assert {**printed, **found.record()} == printed
    assert set(printed) - set(found.record()) == {"schema_version", "dpcalc_version", "verb"}
    assert float(found) == found.value == printed["certified"]["sigma"]
    assert found.parameter == "sigma"
    assert 0.999 < found.spent <= 1


def test_calibrate_solves_mechanisms_and_theorems(capsys: pytest.CaptureFixture[str]) -> None:
    command = "calibrate gaussian --epsilon 1 --delta 1e-5 --adjacency add-remove --json"
    with pytest.raises(SystemExit):
        main(command.split())
    printed = json.loads(capsys.readouterr().out)
    found = dpcalc.calibrate("gaussian", epsilon=1, delta=1e-5, adjacency="add-remove")
    assert found.value == printed["value"]
    kind = privacy_result("dp-admm")
    instance = dpcalc.calibrate(kind, epsilon=1, delta=1e-5, **SETTING)
    assert instance == dpcalc.noise("dp-admm", epsilon=1, delta=1e-5, **SETTING).theorem
    start = kind.from_parameters({**SETTING, "sigma": 5})
    assert dpcalc.calibrate(start, epsilon=1, delta=1e-5).noise_level() == pytest.approx(
        instance.noise_level(), rel=1e-11
    )


def test_rounds_of_randomised_response_can_be_solved_for() -> None:
    found = dpcalc.calibrate("randomised-response", epsilon=1, delta=1e-6, each=0.01)
    assert found.field == "rounds"
    assert found.value >= 100  # a plain sum of 0.01 allows that many


def test_compose_takes_guarantees_and_pairs() -> None:
    total = dpcalc.compose((dpcalc.PureDP(0.1), 100), dpcalc.GDP(0.5))
    hundred = dpcalc.compose((dpcalc.PureDP(0.1), 100))
    assert total == dpcalc.compose(hundred, dpcalc.GDP(0.5)) != hundred
    for wrong in (0.1, (0.1, 3), [dpcalc.PureDP(0.1)], (dpcalc.PureDP(0.1), 1, 2)):
        with pytest.raises(InvalidInput, match="try compose"):
            dpcalc.compose(wrong)  # type: ignore[arg-type]  # what is tested


def test_answers_say_what_they_are_about() -> None:
    by_default = dpcalc.epsilon("dp-admm", delta=1e-5, sigma=0.01, **SETTING)
    stated = dpcalc.epsilon("dp-admm", delta=1e-5, sigma=0.01, adjacency="replace-one", **SETTING)
    assert by_default.record()["adjacency_basis"] == "default"
    assert stated.record()["adjacency_basis"] == "stated"
    other = dpcalc.epsilon(stated.theorem, delta=1e-5, adjacency="add-remove")
    assert other.record()["adjacency"] == "add-remove"
    assert other.certified < stated.certified
    for text in (str(stated), stated._repr_html_()):
        assert all(word in text for word in ("replace-one", "1e-5", "every iterate"))
    assert "replace-one" in str(dpcalc.noise("dp-admm", epsilon=1, delta=1e-5, **SETTING))


def test_what_cannot_be_answered_is_refused() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'dp-admm'"):
        dpcalc.epsilon("dp-adm", delta=1e-5)
    with pytest.raises(InvalidInput, match="also needs n_records"):
        dpcalc.epsilon("dp-admm", delta=1e-5, rounds=3)
    with pytest.raises(InvalidInput, match="delta"):
        dpcalc.epsilon("dp-admm", sigma=0.01, **SETTING)
    with pytest.raises(InvalidInput, match="leave it out"):
        dpcalc.noise("dp-admm", epsilon=1, delta=1e-5, sigma=1, **SETTING)
    with pytest.raises(InvalidInput, match=r"dpcalc\.noise"):
        dpcalc.calibrate("dp-admm", epsilon=1, delta=1e-5)
    with pytest.raises(InvalidInput, match="has its parameters"):
        dpcalc.calibrate(DPADMM(sigma=1, **SETTING), 1, 1e-5, rounds=3)  # type: ignore[call-overload]  # what is tested
    with pytest.raises(InvalidInput, match="by its key, class or instance"):
        dpcalc.epsilon(dpcalc.PureDP(1), delta=0)  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("key", keys(privacy=True))
def test_every_theorem_answers_at_its_example(key: str) -> None:
    example = privacy_result(key).example
    found = dpcalc.epsilon(key, delta=1e-5, **example)
    assert 0 <= found.certified < math.inf
    assert f"{found.theorem.key}" in found._repr_html_()


def test_guarantees_are_short_in_a_notebook_and_on_the_screen() -> None:
    one = dpcalc.mechanisms.poisson_subsampled_gaussian(1.0, 0.01, "add-remove")
    total = dpcalc.compose((one, 1000), dpcalc.GDP(0.5))
    assert len(repr(total)) < 200
    assert "q = 0.01" in repr(total)
    assert "mu" in dpcalc.GDP(0.5)._repr_html_()


def _shown() -> dict[str, Any]:
    """Every kind of answer that a notebook shows."""
    from dpcalc.accountant import Accountant
    from dpcalc.auditing import Claim, Counts, audit_counts
    from dpcalc.claims.verdict import Claim as Statement
    from dpcalc.claims.verdict import judge
    from dpcalc.sweep import sweep_table

    theorem = DPADMM(sigma=0.01, **SETTING)
    step = {"mechanism": "gaussian", "noise_multiplier": 20}
    grid = {
        "mechanism": "gaussian",
        "delta": 1e-6,
        "parameters": {"rounds": [1, 10], "noise_multiplier": [2.0, 4.0, 8.0]},
    }
    return {
        "GDP": dpcalc.GDP(1),
        "Composition": dpcalc.compose((dpcalc.GDP(1), 3), dpcalc.PureDP(0.5)),
        "RDP": dpcalc.RDP.from_points({2: 0.1, 8: 0.4}),
        "Bound": theorem.certified(),
        "Budget": dpcalc.epsilon(theorem, 1e-5),
        "Noise": dpcalc.noise("dp-admm", epsilon=1, delta=1e-5, **SETTING),
        "Solution": dpcalc.calibrate("gaussian", epsilon=1, delta=1e-5),
        "Accountant": Accountant(1.0, 1e-6).spend(step, 3),
        "Judgement": judge(Statement("ours", theorem, 0.1, 1e-5)),
        "SweepTable": sweep_table(grid),
        "Verdict": audit_counts(
            Claim.of(epsilon=1, adjacency="replace-one"), Counts.of(95, 5, 5, 95), alpha=0.05
        ),
    }


SHOWN = (
    "GDP", "Composition", "RDP", "Bound", "Budget", "Noise", "Solution", "Accountant", "Judgement",
    "SweepTable", "Verdict",
)  # fmt: skip


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    return _shown()


@pytest.mark.parametrize("name", SHOWN)
def test_an_answer_is_short_in_the_shell_a_table_in_a_notebook_and_a_picture(
    name: str, answers: dict[str, Any]
) -> None:
    found = answers[name]
    assert type(found).__name__ == name
    text = repr(found)
    assert text.startswith(f"{name}(")
    assert len(text) < 200
    assert "<function" not in text
    assert found._repr_html_().startswith("<table>")
    axes = found.plot()
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    assert axes.lines
    assert dpcalc.__version__ in axes.figure.get_supxlabel()


def test_a_picture_shows_the_numbers_of_the_answer(answers: dict[str, Any]) -> None:
    for name in ("GDP", "Bound", "Accountant", "Judgement"):
        line = answers[name].plot().lines[0]
        of = answers[name]
        if name == "Accountant":
            of = of.total()
        if name == "Judgement":
            of = of.claim.guarantee
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True):
            assert y == of.epsilon(x)
    spot = answers["Judgement"].plot().lines[1]
    assert (spot.get_label(), *spot.get_xdata(), *spot.get_ydata()) == ("the claim", 1e-5, 0.1)


def test_a_bound_answers_like_its_guarantee(answers: dict[str, Any]) -> None:
    bound = answers["Bound"]
    assert bound.epsilon(1e-5) == bound.guarantee.epsilon(1e-5)
    assert bound.delta(0.2) == bound.guarantee.delta(0.2)


def test_the_noise_over_the_budget_is_that_of_each_budget(answers: dict[str, Any]) -> None:
    axes = answers["Noise"].plot([0.5, 1.0])
    (line,) = [line for line in axes.lines if line.get_label() == "certified"]
    for epsilon, noise in zip(line.get_xdata(), line.get_ydata(), strict=True):
        one = dpcalc.noise("dp-admm", epsilon=epsilon, delta=1e-5, **SETTING)
        assert noise == pytest.approx(one.value, rel=1e-11)


def test_a_table_of_a_sweep_is_the_one_of_the_command_line(
    answers: dict[str, Any], tmp_path: Path
) -> None:
    table = answers["SweepTable"]
    assert len(table) == 6
    table.write(tmp_path / "grid.csv")
    assert (tmp_path / "grid.csv").read_text().count("\n") == 7
    one = dpcalc.compose((dpcalc.mechanisms.gaussian(2.0, "add-remove"), 10)).epsilon(1e-6)
    (found,) = [r["certified"] for r in table if (r["rounds"], r["noise_multiplier"]) == (10, 2.0)]
    assert one <= found * (1 + 1e-12) <= one * (1 + 1e-3)
    with pytest.raises(InvalidInput, match="a column of the table"):
        table.column("sigma")


@pytest.mark.parametrize(
    ("ask", "there_is"),
    [
        (lambda many: dpcalc.GDP(1).epsilon(many), r"guarantee\.epsilons"),
        (lambda many: dpcalc.GDP(1).delta(many), r"guarantee\.deltas"),
        (lambda many: dpcalc.GDP(1).tradeoff(many), r"guarantee\.tradeoffs"),
    ],
)
def test_many_values_at_once_are_told_where_to_ask(ask: Any, there_is: str) -> None:
    import numpy as np

    for many in ([0.1, 0.2], np.array([0.1, 0.2]), (0.1,)):
        with pytest.raises(InvalidInput, match=there_is):
            ask(many)
    assert dpcalc.GDP(1).epsilons(np.array([1e-5, 1e-6])) == (
        dpcalc.GDP(1).epsilon(1e-5),
        dpcalc.GDP(1).epsilon(1e-6),
    )


@pytest.mark.parametrize("key", ["private-dual-averaging", "noisy-gd", "penalty-perturbation"])
def test_what_is_attained_is_the_lower_end(key: str) -> None:
    """Where the instance's ε is enclosed, the upper end may be more than anything leaks."""
    found = dpcalc.epsilon(key, delta=1e-6, **dict(dpcalc.theorem(key).example))
    instance = found.theorem.attained()
    assert instance is not None
    assert found.attained is not None
    assert found.attained < instance.guarantee.epsilon(1e-6)
    bracket = getattr(instance.guarantee, "bracket", None)
    if bracket is not None:
        assert found.attained == bracket(1e-6).lower
