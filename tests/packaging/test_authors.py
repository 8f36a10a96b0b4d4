"""Who adds a paper, or audits a function, needs few names: as many as the files to begin with import."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dpcalc.theorems import authoring

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "dpcalc" / "cli" / "templates"


def _names(path: Path) -> set[str]:
    """What a file imports of the package, by name."""
    return {
        alias.name
        for node in ast.walk(ast.parse(path.read_text("utf-8").replace("$", "")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpcalc")
        for alias in node.names
    }


@pytest.mark.parametrize(
    ("template", "most"),
    [
        ("theorem.py.txt", 10),
        ("theorem_audit.py.txt", 9),
        ("audit.py.txt", 1),
        ("convergence.py.txt", 8),
        ("method.py.txt", 8),
        ("figure.py.txt", 9),
        ("algorithm.py.txt", 18),
    ],
)
def test_a_template_imports_few_names(template: str, most: int) -> None:
    found = _names(TEMPLATES / template)
    assert 0 < len(found) <= most, sorted(found)


def test_theorems_are_written_with_ten_names() -> None:
    assert len(authoring.__all__) == 10
    assert _names(TEMPLATES / "theorem.py.txt") <= {*authoring.__all__}
