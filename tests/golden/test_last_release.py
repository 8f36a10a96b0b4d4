"""Every answer of every published result is that of the last release, or it is a change to be named.

If one differs on purpose: ``python -m tests.golden.last_release`` writes the record again, and
CHANGELOG.md names the numbers that changed.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpcalc.theorems.catalogue import keys
from tests.golden.last_release import KEYS, at, differences, recorded, refused
from tests.golden.settings import answered

RECORDED = recorded()
SETTINGS = [
    (key, k, json.dumps(change)) for key in keys() for k, change in enumerate(answered(key))
]


def _recorded(key: str) -> Any:
    assert key in RECORDED, f"{key} is new: python -m tests.golden.last_release records it"
    return RECORDED[key]


def _same(was: object, now: object, where: str) -> None:
    changed = list(differences(was, now, where))
    assert not changed, "\n".join([f"{len(changed)} answers differ", *changed[:20]])


@pytest.mark.parametrize(("key", "k", "setting"), SETTINGS)
@pytest.mark.few(5, each="key")
def test_answers_are_those_of_the_last_release(key: str, k: int, setting: str) -> None:
    _same(_recorded(key)["answered"][setting], at(key, k), f"{key}/{setting}")


@pytest.mark.parametrize("key", keys())
def test_refusals_are_those_of_the_last_release(key: str) -> None:
    _same(_recorded(key)["refused"], refused(key), f"{key}/refused")


def test_everything_is_recorded() -> None:
    assert {*RECORDED} == {*KEYS}
    for key in keys():
        assert [*RECORDED[key]["answered"]] == [s for k, _, s in SETTINGS if k == key]


@pytest.mark.parametrize(
    ("was", "now", "differ"),
    [
        ({"mu": 1.0}, {"mu": 1.0}, False),
        ({"mu": 1.0}, {"mu": 1.0000000000000002}, True),
        ({"mu": float("inf")}, {"mu": 1.0}, True),
        ({"mu": float("inf")}, {"mu": float("inf")}, False),
        ({"mu": 1.0}, {}, True),
        ([1.0], [1.0, 2.0], True),
        ({"epsilon": [{"from": 1.0, "to": 1.1}]}, {"epsilon": [{"from": 1.05, "to": 1.2}]}, False),
        ({"epsilon": [{"from": 1.0, "to": 1.1}]}, {"epsilon": [{"from": 1.15, "to": 1.2}]}, True),
        ({"tolerance": 1e-5, "prescribed": 2.0}, {"tolerance": 1e-5, "prescribed": 2.00001}, False),
        ({"tolerance": 0.0, "prescribed": 2.0}, {"tolerance": 0.0, "prescribed": 2.00001}, True),
        ("needs a number", "needs a count", True),
    ],
)
def test_what_counts_as_a_difference(was: object, now: object, differ: bool) -> None:
    assert bool(list(differences(was, now, "noisy-gd"))) == differ
