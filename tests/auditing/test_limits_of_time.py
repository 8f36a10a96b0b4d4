"""A limit of time holds for all of an audit, and what it says to notice is that of the runs made."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpcalc.auditing import Claim, audit, mechanism
from dpcalc.auditing.checks import disclosure
from dpcalc.auditing.stages import pace

CLAIM = Claim.of(epsilon=1, adjacency="add-remove")


class Watch:
    """A clock that runs make go on."""

    def __init__(self, seconds_a_run):
        self.now, self.each = 0.0, seconds_a_run

    def monotonic(self):
        return self.now

    def target(self, draw):
        def release(given, generator, runs):
            self.now += self.each * runs
            return draw(given, generator, runs)

        return mechanism(release, 1.0, 0.0, adjacency="add-remove", name="slow")


@pytest.fixture
def watch(monkeypatch):
    """A hundredth of a second for every run."""
    made = Watch(0.01)
    for module in (pace, disclosure):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=made.monotonic))
    return made


def laplace(x, g, n):
    return x + g.laplace(size=n)


def constant(x, g, n):
    return np.full(n, x)


def told(verdict):
    return [f.text for f in verdict.findings if f.check == pace.NAME]


@pytest.mark.parametrize("method", ["accuracy", "e-process"])
def test_checks_and_pilot_are_within_the_time_and_the_power_is_that_of_the_runs_made(watch, method):
    options = {"seed": 1, "controls": False, "methods": (method,)}
    cut = audit(watch.target(laplace), CLAIM, seconds=20.0, **options)
    assert watch.now <= 20
    (made,) = {e.runs for e in cut.evidence}
    assert 200 < made < 2000
    (text,) = told(cut)
    assert f"{made} of 2000 planned runs" in text
    assert "took" not in text
    assert not cut.repeatable
    whole, short = (
        audit(watch.target(laplace), CLAIM, runs=n, **options).detectable for n in (2000, made)
    )
    assert cut.detectable == short > whole


def test_a_number_without_noise_is_counted_as_often_as_the_claim_needs(watch):
    verdict = audit(watch.target(constant), CLAIM, seconds=6.0, seed=1)
    assert verdict.outcome == "REFUTED"
    assert watch.now <= 6
    assert told(verdict) == []


def test_a_limit_that_is_not_kept_is_told(watch):
    verdict = audit(watch.target(laplace), CLAIM, seconds=1.0, seed=1, controls=False)
    assert watch.now > 1
    assert "where 1 s were given" in told(verdict)[0]


def test_with_time_enough_nothing_changes(watch):
    watch.each = 1e-5
    slow = audit(watch.target(laplace), CLAIM, seconds=100.0, seed=1, controls=False)
    free = audit(watch.target(laplace), CLAIM, seed=1, controls=False)
    assert slow.record() == free.record()
    assert slow.repeatable


def test_runs_that_go_on_keep_the_sizes_with_which_they_began(watch, tmp_path):
    options = {"seconds": 20.0, "seed": 1, "controls": False, "checkpoint": tmp_path / "kept"}
    first = audit(watch.target(laplace), CLAIM, **options)
    watch.each = 1e-4
    again = audit(watch.target(laplace), CLAIM, **options)
    assert [e.record() for e in again.evidence] == [e.record() for e in first.evidence]
