"""A module with mechanisms of a user, and ``dpcalc`` run on them."""

from __future__ import annotations

import pytest

from dpcalc.cli.main import main

MINE = """
import numpy as np
from dpcalc.auditing import Claim, mechanism

def release(data, generator, runs):
    return data + generator.laplace(size=runs)

target = mechanism(release, 1.0, 0.0, adjacency="add-remove", name="mine")

def claimed():
    return target, Claim.of(epsilon=0.2, adjacency="add-remove")

number = 3

def broken(data, generator, runs):
    raise RuntimeError("out of paper")

def silent(data, generator, runs):
    return None

def words(data, generator, runs):
    return ["a"] * runs

def loud(data, generator, runs):
    print("hello")
    np.seterr(all="raise")
    return data + generator.laplace(size=runs)

def named(release):
    return lambda: (mechanism(release, 1.0, 0.0, adjacency="add-remove", name="a/b c"),
                    Claim.of(epsilon=1, adjacency="add-remove"))

broken_target, nothing_target, words_target = named(broken), named(silent), named(words)
fine = named(release)
loud_target = named(loud)

def once(data, generator):
    return data + generator.laplace()

once_a_call = named(once)
"""

QUICK = ["--no-controls", "--seed", "3"]


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)
