"""Nodes minimised on threads: the same bits, the same failures, and rows on the disk one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcalc.algorithms.problems import consensus
from dpcalc.algorithms.problems.consensus import ConsensusProblem
from dpcalc.algorithms.problems.losses import Logistic
from dpcalc.algorithms.problems.networks import erdos_renyi
from dpcalc.algorithms.problems.records import split

RUNS, NODES, WIDTH = 9, 5, 7


def problem() -> ConsensusProblem:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.3, 0.3, size=(2000, WIDTH))
    labels = np.where(rows[:, 0] > 0.05 * rng.normal(size=2000), 1.0, -1.0)
    return ConsensusProblem(
        records=split(rows, labels, NODES),
        network=erdos_renyi(NODES, 0.6, 4),
        loss=Logistic(),
        loss_weight=80.0,
        ridge=0.2,
    )


def found(threads: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(consensus, "_ALONE", 0)
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    linear = np.random.default_rng(1).normal(size=(RUNS, NODES, WIDTH))
    return problem().minimisers(linear, np.full(NODES, 2.0), np.zeros_like(linear))


@pytest.mark.parametrize("threads", ["2", "7"])
def test_the_bits_are_those_of_one_thread(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, more = found("1", monkeypatch), found(threads, monkeypatch)
    np.testing.assert_array_equal(more.points, one.points)
    np.testing.assert_array_equal(more.gradient_norm, one.gradient_norm)
    assert np.abs(one.points).min() > 0


@pytest.mark.parametrize(("alone", "threads"), [(0, 3), (2**18, 1)])
def test_little_work_is_not_shared(
    alone: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,000 records and nine runs stay on one thread by the rule in use."""
    asked: list[int] = []
    team = consensus.Team

    def told(number: int) -> Any:
        asked.append(number)
        return team(number)

    monkeypatch.setattr(consensus, "_ALONE", alone)
    monkeypatch.setattr(consensus, "Team", told)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    linear = np.zeros((RUNS, NODES, WIDTH))
    problem().minimisers(linear, np.full(NODES, 2.0), linear)
    assert asked == [threads]


def test_a_node_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    minimise = consensus.minimise

    def failing(total: Any, *others: Any) -> Any:
        if total is made.sums[3]:
            raise RuntimeError("node 3")
        return minimise(total, *others)

    made = problem()
    monkeypatch.setattr(consensus, "_ALONE", 0)
    monkeypatch.setattr(consensus, "minimise", failing)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    linear = np.zeros((RUNS, NODES, WIDTH))
    with pytest.raises(RuntimeError, match="node 3"):
        made.minimisers(linear, np.full(NODES, 2.0), linear)
