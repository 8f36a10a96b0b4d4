"""Judges mutants: one child for each, forked from a process that has imported everything.

No test has run in that process, since caches filled by honest code would hide a mutant. It runs inside
the copy, reads lines of JSON (a mutant's name and its tests) and answers each with one line.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import pkgutil
import resource
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tests.campaign.mutation.areas import MEASURED, TESTS
from tests.campaign.mutation.workcopy import OPTIONS

_QUIET = (*OPTIONS, "-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Modules are imported once, before pytest could rewrite their assertions."""

_CELLS: dict[str, list[tuple[list[Callable[..., Any]], dict[str, Any]]]] = {}


def _switchable(mutants: dict[str, Any], is_classmethod: bool = False) -> Callable[..., Any]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        owner, _, name = function.__qualname__.rpartition(".")
        key = f"{function.__module__}." + (f"xǁ{owner}ǁ{name}" if owner else f"x_{name}")
        cell = [function]
        _CELLS.setdefault(key, []).append((cell, mutants))

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            return cell[0](*given, **named)

        del call.__wrapped__  # the library asks for it where it wraps functions itself
        return call

    return decorate


def load() -> None:
    """Import the mutated library, the tools and the tests, running none."""
    from mutmut.mutation import trampoline

    trampoline.wrap_in_trampoline = _switchable
    for name in MEASURED:
        module = importlib.import_module(name)
        for inner in pkgutil.walk_packages(getattr(module, "__path__", []), name + "."):
            importlib.import_module(inner.name)
    for tool in ("mpmath", "sympy", "pandas", "scipy.stats"):
        importlib.import_module(tool)
    import pytest

    pytest.main(["--collect-only", "-qq", *_QUIET, *TESTS])


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    null = os.open(os.devnull, os.O_WRONLY)
    kept = os.dup(1), os.dup(2)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)


class _FirstFailure:
    """Writes down the first test, or file of tests, that failed."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def _note(self, report: Any) -> None:
        if report.failed and self._pipe >= 0:
            os.write(self._pipe, report.nodeid.encode())
            os.close(self._pipe)
            self._pipe = -1

    pytest_runtest_logreport = pytest_collectreport = _note


def _run(name: str | None, tests: list[str], limit: int) -> tuple[int, str]:
    """Run tests in a child, with a mutant or with honest code: exit status and first failure."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading) as pipe:
            failure = pipe.read()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), failure
    code = 1
    try:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        if name is not None:
            os.environ["MUTANT_UNDER_TEST"] = name
            for cell, mutants in _CELLS.get(name.partition("__mutmut_")[0], []):
                found = mutants[name.rpartition(".")[2]]
                cell[0] = getattr(found, "__func__", found)
        import pytest

        code = int(pytest.main(["-x", *_QUIET, *tests], plugins=[_FirstFailure(writing)]))
    finally:
        os._exit(code)


@functools.cache
def _sound(tests: tuple[str, ...], limit: int) -> bool:
    """Whether tests pass here with honest code."""
    return _run(None, list(tests), limit)[0] == 0


def survives(name: str, tests: list[tuple[float, str]]) -> bool:
    """Whether no test that passes with honest code fails with a mutant, or runs out of time."""
    chosen = [test for _, test in tests]
    limit = int(60 + 3 * sum(seconds for seconds, _ in tests))
    while chosen:
        code, failure = _run(name, chosen, limit)
        if code == 0:
            return True
        if code < 0 or _sound((failure,) if failure else tuple(chosen), limit):
            return False  # out of time, crashed, or a test failed
        if not failure:
            raise SystemExit(f"the tests of {name} do not begin with honest code: {chosen[:3]}")
        chosen = [test for test in chosen if not test.startswith(failure)]
    return True


def main() -> None:
    """Answer every line."""
    with _silent():
        load()
    for line in sys.stdin:
        question = json.loads(line)
        with _silent():
            alive = survives(question["name"], question["tests"])
        sys.stdout.write(json.dumps({"name": question["name"], "survived": alive}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
