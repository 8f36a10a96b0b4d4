"""Noise that is drawn once for a batch, in whole or in part, is a failed precondition and no leak."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.auditing import Claim, audit, mechanism
from dpcalc.auditing.checks import disclosure
from dpcalc.auditing.checks.independence import check
from dpcalc.auditing.evidence import Severity
from dpcalc.auditing.targets.target import World

CLAIM = Claim.of(epsilon=1, adjacency="add-remove")


def laplace(x, g, n):
    return np.full(n, x + g.laplace())


def column(x, g, n):
    return np.column_stack([np.full(n, x + g.laplace()), g.normal(size=n)])


def partly(x, g, n):
    return x + 0.99 * g.laplace() + 0.01 * g.laplace(size=n)


@pytest.mark.parametrize("shared", [laplace, column, partly])
@pytest.mark.parametrize("seed", [1, 2])
def test_shared_noise_is_told_and_never_refuted(shared, seed):
    target = mechanism(shared, 1.0, 0.0, adjacency="add-remove")
    verdict = audit(target, CLAIM, seed=seed, runs=400, controls=False)
    assert verdict.outcome == "PRECONDITION FAILED"
    assert "share their noise" in verdict.reason
    assert "size=runs" in verdict.reason


def bit(x, g, n):
    return np.full(n, x + g.integers(2))


def answer(x, g, n):
    return np.full(n, float(x != (g.random() < 1 / (1 + np.e))))


def two_values(x, g, n):
    return x + g.choice([-3.0, 3.0]) + 0.3 * g.uniform(-1, 1, n)


@pytest.mark.parametrize("shared", [bit, answer, two_values])
def test_two_values_in_common_are_found(shared):
    """Bits escape with a chance of 1e-9, answers kept with 1/(1 + 1/e) of 5e-5 in a seed."""
    target = mechanism(shared, 1.0, 0.0, adjacency="add-remove")
    found = [disclosure.check(target, CLAIM, seed=seed).severity for seed in range(40)]
    assert set(found) == {Severity.PREMISE}


@pytest.mark.parametrize(
    "own",
    [
        lambda x, g, n: x + g.laplace(size=(n, 1000)),
        lambda x, g, n: g.random((n, 1000)) < 0.02,
        lambda x, g, n: g.random((n, 1000)) < 0.5,
        lambda x, g, n: g.standard_cauchy((n, 1000)),
        lambda x, g, n: np.full(n, x),  # no noise is not shared noise
    ],
)
def test_noise_of_its_own_in_every_run_passes(own):
    """A false alarm has a chance of 2.3e-11 at most in each of 2,000 numbers: 3e-7 in all seeds."""
    target = mechanism(own, 1.0, 0.0, adjacency="add-remove")
    for seed in range(5):
        generators = (np.random.default_rng([seed, k]) for k in range(2))
        seen = [
            np.asarray(target.run(world, g, 16), dtype=float).reshape(16, -1)
            for world, g in zip(World, generators, strict=True)
        ]
        assert check(target, seen, seed=seed) is None
