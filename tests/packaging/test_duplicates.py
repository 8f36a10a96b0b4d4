"""No six lines of code stand twice: one piece of logic has one home.

Lines are compared without their white space. Imports, docstrings, comments, signatures with their
decorators and texts over several lines are no logic and do not count; nor do lone brackets.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FEWEST = 6
Line = tuple[int, str]


def _no_logic(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """First and last lines of what does not count."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node.lineno, node.end_lineno or 0
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield first, node.body[0].lineno - 1
        elif isinstance(node, ast.Constant) and "\n" in str(node.value):
            yield node.lineno, node.end_lineno or 0


def _logic(text: str) -> list[Line]:
    """Numbers and contents of the lines that count."""
    left_out = {n for first, last in _no_logic(ast.parse(text)) for n in range(first, last + 1)}
    lines = enumerate((" ".join(line.split()) for line in text.splitlines()), start=1)
    return [
        (number, line)
        for number, line in lines
        if number not in left_out and not line.startswith("#") and any(map(str.isalnum, line))
    ]


def _twice(texts: dict[str, str]) -> list[str]:
    """Where a run of equal lines begins, in both places."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, text in texts.items():
        lines = _logic(text)
        for start in range(len(lines) - FEWEST + 1):
            run = lines[start : start + FEWEST]
            places[tuple(line for _, line in run)].append(f"{name}:{run[0][0]}")
    return [" ~ ".join(found) for found in places.values() if len(found) > 1]


def _modules(*folders: str) -> dict[str, str]:
    """Texts by path; the links inside dpcalc are not followed."""
    found = {}
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            place = path.relative_to(ROOT)
            if place.parts[:2] not in (("dpcalc", "algorithms"), ("dpcalc", "audits")):
                found[str(place)] = path.read_text("utf-8")
    return found


@pytest.mark.parametrize("folders", [("dpcalc", "algorithms", "audits"), ("tests",)])
def test_no_six_lines_stand_twice(folders: tuple[str, ...]) -> None:
    texts = _modules(*folders)
    assert len(texts) > 200
    assert _twice(texts) == []


def test_what_stands_twice_is_seen() -> None:
    body = [f"    a{k} = b + {k}\n" for k in range(FEWEST)]
    one, other = "def f(b):\n" + "".join(body), "def g(b):\n  " + "  ".join(body)
    assert _twice({"x": one, "y": other}) == ["x:2 ~ y:2"]
    assert _twice({"x": one, "y": one.replace("a3", "c")}) == []
    docstring = 'def h(\n    a1,\n    a2,\n):\n    """' + "\n    ".join("abcdef") + '"""\n'
    assert _twice({"x": docstring, "y": docstring}) == []
