"""A few instances of the campaign on bounds, and how it counts; all of it: see bounds.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcalc.accounting.losses.falling_shift import removal_profile
from dpcalc.theorems.base import Bound
from tests.campaign import bounds
from tests.oracles import random_runs
from tests.oracles.random_instances import ROOM, Draw, falling
from tests.oracles.random_runs import (
    averaged,
    between_walls,
    certified_descent,
    ordered_at_random,
    sampled_between_walls,
)
from tests.oracles.random_updates import exponential_update, normal_update


def test_a_piece_goes_on_where_it_was_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "BLOCK", 3)
    store = tmp_path / "blocks"
    asked = ["--store", str(store), "--instances", "6", "--kind", "expanding_descent"]
    assert bounds.main([*asked, "--minutes", "0"]) == bounds.UNFINISHED
    first = bounds.block("expanding_descent", 0)
    store.write_text(json.dumps(first | {"largest": 0.125}) + "\n")
    assert bounds.main(asked) == 0
    found = [json.loads(line) for line in store.read_text().splitlines()]
    assert [item["block"] for item in found] == [0, 1]
    assert found[0]["largest"] == 0.125
    assert found[1] == bounds.block("expanding_descent", 1)
    assert "expanding_descent: 6 instances" in capsys.readouterr().out


@pytest.mark.parametrize("share", [1.001, float("nan")])
def test_an_instance_above_its_bound_is_told(
    share: float,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One above, the others outside the assumptions."""
    monkeypatch.setattr(bounds, "BLOCK", 3)
    monkeypatch.setattr(bounds, "_share", lambda _, n: share if n == 4 else None)
    asked = ["--store", str(tmp_path / "blocks"), "--instances", "6", "--kind", "falling"]
    assert bounds.main(asked) == 1
    printed = capsys.readouterr().out
    assert "falling: 1 instances" in printed
    assert '"above": [4]' in printed
    assert bounds.main([*asked, "--minutes", "0"]) == 1


@pytest.mark.parametrize(
    ("draw", "count"),
    [
        (exponential_update, 6),
        (normal_update, 6),
        (averaged, 60),
        (ordered_at_random, 8),
        (between_walls, 6),
        (sampled_between_walls, 1),
    ],
)
def test_no_instance_is_above_its_bound(draw: Draw, count: int) -> None:
    shares = [draw(np.random.default_rng((6, n))) for n in range(count)]
    assert max(share for share in shares if share is not None) <= 1 + ROOM[draw]


@pytest.mark.parametrize(("draw", "count"), [(averaged, 20), (ordered_at_random, 6)])
def test_a_bound_for_an_eighth_more_noise_would_be_caught(
    draw: Draw, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def louder(*, sigma: float, **given: Any) -> Bound:
        return certified_descent(sigma=sigma * 1.125, **given)

    monkeypatch.setattr(random_runs, "certified_descent", louder)
    shares = [draw(np.random.default_rng((6, n))) for n in range(count)]
    assert max(share for share in shares if share is not None) > 1.1


def test_a_bound_that_forgets_the_fall_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: a curvature of a third of the record's."""
    monkeypatch.setattr(
        "tests.oracles.random_instances.removal_profile",
        lambda mu, kappa: removal_profile(mu, kappa / 3),
    )
    shares = [falling(np.random.default_rng((5, n))) for n in range(40)]
    assert max(shares) > 1 + ROOM[falling]
