"""Bugs planted in private ADMM: each caught, no correct twin accused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpcalc.algorithms import load
from dpcalc.auditing import (
    Claim,
    Outcome,
    algorithm_target,
    audit,
)
from dpcalc.guarantees import GDP, PureDP
from tests.auditing.planted_means import REPLACE, raised


def neighbour(algorithm):
    records = algorithm.problem.records
    return records.replaced(0, -records.features[0], records.labels[0])


@pytest.mark.parametrize(("start", "outcome"), [("printed", Outcome.REFUTED), ("zero", None)])
def test_a_dual_start_from_the_data(start, outcome):
    algorithm = replace(load("dp-admm").example(), dual_start=start)
    target = algorithm_target(algorithm, neighbour(algorithm), adjacency=REPLACE)
    claim = Claim(guarantee=GDP(2.0), delta=1e-3, adjacency=REPLACE)
    verdict = audit(target, claim, runs=400, seed=6, controls=False)
    assert (verdict.outcome is Outcome.REFUTED) == (outcome is Outcome.REFUTED)
    assert ("disclosure" in raised(verdict)) == (start == "printed")
    if start == "printed":
        (finding,) = [f for f in verdict.findings if f.check == "disclosure"]
        assert finding.numbers["alpha"] == 1e-6
        assert finding.numbers["epsilon_lower"] > 0


def private_admm():
    algorithm = load("private-r-admm").example()
    target = algorithm_target(algorithm, neighbour(algorithm), adjacency=REPLACE)
    claim = Claim(guarantee=PureDP(20.0), adjacency=REPLACE)
    return target, claim


def test_private_admm_is_not_accused():
    verdict = audit(*private_admm(), runs=400, seed=7, controls=False)
    assert raised(verdict) == set()


def test_an_inexact_minimiser(monkeypatch):
    """A solver that stops half-way: what is released is not a function of the promised noise."""
    from dpcalc.algorithms.problems.consensus import ConsensusProblem

    exact = ConsensusProblem.minimisers

    def inexact(self, linear, curvature, start):
        found = exact(self, linear, curvature, start)
        return replace(found, points=start + 0.8 * (found.points - start))

    target, claim = private_admm()
    monkeypatch.setattr(ConsensusProblem, "minimisers", inexact)
    verdict = audit(target, claim, runs=400, seed=7, controls=False)
    assert "noise" in raised(verdict)


def test_iid_laplace_in_place_of_the_exponential_norm(monkeypatch):
    from dpcalc.algorithms.problems.draws import UnitExponentialNorm

    target, claim = private_admm()

    def entry_by_entry(self, generator, out):
        out[...] = generator.laplace(size=out.shape)

    monkeypatch.setattr(UnitExponentialNorm, "fill", entry_by_entry)
    verdict = audit(target, claim, runs=400, seed=7, controls=False)
    assert "noise" in raised(verdict)


def test_a_sensitivity_declared_for_another_relation():
    target, claim = private_admm()
    original = target.shift

    def shift(generator, runs):
        found = original(generator, runs)
        return replace(found, claimed=found.claimed / 40)

    verdict = audit(replace(target, shift=shift), claim, runs=400, seed=7, controls=False)
    assert "sensitivity" in raised(verdict)
