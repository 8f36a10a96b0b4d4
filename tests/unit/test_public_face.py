"""What `import dpcalc` offers: loaded on demand, seen by type checkers, the answers of the verbs."""

from __future__ import annotations

import ast
import json
import math
import subprocess
import sys
from dataclasses import replace
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
from tests.unit.admm_setting import SETTING

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
    assert {name for name in dir(dpcalc) if not name.startswith("_")} == {*dpcalc.__all__}


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


def test_a_mechanism_where_a_theorem_is_needed_is_told_where_to_ask() -> None:
    with pytest.raises(InvalidInput, match=r"mechanisms\.poisson_subsampled_gaussian"):
        dpcalc.epsilon("dp-sgd", delta=1e-5, noise_multiplier=1, rate=0.01, rounds=10)
    with pytest.raises(InvalidInput, match=r"dpcalc\.calibrate\('gaussian'"):
        dpcalc.noise("gaussian", epsilon=1, delta=1e-5)


def test_what_a_solution_says_is_never_less_private_than_what_was_found() -> None:
    found = dpcalc.calibrate("gaussian", epsilon=1, delta=1e-5)
    assert "--" not in str(found)
    assert "adjacency='replace-one' for the other" in str(found)
    for value in (0.12345678901, 0.98765432109, 3.0, 1e-7 / 3, 2.0**40 / 3):
        noise, rate = replace(found, value=value), replace(found, field="rate", value=value)
        said = [float(str(one).split(" = ")[1].split(" over ")[0]) for one in (rate, noise)]
        assert said[0] <= value <= said[1]
        assert said == pytest.approx([value, value], rel=1e-9)


def test_one_kind_of_round_is_one_kind() -> None:
    spent = dpcalc.Accountant(epsilon=1, delta=1e-5).spend(dpcalc.GDP(0.1), 3)
    assert "3 of 1 kind\n" in str(spent)
    assert "3 of 2 kinds" not in str(spent)
    assert "4 of 2 kinds" in str(spent.spend(dpcalc.PureDP(0.1)))
