"""Imports go one way; nothing heavy is loaded at import; the wheel holds one name."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ORDER = [
    {"errors", "vocabulary", "extras", "markup"},
    {"checks", "files", "numerals", "packed", "wording"},
    {"archive", "delimited", "execution", "pictures", "sealed", "store", "trail"},
    {"numerics"},
    {"accounting"},
    {"transcript"},
    {"guarantees"},
    {"certificates"},
    {"auditing"},
    {"theorems"},
    {"calibration"},
    {"claims"},
    {"accountant", "interop", "odometer", "recorders"},
    {"report"},
    {"answers"},
    {"training"},
    {"estimators", "reproduction", "selftest", "sweep"},
    {"cli", "__main__"},
]
LEVEL = {name: k for k, names in enumerate(ORDER) for name in names}
ALGORITHMS_MAY = {
    "errors",
    "vocabulary",
    "extras",
    "checks",
    "files",
    "store",
    "delimited",
    "packed",
    "transcript",
    "algorithms",
}
RUN_ALGORITHMS = {"training", "estimators", "reproduction"}
"""Where an algorithm meets the theorem that says what it spends; below them nothing runs."""
HEAVY = {"sympy", "pandas", "matplotlib", "networkx", "sklearn", "rich"}


def _files(folder: str) -> list[Path]:
    return sorted(p for p in (ROOT / folder).rglob("*.py") if "__pycache__" not in p.parts)


def _own_imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    """Second components of dpcalc imports, type-checking blocks left out."""
    tree = ast.parse(path.read_text())
    found: set[str] = set()
    nodes = ast.iter_child_nodes(tree) if top_level_only else ast.walk(_without_type_checking(tree))
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dpcalc"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("dpcalc.")}
    return found


def _without_type_checking(tree: ast.Module) -> ast.Module:
    class Strip(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                return None
            return self.generic_visit(node)

    return Strip().visit(tree)


@pytest.mark.parametrize("path", _files("dpcalc"), ids=lambda p: str(p.relative_to(ROOT)))
def test_core_imports_only_lower_layers(path: Path) -> None:
    relative = path.relative_to(ROOT / "dpcalc").parts
    if relative[0] in ("algorithms", "audits") or relative == ("__init__.py",):
        return
    own = relative[0].removesuffix(".py")
    for name in _own_imports(path):
        if own == "cli" and name in ("algorithms", "audits"):
            continue  # verbs that run something load it when called
        if own in RUN_ALGORITHMS and name == "algorithms":
            continue
        assert LEVEL[name] <= LEVEL[own], f"{own} may not import {name}"


@pytest.mark.parametrize("path", _files("algorithms"), ids=lambda p: str(p.relative_to(ROOT)))
def test_algorithms_never_see_a_budget(path: Path) -> None:
    assert _own_imports(path) <= ALGORITHMS_MAY


@pytest.mark.parametrize(
    "path", [*_files("dpcalc"), *_files("algorithms")], ids=lambda p: str(p.relative_to(ROOT))
)
def test_nothing_heavy_is_imported_with_a_module(path: Path) -> None:
    for node in ast.iter_child_nodes(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [a.name.split(".")[0] for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module.split(".")[0]]
        allowed = {"sklearn"} if "estimators" in path.parts else set()  # they are its classes
        assert not (HEAVY - allowed) & set(names), f"{path.name} imports {names} at its top"


def test_what_developers_are_told_is_what_is_kept() -> None:
    told = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    _, _, after = told.partition("imports go one way:\n")
    floors = after.partition("\n")[0].split("←")
    assert [
        {*re.findall(r"`(\w+)`", floor)} | ({"__main__"} & names)
        for floor, names in zip(floors, ORDER, strict=True)
    ] == ORDER
    row = next(line for line in told.splitlines() if line.startswith("| `algorithms/` |"))
    assert {*re.findall(r"`dpcalc\.(\w+)`", row)} == ALGORITHMS_MAY - {"algorithms"}


def test_importing_the_package_is_cheap() -> None:
    script = "import dpcalc, sys; print(sorted({'numpy', 'scipy', 'mpmath'} & set(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("first", "unneeded"),
    [
        ("from dpcalc.cli.main import main; main(['--help'])", {"numpy", "email", "rich"}),
        ("import dpcalc.answers", {"dpcalc.auditing", "mpmath", "scipy", "sqlite3", "email"}),
        ("import dpcalc; dpcalc.Accountant", {"dpcalc.auditing", "scipy", "sqlite3"}),
    ],
)
def test_what_is_asked_loads_nothing_that_it_does_not_need(first: str, unneeded: set[str]) -> None:
    """A name in a module of sentences once loaded all of auditing, and with it servers of workers."""
    script = f"import atexit, sys; atexit.register(lambda: print({unneeded!r} & {{*sys.modules}})); {first}"
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines()[-1] == "set()"


def _without_links(folder: Path) -> Path:
    """What is packed, as git leaves it where links do not exist: a text with the link's target."""
    for name in ("dpcalc", "algorithms", "audits"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    for link in [path for path in (folder / "dpcalc").iterdir() if path.is_symlink()]:
        target = link.readlink()
        link.unlink()
        link.write_text(str(target))
    return folder


@pytest.mark.parametrize("links", [True, False])
def test_wheel_has_one_top_level_name_and_everything_in_it(tmp_path: Path, links: bool) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT if links else _without_links(tmp_path / "checkout"),
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {n.split("/")[0] for n in names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"dpcalc"}
    assert wheel.name.startswith("dpcalc_privacy-")
    for needed in (
        "dpcalc/py.typed",
        "dpcalc/algorithms/py.typed",
        "dpcalc/audits/py.typed",
        "dpcalc/claims/headline.toml",
        "dpcalc/theorems/gradient_admm/dp_admm.py",
        "dpcalc/cli/main.py",
    ):
        assert needed in names
    assert len(names) == len(set(names))
