"""Cases that stand for many: every run takes a few of a grid, other environments a few of every file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import pytest


def spread(count: int, kept: int) -> list[int]:
    """Places of ``kept`` of ``count`` cases, the first and the last among them."""
    if kept >= count:
        return list(range(count))
    return [round(k * (count - 1) / max(kept - 1, 1)) for k in range(kept)]


def test_of(item: pytest.Item) -> str:
    """The test whose case it is."""
    return item.nodeid.partition("[")[0]


def campaigns(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Cases of tests with the marker ``few`` that are left to campaigns."""
    marked = [item for item in items if item.get_closest_marker("few")]
    left: list[pytest.Item] = []
    for _, cases in groupby(sorted(marked, key=grid_of), key=grid_of):  # the sort is stable
        left += beyond(list(cases))
    return left


def grid_of(item: pytest.Item) -> tuple[str, str]:
    """The test whose case it is, and its value of the parameter of which each has a grid."""
    marker = item.get_closest_marker("few")
    assert marker is not None
    each = marker.kwargs.get("each")
    return test_of(item), repr(item.callspec.params[each]) if each else ""  # type: ignore[attr-defined] # cases have it


def beyond(cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The cases of one grid that its marker does not keep."""
    marker = cases[0].get_closest_marker("few")
    assert marker is not None
    (kept,) = marker.args
    places = set(spread(len(cases), kept))
    return [case for k, case in enumerate(cases) if k not in places]


def representatives(
    items: Sequence[pytest.Item], of_a_file: int, whole: Iterable[str]
) -> list[pytest.Item]:
    """The first case of some tests of every file, spread over it; all of the tests named in ``whole``.

    What differs between environments differs for all cases of a test, and mostly for all tests of
    a module; every module has a file of tests.
    """
    named = tuple(whole)
    kept: list[pytest.Item] = []
    for _, several in groupby(items, key=lambda item: item.nodeid.partition("::")[0]):
        of_file = list(several)
        entire = [item for item in of_file if test_of(item) in named]
        first = {test_of(item): item for item in reversed(of_file) if test_of(item) not in named}
        tests = list(reversed(first.values()))
        kept += entire + [tests[place] for place in spread(len(tests), min(of_a_file, len(tests)))]
    return kept
