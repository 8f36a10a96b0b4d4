"""Importance sampling from a target to a verdict, not only from samples to a bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcalc.auditing import AuditDesign, Claim, World
from dpcalc.auditing.audit import evaluate
from dpcalc.auditing.controls.mechanisms import gaussian
from dpcalc.auditing.experiment import carry_out
from dpcalc.auditing.gaussian.gaussian_pair import delta_of, epsilon_of
from dpcalc.guarantees import GDP
from dpcalc.vocabulary import Adjacency

DELTA = 1e-3


@pytest.mark.parametrize("mu", [0.26, 1.0])
@pytest.mark.few(1)
def test_a_true_curve_survives(mu: float) -> None:
    """Weights that forget the tilted half raise an alarm in three of ten repetitions.

    False alarms of this test: fewer than 1 in 1,000, at a level of one in twenty per repetition.
    """
    target = gaussian(mu)
    claim = Claim(guarantee=GDP(mu), delta=DELTA, adjacency=Adjacency.ADD_REMOVE)
    design = AuditDesign.for_claim(
        target, claim, runs=10, pilot=40, tilted=400, alpha=0.05, methods=("importance-sampling",)
    )
    repetitions, alarms, found = 120, 0, []
    for seed in range(repetitions):
        evidence, _ = evaluate(carry_out(target, claim, design, seed=seed), claim)
        bounds = [e for e in evidence if e.method == "importance-sampling"]
        assert len(bounds) == 2
        alarms += any(e.lower > claim.epsilon for e in bounds)
        found.append(max(e.lower for e in bounds))
    assert alarms <= repetitions * (0.05 + 3 * math.sqrt(0.05 * 0.95 / repetitions))
    assert np.median(found) > 0.85 * float(epsilon_of(mu, DELTA))


def test_both_halves_have_the_weights_of_one_mixture() -> None:
    """Mean of 2/(1 + dP_a/dP)·Y over both halves is H; six standard errors either way."""
    mu, tilt, epsilon, n = 1.0, 1.5, 1.5, 200_000
    target = gaussian(mu)
    assert target.tilted is not None
    halves = [
        target.tilted(World.IN, tilt, moved, np.random.default_rng(seed), n)
        for seed, moved in enumerate((False, True))
    ]
    values = [
        2 / (1 + np.exp(h.log_tilt)) * np.maximum(-np.expm1(epsilon - h.log_ratio), 0)
        for h in halves
    ]
    paired = (values[0] + values[1]) / 2
    error = paired.std() / math.sqrt(n)
    assert abs(paired.mean() - float(delta_of(mu, epsilon))) < 6 * error
