"""Guarantees answer as in the last release; see test_last_release.py for a change on purpose."""

from __future__ import annotations

import json

import pytest

from tests.golden.guarantee_answers import PARTS
from tests.golden.last_release import WHOLE, differences, found, recorded


@pytest.mark.parametrize("part", PARTS)
def test_answers_are_those_of_the_last_release(part: str) -> None:
    now = json.loads(json.dumps(found(part)))
    changed = list(differences(recorded()[part], now, part, width=WHOLE.get(part, 0.0)))
    assert not changed, "\n".join([f"{len(changed)} answers differ", *changed[:20]])
