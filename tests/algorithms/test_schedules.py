"""Parameters per round and node."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.algorithms.engine.schedules import at, geometric, one_number, schedule
from dpcalc.errors import InvalidInput


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2.0, [[2, 2], [2, 2], [2, 2]]),
        ([1, 2, 3], [[1, 1], [2, 2], [3, 3]]),
        ([[1, 2]], [[1, 2], [1, 2], [1, 2]]),
        ([[1], [2], [3]], [[1, 1], [2, 2], [3, 3]]),
        ([[1, 2], [3, 4], [5, 6]], [[1, 2], [3, 4], [5, 6]]),
    ],
)
def test_numbers_lists_and_tables_become_tables(value, expected):
    table = schedule("penalty", value, rounds=3, nodes=2)
    np.testing.assert_array_equal(table, expected)
    np.testing.assert_array_equal(at(table, 2), expected[1])
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 9


@pytest.mark.parametrize(
    "value", [[1, 2], np.ones((2, 2)), np.ones((3, 3)), np.ones((1, 1, 1)), "a"]
)
def test_wrong_shapes_are_refused(value):
    with pytest.raises(InvalidInput, match="penalty"):
        schedule("penalty", value, rounds=3, nodes=2)


@pytest.mark.parametrize(
    ("value", "settings", "allowed"),
    [
        (0.0, {}, False),
        (0.0, {"zero": True}, True),
        (-1.0, {"zero": True}, False),
        (np.inf, {}, False),
        (np.inf, {"infinite": True}, True),
        (np.nan, {"infinite": True, "zero": True}, False),
    ],
)
def test_ranges(value, settings, allowed):
    if allowed:
        assert schedule("x", value, rounds=1, **settings)[0, 0] == value
    else:
        with pytest.raises(InvalidInput, match="x needs"):
            schedule("x", value, rounds=1, **settings)


def test_geometric_growth_per_node():
    np.testing.assert_allclose(geometric([1, 2], [2, 1], 3), [[1, 2], [2, 2], [4, 2]])
    assert geometric(0.5, 1.04, 50).shape == (50, 1)


def test_one_number_is_told_from_several():
    one_number("penalty", np.full((2, 3), 0.5), hint="")
    with pytest.raises(InvalidInput, match="mr-admm"):
        one_number("penalty", [[0.5, 0.6]], hint="use mr-admm")
