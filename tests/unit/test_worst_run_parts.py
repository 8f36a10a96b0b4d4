"""Worst runs and walks, step by step and by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpcalc.accounting.iteration import sector_bounds
from dpcalc.accounting.iteration.multipliers import (
    good_multipliers,
    in_doubles,
    worst_replies,
)
from dpcalc.accounting.iteration.pulled_walk import PulledWalk, _falls, _upper_law
from dpcalc.accounting.iteration.sampled_walk import SampledWalk, _lower_law, _spread
from dpcalc.accounting.iteration.scalar import ScalarADMM, Stretch
from dpcalc.accounting.iteration.sectors import Sectors
from dpcalc.accounting.iteration.worst_run import _EDGE, _revealed, _worst_factors, worst_law
from dpcalc.numerics.precise import mpf as real
from tests.unit.run_matrices import sectors


@pytest.mark.parametrize("iterations", [2, 3, 5])
def test_costs_of_few_iterations_are_attained(iterations: int) -> None:
    s = Sectors(real("0.6"), real(1), real(0), real(1), real(0), False)
    cost = float(sector_bounds.cost_after(s, iterations))
    attained = float(worst_law(s, iterations, real(1) / real("1.6"), real(1)).mu_squared())
    assert attained <= cost * (1 + 1e-9)
    assert attained >= cost * (1 - (1e-5 if iterations < 5 else 0.02))
    assert float(sector_bounds.cost_by_table(s, iterations)) == pytest.approx(cost, rel=5e-3)
    rough = in_doubles(s)
    multipliers = good_multipliers(rough, iterations)
    assert multipliers is not None
    moved, kept = worst_replies(rough, *multipliers)
    assert len(moved) == len(kept) == iterations - 1


def test_what_a_run_reveals_and_its_derivatives() -> None:
    s = sectors(kept=0.05)
    rng = np.random.default_rng(3)
    factors = np.concatenate([rng.uniform(0, 1, 4), rng.uniform(0.1, 0.9, 4)])
    value, slopes = _revealed(s, factors)
    model = Stretch((1, 0, 0, 1), (1.0, 0.0), (1.0, 0.0, 0.0))
    for m, r in factors.reshape(2, 4).T.tolist():
        model = model.then(ScalarADMM(0.6, r, 1.0, 1.0).iteration(m))
    assert value == pytest.approx(math.log(model.mu_squared()))
    for k in range(8):
        ends = []
        for side in (1, -1):
            moved = factors.copy()
            moved[k] += side * 1e-6
            ends.append(_revealed(s, moved)[0])
        assert slopes[k] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-8)


def test_the_worst_factors_are_allowed_and_better_than_constant_ones() -> None:
    s = sectors(kept=0.05)
    moved, kept = _worst_factors(s, 4)
    assert all(0 <= m <= 1 for m in moved)
    assert all(0.05 <= r <= 1 - 1e-7 for r in kept)
    found = _revealed(s, np.array(moved + kept))[0]
    for r in (0.05, 0.1, 0.3, 0.5, 0.8):
        assert found >= _revealed(s, np.array([1.0] * 4 + [r] * 4))[0] - 1e-12
    exact = Sectors(real("0.6"), real(1), real(0), real(1), real("0.05"), False)
    law = worst_law(exact, 5, real(2), real(3))
    assert float(law.mu_squared()) == pytest.approx(math.exp(found) * 4 / 9, rel=1e-9)
    long = worst_law(exact, 60, real(2), real(3))
    moved, kept = _worst_factors(s, 47)
    model = ScalarADMM(0.6, 0.05, 2.0, 3.0).iteration(1.0, own=True)
    for m, r in zip([moved[0]] * 12 + moved, [kept[0]] * 12 + kept, strict=True):
        clipped = min(max(r, 0.05), 1 - _EDGE)
        model = model.then(ScalarADMM(0.6, clipped, 2.0, 3.0).iteration(min(max(m, 0.0), 1.0)))
    assert float(long.mu_squared()) == pytest.approx(model.mu_squared(), rel=1e-6)


def test_a_pulled_walk_step_by_step() -> None:
    from scipy.special import ndtr

    grid, law, beyond = _upper_law(6, 0.5, 0.8)
    assert grid[1] == 0.125
    assert len(grid) == int(min(12 * math.sqrt(6) + 5, 40 / 0.5 + 12) * 8) + 1
    assert float(law.sum()) + beyond == pytest.approx(1.0, rel=1e-11)
    # One step from zero: |N(0, 1)| rounded up.
    grid, law, _ = _upper_law(1, 0.5, 0.8)
    np.testing.assert_allclose(np.cumsum(law), 2 * ndtr(grid) - 1, atol=1e-15)
    # Two steps, by a sum over the first.
    two = _upper_law(2, 0.5, 0.8)[1]
    centre = grid - np.minimum(0.8 * grid, 0.5)
    at = np.searchsorted(grid, 1.0)
    truth = float(law[: len(grid)] @ (ndtr(1.0 - centre) - ndtr(-1.0 - centre)))
    assert float(two[: at + 1].sum()) == pytest.approx(truth, rel=1e-9)
    walk, epsilon, root = PulledWalk(4, 3, 0.5, 0.8), 0.7, math.sqrt(3)
    grid, law, beyond = _upper_law(4, 0.5, 0.8)
    found = 0.0
    for share in (1.0, 1.01, 1.03, 1.1):
        at = share * max(epsilon * 3 / 1.0, 0.5)
        a, b = (at - 0.5) / root, (at + 0.5) / root
        told = float(law @ ((ndtr(grid / root - a) + ndtr(-grid / root - a)) / 2))
        wrong = float(law @ ((ndtr(grid / root - b) + ndtr(-grid / root - b)) / 2))
        found = max(found, told - math.exp(epsilon) * (wrong + beyond))
    assert walk(epsilon) == pytest.approx(found, rel=1e-9)
    assert walk(800.0) == 0.0
    assert _falls(0.0, 1.0, 0.1)
    assert not _falls(0.0, 0.0, 0.1)
    assert not _falls(-0.1, 1.0, 0.1)
    edge = math.log(0.5) - 0.125 - (math.log(2.0) - 2.0)
    assert _falls(0.5, 2.0, edge + 1e-9)
    assert not _falls(0.5, 2.0, edge - 1e-9)


@pytest.mark.parametrize("c", [0.0, 0.6, 1.0])
def test_a_sampled_walk_by_enumeration(c: float) -> None:
    sums, law = _lower_law(5, 0.3, c)
    assert float(law.sum()) == pytest.approx(1.0, rel=1e-12)
    outcomes = []
    for batches in itertools.product((0, 1), repeat=5):
        p = math.prod(0.3 if b else 0.7 for b in batches)
        outcomes.append((sum(b * c**i for i, b in enumerate(batches)), p))
    counted = float(sum(p * s for s, p in outcomes))
    assert counted * (1 - 2e-2) <= float(sums @ law) <= counted
    for level in (0.5, 1.2, 2.1):  # stochastically smaller, and not by much
        mine = float(law[sums >= level].sum())
        assert mine <= sum(p for s, p in outcomes if s >= level) + 1e-12
        assert mine >= sum(p for s, p in outcomes if s >= level + 0.02) - 1e-12
    truth = sum(c ** (2 * i) for i in range(5))
    assert truth <= _spread(c, 5) <= truth * (1 + 2e-10)
    walk = SampledWalk(5, 0.3, c, 1.2)
    from scipy.special import ndtr

    for epsilon in (0.0, 0.4):
        root = math.sqrt(_spread(c, 5))
        best = 0.0
        for at in np.linspace(-1, 6, 1401):
            shifts = [(s * 0.6 / root, p) for s, p in outcomes]
            told = sum(p * ndtr(s - at) for s, p in shifts)
            wrong = sum(p * ndtr(-s - at) for s, p in shifts)
            best = max(best, told - math.exp(epsilon) * wrong)
        assert walk(epsilon) <= best * (1 + 1e-9)
        assert walk(epsilon) >= 0.9 * best - 1e-3
    assert walk(701.0) == 0.0
