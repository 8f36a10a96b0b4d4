"""Hooks appended to the tests' settings in the copy that `mutation.py` makes; of no use elsewhere.

mutmut's own wrapper asks at every call which mutant is active. Here the choice falls at import: the
function under test is wrapped, every other one stays itself, so loops run at their usual speed and
caches begin empty. ``MUTATION_STATISTICS`` names a file to which each test writes which functions
it reached.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path

import mutmut.mutation.trampoline as trampoline
import pytest

_ACTIVE = os.environ.get("MUTANT_UNDER_TEST", "")
_STATISTICS = os.environ.get("MUTATION_STATISTICS", "")
_reached: set[str] = set()
_stock = trampoline.wrap_in_trampoline


def _key(function) -> str:
    owner, _, name = function.__qualname__.rpartition(".")
    return f"{function.__module__}." + (f"xǁ{owner}ǁ{name}" if owner else f"x_{name}")


def _noting(function, key):
    @functools.wraps(function)
    def noted(*given, **named):
        _reached.add(key)
        return function(*given, **named)

    del noted.__wrapped__  # the library asks for it where it wraps functions itself
    return noted


def _chosen_at_import(mutants, is_classmethod=False):
    def decorate(function):
        key = _key(function)
        if _STATISTICS:
            return _noting(function, key)
        if not _ACTIVE.startswith(key + "__mutmut_"):
            return function
        wrapped = _stock(mutants, is_classmethod)(function)
        del wrapped.__wrapped__
        return wrapped

    return decorate


trampoline.wrap_in_trampoline = _chosen_at_import


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    item.config.at_import = getattr(item.config, "at_import", None) or sorted(_reached)
    _reached.clear()
    yield


def pytest_runtest_logreport(report):
    if not _STATISTICS or (report.when == "teardown" and report.passed):
        return
    if report.when == "setup" and report.passed:
        return
    line = {
        "test": report.nodeid,
        "passed": report.passed,
        "seconds": report.duration,
        "functions": sorted(_reached),
    }
    with Path(_STATISTICS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
