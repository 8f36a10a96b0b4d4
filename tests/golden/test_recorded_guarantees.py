"""Guarantees answer as in the last release; see test_last_release.py for a change on purpose."""

from __future__ import annotations

import json

import pytest

from tests.golden.guarantee_answers import PARTS
from tests.golden.last_release import WHOLE, differences, recorded

RECORDED = recorded()
QUESTIONS = [(part, name) for part, questions in PARTS.items() for name in questions]


@pytest.mark.parametrize(("part", "name"), QUESTIONS)
def test_answers_are_those_of_the_last_release(part: str, name: str) -> None:
    now = json.loads(json.dumps(PARTS[part][name]()))
    was = RECORDED[part][name]
    changed = list(differences(was, now, f"{part}/{name}", width=WHOLE.get(part, 0.0)))
    assert not changed, "\n".join([f"{len(changed)} answers differ", *changed[:20]])


def test_everything_is_recorded() -> None:
    assert all({*RECORDED[part]} == {*questions} for part, questions in PARTS.items())
