"""Hooks appended to the tests' settings in the copy that the campaign makes; of no use elsewhere.

If ``MUTATION_STATISTICS`` names a folder, each test writes there which functions it reached. Tests of a
file that has taken long are left out: those that judge mutants are the shortest.
"""

from __future__ import annotations

import functools
import json
import os
from collections import Counter
from pathlib import Path

import mutmut.mutation.trampoline as trampoline
import pytest

_STATISTICS = os.environ.get("MUTATION_STATISTICS", "")
_reached: set[str] = set()
_spent: Counter[str] = Counter()

SECONDS_PER_FILE = 180


def _noting(mutants, is_classmethod=False):
    def decorate(function):
        owner, _, name = function.__qualname__.rpartition(".")
        key = f"{function.__module__}." + (f"xǁ{owner}ǁ{name}" if owner else f"x_{name}")

        @functools.wraps(function)
        def noted(*given, **named):
            _reached.add(key)
            return function(*given, **named)

        del noted.__wrapped__  # the library asks for it where it wraps functions itself
        return noted

    return decorate


if _STATISTICS:
    trampoline.wrap_in_trampoline = _noting


def pytest_runtest_setup(item):
    if _STATISTICS and _spent[item.path.name] > SECONDS_PER_FILE:
        pytest.skip("enough of this file")


def pytest_runtest_logstart(nodeid, location):
    _reached.clear()


def pytest_runtest_logreport(report):
    if not _STATISTICS or (report.when != "call" and report.passed):
        return
    name = report.nodeid.partition("::")[0]
    _spent[Path(name).name] += report.duration
    line = {
        "test": report.nodeid,
        "passed": report.passed,
        "seconds": report.duration,
        "functions": sorted(_reached),
    }
    path = Path(_STATISTICS) / f"{name.replace('/', '.')}.unfinished"
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
