"""Hooks appended to the tests' settings in the copy that the campaign makes; of no use elsewhere.

If ``MUTATION_STATISTICS`` names a file, each test writes there which functions it reached.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path

import mutmut.mutation.trampoline as trampoline

_STATISTICS = os.environ.get("MUTATION_STATISTICS", "")
_reached: set[str] = set()


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


def pytest_runtest_logstart(nodeid, location):
    _reached.clear()


def pytest_runtest_logreport(report):
    if not _STATISTICS or (report.when != "call" and report.passed):
        return
    line = {
        "test": report.nodeid,
        "passed": report.passed,
        "seconds": report.duration,
        "functions": sorted(_reached),
    }
    with Path(_STATISTICS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
