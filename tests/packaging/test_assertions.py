"""Every test can fail: it asserts, itself or through a helper, or checks what is refused elsewhere.

A helper is a function of the tests that asserts, found through the imports of the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
RAISE_ON_FAILURE = {
    "check": "scikit-learn's checks of an estimator",
    "declared.check_loss": "test_declared refuses losses that break their word",
    "declared.check_regulariser": "test_declared refuses regularisers that break theirs",
    "release.check": "test_release refuses changed, missing and other files",
}
"""Checks of somebody's, or of ours that other tests see refuse."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _asserts(node: ast.AST) -> bool:
    """Whether something in it can fail by itself."""
    for each in ast.walk(node):
        if isinstance(each, ast.Assert):
            return True
        if isinstance(each, ast.Call):
            name = ast.unparse(each.func)
            if "assert_" in name or name in ("pytest.raises", "pytest.warns", "pytest.fail"):
                return True
    return False


def _imported(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Module and name behind every name imported from the tests; no name for a module."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tests":
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                whole = _path(module).exists()
                place = (module, "") if whole else (str(node.module), alias.name)
                found[alias.asname or alias.name] = place
    return found


def _path(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


@cache
def _module(name: str) -> tuple[dict[str, Function], dict[str, tuple[str, str]]]:
    """The functions of a module of the tests, and what it imports from others."""
    tree = ast.parse(_path(name).read_text("utf-8"))
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, Function)}
    return functions, _imported(tree)


def _can_fail(module: str, function: str, seen: frozenset[tuple[str, str]] = frozenset()) -> bool:
    """Whether a function asserts, or one that it calls does."""
    if not _path(module).exists() or (module, function) in seen:
        return False
    functions, imported = _module(module)
    if function not in functions:
        return False
    node = functions[function]
    if _asserts(node):
        return True
    seen |= {(module, function)}
    return any(_can_fail(*place, seen) for place in _called(node, module, imported))


def _called(
    node: Function, module: str, imported: dict[str, tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        owner, _, name = ast.unparse(call.func).rpartition(".")
        if owner in imported:
            yield imported[owner][0], name
        elif not owner:
            yield imported.get(name, (module, name))


def test_every_test_can_fail() -> None:
    silent = []
    for path in sorted(TESTS.rglob("test_*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name, node in _module(module)[0].items():
            if name.startswith("test_") and not _can_fail(module, name):
                calls = {ast.unparse(c.func) for c in ast.walk(node) if isinstance(c, ast.Call)}
                if not calls & RAISE_ON_FAILURE.keys():
                    silent.append(f"{module}:{node.lineno} {name}")
    assert silent == []


def test_a_test_that_cannot_fail_is_seen() -> None:
    (silent,) = ast.parse("def test_x():\n    value = f(1)\n    print(value)").body
    (loud,) = ast.parse("def test_x():\n    with pytest.raises(ValueError):\n        f(1)").body
    assert not _asserts(silent)
    assert _asserts(loud)
    assert _can_fail("tests.algorithms.test_network_admm", "test_m_admm_with_one_penalty_is_admm")
    assert not _can_fail("tests.algorithms.test_network_admm", "problem")
