"""The public face is documented: every argument, what is raised, and an example that runs."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dpcalc
from dpcalc import auditing, estimators, execution, recorders, sweep
from dpcalc.calibration import smallest_noise
from dpcalc.guarantees import mechanisms
from dpcalc.odometer import Odometer


def _public() -> Iterator[tuple[str, Any]]:
    """What `import dpcalc` offers, the mechanisms, and what makes a target."""
    for name in dpcalc.__all__:
        found = getattr(dpcalc, name)
        if not isinstance(found, ModuleType):
            yield name, found
    for name in mechanisms.__all__:
        yield f"mechanisms.{name}", getattr(mechanisms, name)
    yield "auditing.mechanism", auditing.mechanism


def _further() -> Iterator[tuple[str, Any]]:
    """What the how-to pages import besides."""
    for name in ("counts", "scores", "canaries", "guesses", "all"):
        yield f"auditing.audit_{name}", getattr(auditing, f"audit_{name}")
    for name in ("Counts", "rank_neighbours", "read_scores"):
        yield f"auditing.{name}", getattr(auditing, name)
    for name in estimators.__all__:
        yield f"estimators.{name}", getattr(estimators, name)
    for what in (
        sweep.sweep_table,
        smallest_noise,
        Odometer,
        execution.Processes,
        execution.in_order,
        recorders.recorded_run,
        recorders.gathered,
    ):
        yield what.__name__, what


PUBLIC = dict(_public())
FURTHER = dict(_further())


def _callables(found: Any) -> Iterator[tuple[str, Any, str]]:
    """The thing itself and its public methods, each with its own and inherited documentation."""
    yield "", found, inspect.getdoc(found) or ""
    if not inspect.isclass(found):
        return
    for name, method in inspect.getmembers(found, inspect.isfunction):
        if not name.startswith("_"):
            inherited = (vars(base).get(name) for base in found.__mro__)
            yield name, method, "\n".join(inspect.getdoc(m) or "" for m in inherited if m)


def _undocumented(what: Any, text: str) -> list[str]:
    names = [name for name in inspect.signature(what).parameters if name not in ("self", "cls")]
    return [
        name
        for name in names
        if not re.search(rf"^    (\w+, )*\*?\*?{name}(\[\w+\])?(, \w+)*: \S", text, re.MULTILINE)
    ]


def _examples(what: Any) -> list[str]:
    text = inspect.getdoc(what) or ""
    return [
        textwrap.dedent(block)
        for block in re.findall(
            r"^Example::\n\n((?:    .*\n|\n)+?)(?=^\S|\Z)", text + "\n", re.MULTILINE
        )
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_argument_is_documented(name: str) -> None:
    missing = {
        f"{name}.{method}": lacking
        for method, what, text in _callables(PUBLIC[name])
        if (lacking := _undocumented(what, text))
    }
    assert missing == {}


@pytest.mark.parametrize("name", PUBLIC)
def test_what_raises_says_so(name: str) -> None:
    for method, what, text in _callables(PUBLIC[name]):
        body = "" if inspect.isclass(what) else inspect.getsource(inspect.unwrap(what))
        if re.search(r"^\s+raise \w", body, re.MULTILINE):
            assert "Raises:" in text, f"{name}.{method}"


@pytest.mark.parametrize("name", PUBLIC)
def test_what_takes_arguments_says_what_it_returns(name: str) -> None:
    """Without any, the first sentence says it."""
    for method, what, text in _callables(PUBLIC[name]):
        if inspect.isclass(what) or not {*inspect.signature(what).parameters} - {"self", "cls"}:
            continue
        if inspect.signature(what).return_annotation not in (None, "None"):
            assert "Returns:" in text, f"{name}.{method}"


@pytest.mark.parametrize("name", FURTHER)
def test_what_pages_import_is_documented_too(name: str) -> None:
    what = FURTHER[name]
    text = (inspect.getdoc(what) or "") + (
        "\n" + (inspect.getdoc(what.__init__) or "") if inspect.isclass(what) else ""
    )
    assert _undocumented(what, text) == []
    returns = inspect.isclass(what) or inspect.signature(what).return_annotation == "None"
    assert returns or "Returns:" in text


@pytest.mark.parametrize("name", {**PUBLIC, **FURTHER})
def test_an_example_runs(name: str) -> None:
    found = _examples({**PUBLIC, **FURTHER}[name])
    assert found, f"{name} has no example"
    for example in found:
        exec(compile(example, name, "exec"), {"__name__": "example"})  # noqa: S102 - our own text


def test_the_check_sees_what_is_missing() -> None:
    def bare(given: int, taken: int) -> None:
        """Something.

        Args:
            given: a number.
        """
        raise ValueError(given + taken)

    assert _undocumented(bare, inspect.getdoc(bare) or "") == ["taken"]
    assert _examples(bare) == []


ROOT = Path(__file__).parents[2]


def _named_in_documents() -> dict[str, set[str]]:
    """Modules that documents import from or describe, with the names they take."""
    found: dict[str, set[str]] = {
        "dpcalc": set(),
        "dpcalc.calibration": set(),
        "dpcalc.sweep": set(),
    }
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            for module, several, one in re.findall(
                r"^from (dpcalc[\w.]*) import (?:\(([^)]*)\)|(.*))$", block, re.MULTILINE
            ):
                names = re.sub(r"#.*| as \w+", "", several or one)
                found.setdefault(module, set()).update(re.findall(r"\w+", names))
        for module in re.findall(r"automodule:: (dpcalc[\w.]*)", text):
            found.setdefault(module, set())
    del found["dpcalc.theorems"]  # its names are found in folders, see test_public_face
    return found


NAMED = _named_in_documents()


@pytest.mark.parametrize("module", NAMED)
def test_what_a_module_offers_is_listed_and_there(module: str) -> None:
    """Completion and ``import *`` show what is meant for users, not the module's own imports."""
    found = importlib.import_module(module)
    assert found.__all__
    assert [name for name in found.__all__ if not hasattr(found, name)] == []
    below = {m.name for m in pkgutil.iter_modules(getattr(found, "__path__", []))}
    assert NAMED[module] <= {*found.__all__, *below}
    own = [name for name in vars(found) if not name.startswith("_")]
    homes = {name: getattr(getattr(found, name), "__module__", module) for name in own}
    left_out = [n for n, home in homes.items() if home == module and n not in found.__all__]
    public = [
        n for n in left_out if inspect.isclass(vars(found)[n]) or inspect.isfunction(vars(found)[n])
    ]
    assert public == []
