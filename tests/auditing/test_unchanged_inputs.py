"""A release that changes its input in place changes what every later batch runs on: refused."""

from __future__ import annotations

import cloudpickle
import numpy as np
import pytest

from dpcalc.auditing import Claim, audit, mechanism
from dpcalc.auditing.targets.target import World
from dpcalc.auditing.targets.unchanged import leaving_unchanged
from dpcalc.errors import InvalidInput


def wiping(data, g, n):
    released = data.sum() + g.laplace(scale=0.1, size=n)
    data *= 0
    return released


def test_an_input_that_is_wiped_hides_no_leak():
    target = mechanism(wiping, np.ones(11), np.ones(10), adjacency="add-remove", name="mine")
    claim = Claim.of(epsilon=1, adjacency="add-remove")
    with pytest.raises(InvalidInput, match=r"'mine'; got an input that was changed in place"):
        audit(target, claim, seed=1, controls=False)


@pytest.mark.parametrize(
    ("given", "change"),
    [
        ([1.0, 2.0], lambda d: d.append(3.0)),
        ([np.ones(2)], lambda d: d[0].fill(0)),
        ([1.0], lambda d: d.__setitem__(0, np.ones(1))),
        ([np.inf], lambda d: d.__setitem__(0, -np.inf)),
        (np.array([1, "a"], dtype=object), lambda d: d.__setitem__(1, "b")),
        ({"a": np.ones(2)}, lambda d: d["a"].__setitem__(0, np.nan)),
        ({"a": [1]}, lambda d: d["a"].clear()),
        ((np.ones(1), {"b": 1}), lambda d: d[1].update(b=2)),
    ],
)
def test_changes_within_lists_and_dictionaries_are_seen(given, change):
    def release(data, g, n):
        change(data)
        return g.laplace(size=n)

    target = mechanism(release, given, 0, adjacency="add-remove")
    with pytest.raises(InvalidInput, match="changed in place"):
        target.run(World.IN, np.random.default_rng(0), 2)


def test_a_copy_in_another_process_stays_as_it_is():
    given = {
        "a": [1.5, np.array(["x", 10**30], dtype=object)],
        "b": (np.ones(2), "words", object()),
    }
    run = leaving_unchanged(noise, given, "mine")
    assert cloudpickle.loads(cloudpickle.dumps(run))(np.random.default_rng(0), 2).shape == (2,)


def noise(data, g, n):
    return g.laplace(size=n)


@pytest.mark.parametrize(
    "given", [np.array([1, np.nan, None], dtype=object), [np.array([np.nan])], {"a": (1.5, "x")}, 3]
)
def test_an_input_that_stays_as_it_is_passes(given):
    target = mechanism(lambda d, g, n: g.laplace(size=n), given, 0, adjacency="add-remove")
    for _ in range(2):
        assert target.run(World.IN, np.random.default_rng(0), 2).shape == (2,)


@pytest.mark.parametrize("given", [np.ones(10), 1, 0.5, "x"])
def test_equal_inputs_are_refused(given):
    with pytest.raises(InvalidInput, match="differ in one record; got equal ones"):
        mechanism(noise, given, given, adjacency="add-remove")
