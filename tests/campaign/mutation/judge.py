"""Judges mutants: one child for each, forked from a process that has collected every test.

No test has run in that process, since caches filled by honest code would hide a mutant. It runs inside
the copy, reads lines of JSON (a mutant's name and its tests) and answers each with one line.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import pkgutil
import resource
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import get_config
from _pytest.runner import runtestprotocol

from tests.campaign.mutation.areas import MEASURED
from tests.campaign.mutation.workcopy import OPTIONS

_CELLS: dict[str, list[tuple[list[Callable[..., Any]], dict[str, Any]]]] = {}


def _switchable(mutants: dict[str, Any], is_classmethod: bool = False) -> Callable[..., Any]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        owner, _, name = function.__qualname__.rpartition(".")
        key = f"{function.__module__}." + (f"xǁ{owner}ǁ{name}" if owner else f"x_{name}")
        active = os.environ.get("MUTANT_UNDER_TEST", "")
        again = active.partition("__mutmut_")[0] == key  # its module is imported again by a test
        cell = [partial(_mutant, mutants, active) if again else function]
        _CELLS.setdefault(key, []).append((cell, mutants))

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            return cell[0](*given, **named)

        del call.__wrapped__  # the library asks for it where it wraps functions itself
        return call

    return decorate


def _mutant(mutants: dict[str, Any], name: str, *given: Any, **named: Any) -> Any:
    """Call a mutant of a function; the table is filled after the function is wrapped."""
    return _function(mutants, name)(*given, **named)


def _function(mutants: dict[str, Any], name: str) -> Callable[..., Any]:
    found = mutants[name.rpartition(".")[2]]
    return getattr(found, "__func__", found)


def load() -> None:
    """Import the mutated library, the tools and the tests, running none."""
    from mutmut.mutation import trampoline

    trampoline.wrap_in_trampoline = _switchable
    for name in MEASURED:
        if importlib.util.find_spec(name) is None:
            continue  # newer than the library in the folder
        module = importlib.import_module(name)
        for inner in pkgutil.walk_packages(getattr(module, "__path__", []), name + "."):
            importlib.import_module(inner.name)
    for tool in ("mpmath", "sympy", "pandas", "scipy.stats"):
        importlib.import_module(tool)


def collect(tests: Sequence[str]) -> dict[str, pytest.Item]:
    """Every test by its name, ready to run."""
    config = get_config()
    config.parse([*OPTIONS, "-p", "no:terminal", *tests])
    session = pytest.Session.from_config(config)
    config._do_configure()
    config.hook.pytest_sessionstart(session=session)
    return {item.nodeid: item for item in session.perform_collect()}


def _passes(items: Sequence[pytest.Item], seconds: Sequence[float], pipe: int) -> bool:
    """Whether tests pass, each within five times its time and five seconds; writes which begin."""
    for item, after, usual in zip(items, [*items[1:], None], seconds, strict=True):
        os.write(pipe, f"{item.nodeid}\n".encode())
        limit = int(time.process_time() + 5 * usual) + 6
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=after)):
            return False
    return True


def _first_failure(
    name: str | None, items: Sequence[pytest.Item], seconds: Sequence[float]
) -> str | None:
    """The first test that fails in a child, with a mutant or honest code; None if all pass."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading) as pipe:
            begun = pipe.read().splitlines()
        passed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        return None if passed else begun[-1]
    code = 1
    try:
        os.close(reading)
        if name is not None:
            os.environ["MUTANT_UNDER_TEST"] = name
            for cell, mutants in _CELLS.get(name.partition("__mutmut_")[0], []):
                cell[0] = _function(mutants, name)
        code = int(not _passes(items, seconds, writing))
    finally:
        os._exit(code)


def survives(
    name: str, tests: list[tuple[float, str]], items: dict[str, pytest.Item], sound: dict[str, bool]
) -> bool:
    """Whether no test that passes with honest code fails with a mutant, or runs out of time.

    Args:
        name: the mutant's.
        tests: seconds and name of those that may notice.
        items: all tests by name.
        sound: which tests pass here with honest code, as far as it is known; added to.
    """
    seconds = {test: spent for spent, test in tests if test in items and sound.get(test, True)}
    while seconds:
        chosen = [items[test] for test in seconds]
        failure = _first_failure(name, chosen, list(seconds.values()))
        if failure is None:
            return True
        if failure not in sound:
            honest = _first_failure(None, [items[failure]], [seconds[failure]])
            sound[failure] = honest is None
        if sound[failure]:
            return False
        seconds.pop(failure)
    return True


def main() -> None:
    """Answer every line; nothing else reaches standard output."""
    sound: dict[str, bool] = {}
    with (
        os.fdopen(os.dup(0)) as questions,
        os.fdopen(os.dup(1), "w") as answers,
        Path(os.devnull).open("w") as nowhere,
    ):
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        load()
        items = collect(sys.argv[1:])
        for line in questions:
            question = json.loads(line)
            alive = survives(question["name"], question["tests"], items, sound)
            answers.write(json.dumps({"name": question["name"], "survived": alive}) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
