"""Runs held once: the same as joined batches, whatever their sizes."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.auditing import Claim, mechanism
from dpcalc.auditing.design import AuditDesign
from dpcalc.auditing.sampling.collected import Collected
from dpcalc.auditing.sampling.observations import Observations, joined


def _batches(sizes: list[int]) -> list[Observations]:
    draw = np.random.default_rng(3)
    return [
        Observations(is_in=draw.random(n) < 0.5, score=draw.normal(size=n), fair_coins=True)
        for n in sizes
    ]


@pytest.mark.parametrize("sizes", [[1], [7, 5, 100], [65_536, 1], [40_000] * 5, [300_000]])
def test_collected_runs_are_the_joined_ones(sizes: list[int]) -> None:
    batches, collected = _batches(sizes), Collected()
    for batch in batches:
        collected.add(batch)
    found, wanted = collected.observations(), joined(batches)
    np.testing.assert_array_equal(found.score, wanted.score)
    np.testing.assert_array_equal(found.is_in, wanted.is_in)
    assert (found.fair_coins, found.exact) == (wanted.fair_coins, wanted.exact) == (True, False)


def test_one_batch_without_fair_coins_is_enough() -> None:
    collected = Collected()
    for fair in (True, False, True):
        (batch,) = _batches([3])
        collected.add(
            Observations(is_in=batch.is_in, score=batch.score, fair_coins=fair, exact=True)
        )
    assert not collected.observations().fair_coins
    assert collected.observations().exact


@pytest.mark.parametrize(("runs", "pilot"), [(50, 40), (10**6, 500_000), (10**9, 2**20)])
def test_a_pilot_grows_with_the_runs_up_to_a_million(runs: int, pilot: int) -> None:
    target = mechanism(
        lambda data, draw, runs: data + draw.laplace(size=runs), 1.0, 0.0, adjacency="add-remove"
    )
    claim = Claim.of(epsilon=1, adjacency="add-remove")
    assert AuditDesign.for_claim(target, claim, runs=runs).pilot == pilot
