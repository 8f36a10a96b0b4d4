"""A module is short enough to be read in one sitting, and so is a function; a second home is cheap."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = {"dpcalc": 300, "algorithms": 300, "audits": 300, "tests": 400}
"""Lines of a module; those of tests hold tables of cases."""

LONGEST_FUNCTION = 60
Found = list[tuple[str, int]]


def _modules(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not {"algorithms", "audits"} & set(path.relative_to(ROOT).parts[1:-1]) or (
                folder == "tests"
            ):
                yield path


def _long_functions(text: str) -> Found:
    """From ``def`` to the end, without the docstring, whose examples may be long, and decorators."""
    return [
        (node.name, length)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (length := _lines(node) - _docstring(node)) > LONGEST_FUNCTION
    ]


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def _docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return _lines(node.body[0]) if ast.get_docstring(node) is not None else 0


@pytest.mark.parametrize("folder", LONGEST)
def test_no_module_is_longer_than_a_sitting(folder: str) -> None:
    lengths = {path: path.read_text("utf-8").count("\n") for path in _modules(folder)}
    assert len(lengths) > 20
    assert {str(p.relative_to(ROOT)): n for p, n in lengths.items() if n > LONGEST[folder]} == {}


@pytest.mark.parametrize("folder", ["dpcalc", "algorithms", "audits"])
def test_no_function_is_longer_than_a_screen(folder: str) -> None:
    found = {p: long for p in _modules(folder) if (long := _long_functions(p.read_text("utf-8")))}
    assert found == {}


def test_a_long_function_is_seen() -> None:
    body = "    pass\n" * LONGEST_FUNCTION
    assert _long_functions("def f():\n" + body) == [("f", LONGEST_FUNCTION + 1)]
    assert _long_functions("def f():\n" + body[9:]) == []
    assert _long_functions('def f():\n    """Told\n    at length."""\n' + body[9:]) == []
