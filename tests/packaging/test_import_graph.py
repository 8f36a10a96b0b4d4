"""No circle of files, and no circle of the files and folders that share a folder.

Imports that only types need count too, and so do those inside functions: what needs the other to be
understood is one thing in two places. The face `dpcalc/__init__.py` loads names on first use and is
left out; `algorithms` and `audits` are read as the packages they are installed as.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Graph = dict[str, set[str]]
AUDITS = [{"instances"}, {"bugs", "evidence"}, {"libraries"}, {"suite"}]


def _modules(root: Path) -> dict[str, Path]:
    """Every module by its full name; the links inside dpcalc are not followed."""
    found = {}
    for top in ("dpcalc", "algorithms", "audits"):
        for path in sorted((root / top).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            if parts[:2] in (("dpcalc", "algorithms"), ("dpcalc", "audits")):
                continue
            parts = parts if parts[0] == "dpcalc" else ("dpcalc", *parts)
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def _imported(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def _graph(root: Path) -> Graph:
    modules = _modules(root)
    graph: Graph = {}
    for name, path in modules.items():
        ends = {f"{m}.{n}" if f"{m}.{n}" in modules else m for m, n in _imported(path)}
        graph[name] = (ends & modules.keys()) - {"dpcalc", name}
    return graph | {"dpcalc": set()}


def _inside(graph: Graph, folder: str) -> Graph:
    """The same imports between the files and folders that stand in one folder."""
    found: Graph = {}
    for name, ends in graph.items():
        if name.startswith(f"{folder}."):
            own = _child(name, folder)
            found.setdefault(own, set())
            found[own] |= {
                _child(end, folder) for end in ends if f"{end}.".startswith(f"{folder}.")
            }
            found[own].discard(own)
    return found


def _child(name: str, folder: str) -> str:
    return "its face" if name == folder else name.removeprefix(f"{folder}.").split(".")[0]


def _circle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


FOLDERS = sorted({name.rpartition(".")[0] for name in _modules(ROOT) if "." in name})


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Imports of the whole project, read for the tests that ask about them and not at import."""
    return _graph(ROOT)


def test_no_circle_of_files(graph: Graph) -> None:
    assert len(graph) > 400
    assert _circle(graph) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_circle_inside_a_folder(folder: str, graph: Graph) -> None:
    face = {"its face": {_child(end, folder) for end in graph[folder] if end.startswith(folder)}}
    assert _circle(_inside(graph, folder)) == []
    if folder != "dpcalc":
        assert _circle(_inside(graph, folder) | face) == [], "a module imports the face above it"


def test_audits_stand_on_instances_and_suites_on_audits(graph: Graph) -> None:
    rank = {name: k for k, names in enumerate(AUDITS) for name in names}
    last = len(AUDITS)
    for name, ends in graph.items():
        if not name.startswith("dpcalc.audits."):
            continue
        own = rank.get(_child(name, "dpcalc.audits"), last - 1.5)  # one file per attacked algorithm
        for end in ends:
            if end.startswith("dpcalc.audits."):
                other = rank.get(_child(end, "dpcalc.audits"), last - 1.5)
                assert other <= own, f"{name} may not import {end}"


@pytest.mark.parametrize(
    ("files", "circle"),
    [
        ({"a": "from dpcalc.b import x", "b": "import dpcalc.a"}, True),
        ({"a": "import dpcalc.b", "b": "def f():\n    from dpcalc import a"}, True),
        (
            {
                "a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import dpcalc.b",
                "b": "import dpcalc.a",
            },
            True,
        ),
        ({"a": "import dpcalc.b", "b": "import numpy"}, False),
    ],
)
def test_a_planted_circle_of_files_is_found(
    files: dict[str, str], circle: bool, tmp_path: Path
) -> None:
    (tmp_path / "dpcalc").mkdir()
    for name, text in files.items():
        (tmp_path / "dpcalc" / f"{name}.py").write_text(text)
    assert bool(_circle(_graph(tmp_path))) is circle


def test_a_planted_circle_of_folders_is_found(tmp_path: Path) -> None:
    for name, text in {
        "one/a": "import dpcalc.two.a",
        "one/b": "",
        "two/a": "",
        "two/b": "import dpcalc.one.b",
    }.items():
        path = tmp_path / "dpcalc" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    graph = _graph(tmp_path)
    assert _circle(graph) == []
    assert {"one", "two"} <= set(_circle(_inside(graph, "dpcalc")))
