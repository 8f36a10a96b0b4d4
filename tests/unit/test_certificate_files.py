"""Certificates as files: edited ones are refused, and the verbs write and check them."""

from __future__ import annotations

import ast
import copy
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcalc.certificates import checker
from dpcalc.certificates.balls import precision
from dpcalc.certificates.certify import CERTIFIED, certify
from dpcalc.certificates.checker import check, digest
from dpcalc.certificates.evidence import evidence
from dpcalc.certificates.grammar import Refused, exact
from dpcalc.certificates.laws import arb
from dpcalc.certificates.mechanisms import rounds_of
from dpcalc.cli.main import main
from dpcalc.guarantees import ApproxDP, PureDP, compose
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian
from tests.unit.certificate_files import HEADLINE

FOLDER = Path(checker.__file__).parent


def certificate_of(*parts: Any, delta: float, adjacency: str = "add-remove") -> dict[str, Any]:
    total = compose(*parts)
    bracket = total.bracket(delta)
    found = certify(parts, adjacency, delta, bracket.upper, bracket.lower)
    assert (found.upper, found.lower) == (CERTIFIED, CERTIFIED)
    assert found.certificate is not None
    return found.certificate


@pytest.fixture(scope="module")
def small() -> dict[str, Any]:
    sampled = poisson_subsampled_gaussian(1.0, 0.01, "add-remove")
    return certificate_of((sampled, 2000), (PureDP(0.1), 1), delta=1e-5)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        if isinstance(child, dict | list):
            yield from leaves(child, (*path, key))
        else:
            yield (*path, key)


def changed(certificate: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    edited = copy.deepcopy(certificate)
    place: Any = edited
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return edited


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_every_edit_is_refused_or_leaves_a_true_statement(
    small: dict[str, Any], data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(list(leaves(small))))
    old: Any = small
    for key in path:
        old = old[key]
    values = st.sampled_from(
        ["0", "1", "nan", "inf", "1 +/- 2", "", None, True, -1, [], {}, "1e-3"]
    )
    if isinstance(old, int):
        values |= st.integers(old - 3, old + 3).filter(lambda n: n != old)
    elif old.replace(".", "").replace("e-", "").isdigit():
        values |= st.floats(0.5, 2).map(lambda f: repr(float(old) * f))
    edited = changed(small, path, data.draw(values))
    if edited == small:
        return
    with pytest.raises(Refused):
        check(edited)
    edited["digest"] = digest(edited)
    try:
        check(edited)
    except Refused:
        return
    assert says_what_is_true(edited)


def says_what_is_true(certificate: dict[str, Any]) -> bool:
    """Whether the engine, which shares no code, agrees with both ends."""
    parts = []
    for release in certificate["releases"]:
        if release["mechanism"] == "approximate":
            part = ApproxDP(float(exact(release["epsilon"])), float(exact(release["delta"])))
        else:
            sigma, rate = float(exact(release["noise_multiplier"])), float(exact(release["rate"]))
            part = poisson_subsampled_gaussian(sigma, rate, certificate["adjacency"])
        parts.append((part, release["count"]))
    total, delta = compose(*parts), float(exact(certificate["delta"]))
    upper = total.delta_bracket(float(exact(certificate["upper"]["epsilon"])))
    lower = total.delta_bracket(float(exact(certificate["lower"]["epsilon"])))
    return upper.lower <= delta <= lower.upper


def test_dropped_added_and_repeated_fields_are_refused(small: dict[str, Any]) -> None:
    for name in small:
        edited = {k: v for k, v in small.items() if k != name}
        if name != "digest":
            edited["digest"] = digest(edited)
        with pytest.raises(Refused):
            check(edited)
    added = {**small, "note": "1"}
    added["digest"] = digest(added)
    with pytest.raises(Refused):
        check(added)
    one_direction = copy.deepcopy(small)
    del one_direction["upper"]["evidence"]["add"]
    one_direction["digest"] = digest(one_direction)
    with pytest.raises(Refused):
        check(one_direction)
    with pytest.raises(Refused):
        json.loads('{"a": 1, "a": 2}', object_pairs_hook=checker.unique)


@pytest.mark.parametrize("value", [[], {}, ["line"], None, 1, "exec"])
def test_a_method_that_is_no_name_is_refused(small: dict[str, Any], value: Any) -> None:
    edited = changed(small, ("upper", "evidence", "add", "method"), value)
    edited["digest"] = digest(edited)
    with pytest.raises(Refused):
        check(edited)


def test_planted_aliases_and_tails_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer nodes or a shorter period widen the enclosure; they do not move it."""
    how = evidence(HEADLINE, "upper", "6.187714385426877", "remove")
    with precision(how["precision"]):
        rounds = rounds_of(HEADLINE["releases"], "add-remove", False)
        eps = arb("6.187714385426877")
        good = checker.enclosure(rounds, eps, how)
        for poor in (
            {"nodes": 5, "quiet": [6]},
            {"period": "3"},
            {"real_part": "0.9"},
            {"order": "4.5"},
        ):
            assert checker.enclosure(rounds, eps, {**how, **poor}).overlaps(good)


PLAN = """delta = 1e-6
adjacency = "{}"
[[release]]
mechanism = "poisson-subsampled-gaussian"
noise_multiplier = 0.8
rate = 0.02
count = 600
"""


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.few(1)
def test_compose_and_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], adjacency: str
) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "out.json"
    plan.write_text(PLAN.format(adjacency))
    with pytest.raises(SystemExit) as status:
        main(["compose", str(plan), "--certify", str(out)])
    assert status.value.code == 0
    assert "both ends certified" in capsys.readouterr().out
    with pytest.raises(SystemExit) as status:
        main(["check", str(out)])
    assert status.value.code == 0
    shown = capsys.readouterr().out
    assert "600 × poisson-subsampled-gaussian, noise_multiplier 0.8, rate 0.02" in shown
    text = out.read_text().replace('"count": 600', '"count": 601')
    out.write_text(text)
    with pytest.raises(SystemExit) as status:
        main(["check", str(out), "--json"])
    assert status.value.code == 1
    assert json.loads(capsys.readouterr().out)["certificates"][0]["verdict"] == "REFUSED"


def test_every_verb_that_answers_with_epsilon_certifies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plan = str(tmp_path / "out.json"), tmp_path / "plan.toml"
    plan.write_text(
        """delta = 1e-6\n[[release]]\nmechanism = "gaussian-without-replacement"
noise_multiplier = 4\nsample = 500\npopulation = 1000\ncount = 200"""
    )
    dp_admm = "dp-admm --n-records 100 --rounds 5 --gradient-bound 1 --dual-start zero --delta 1e-5"
    for command in (
        f"compose {plan}",
        f"epsilon {dp_admm} --sigma 1",
        f"noise {dp_admm} --epsilon 1",
        "calibrate laplace --rounds 3 --epsilon 1 --delta 0 --adjacency add-remove",
    ):
        with pytest.raises(SystemExit) as status:
            main([*command.split(), "--certify", out])
        assert status.value.code == 0, command
        assert "end certified" in capsys.readouterr().out.replace("ends", "end")
        with pytest.raises(SystemExit) as status:
            main(["check", out])
        assert status.value.code == 0, command
        assert capsys.readouterr().out.startswith("VERIFIED")


def test_what_is_not_certified_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    asked = "recycled-admm --n-records 8000 --n-nodes 5 --degree 3 --loss-weight 1750 --rounds 2"
    more = "--regularization 0.22 --penalty 1 --noise-rate 1 --dimension 3000 --delta 1e-6"
    with pytest.raises(SystemExit) as status:
        main(["epsilon", *asked.split(), *more.split(), "--certify", str(out)])
    assert status.value.code == 3
    assert "not certified: in more than 2,000 dimensions" in capsys.readouterr().out
    assert not out.exists()


@pytest.mark.parametrize("content", ["", "{}", "[]", "[1]", '{"format": 1}', "\0"])
def test_files_that_are_no_certificates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    file = tmp_path / "out.json"
    file.write_text(content)
    with pytest.raises(SystemExit) as status:
        main(["check", str(file)])
    assert status.value.code in (1, 2)
    captured = capsys.readouterr()
    assert "REFUSED" in captured.out or "expected a certificate" in captured.err


def test_a_certificate_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as status:
        main(["check", "out.json"])
    assert status.value.code == 2
    told = "expected a readable certificate; got 'out.json' (No such file or directory)"
    assert capsys.readouterr().err == f"dpcalc: {told}\n"


def test_without_the_library_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "flint", None)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format("add-remove"))
    for command in (["compose", str(plan), "--certify", "x.json"], ["check", "x.json"]):
        with pytest.raises(SystemExit) as status:
            main(command)
        assert status.value.code == 2
        assert "needs python-flint, which is not installed" in capsys.readouterr().err


def lines_of_code(path: Path) -> int:
    """Lines that hold anything but comments and docstrings."""
    text = path.read_text()
    tree = ast.parse(text)
    prose: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {t.start[0] for t in tokens if t.type not in skipped and t.string}
    return len(code - prose)


PAGE = Path(__file__).parents[2] / "docs" / "certificates.md"
TRUSTED = {
    name: int(lines)
    for name, lines in re.findall(r"\| `(\w+)\.py` \| (\d+) \|", PAGE.read_text("utf-8"))
}
"""What verifies a certificate, with its lines of code as the page has them."""


def test_the_page_says_how_long_the_checker_is() -> None:
    assert {name: lines_of_code(FOLDER / f"{name}.py") for name in TRUSTED} == TRUSTED
    assert TRUSTED["checker"] <= 150
    total = sum(TRUSTED.values())
    assert f"All mechanisms and methods together are {total}" in PAGE.read_text("utf-8")


@pytest.mark.parametrize("name", TRUSTED)
def test_the_checker_depends_on_nothing_else(name: str) -> None:
    allowed = {
        "__future__",
        "bisect",
        "collections",
        "contextlib",
        "contextvars",
        "dataclasses",
        "flint",
        "fractions",
        "hashlib",
        "json",
    }
    allowed |= {"functools", "itertools", "math", "operator", "pathlib", "re", "sys", "typing"}
    allowed |= {"signal", "threading"} if name == "balls" else set()  # Ctrl-C within an integral
    for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text())):
        if isinstance(node, ast.ImportFrom):
            trusted = {f"dpcalc.certificates.{name}" for name in TRUSTED}
            assert node.module in trusted or str(node.module).split(".")[0] in allowed
        elif isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= allowed
