"""Grids of cases of which every run takes a few, spread over the whole; campaigns take the others."""

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
    marked = sorted((i for i in items if i.get_closest_marker("few")), key=test_of)  # stable
    left: list[pytest.Item] = []
    for _, cases in groupby(marked, key=test_of):
        left += beyond(list(cases))
    return left


def beyond(cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The cases of one test that its marker does not keep."""
    marker = cases[0].get_closest_marker("few")
    assert marker is not None
    (kept,) = marker.args
    places = set(spread(len(cases), kept))
    return [case for k, case in enumerate(cases) if k not in places]
