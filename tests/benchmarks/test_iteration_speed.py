"""Speed of shifted interpolation as ratios within one process; marked ``campaign``."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.accounting.iteration import NoisyContraction, Participation, optimal_shifts
from dpcalc.numerics.precise import mpf
from tests.benchmarks.timing import fastest

pytestmark = pytest.mark.campaign


def many_times(descent, passes, repeats=200):
    for _ in range(repeats):
        descent.mu(Participation(passes, 20))


@pytest.mark.parametrize("contraction", ["1", "0.999"])
def test_cost_does_not_grow_with_the_number_of_passes(contraction):
    descent = NoisyContraction(mpf(contraction), mpf(1), mpf(1))
    few = fastest(lambda: many_times(descent, 10))
    many = fastest(lambda: many_times(descent, 10**9))
    assert many < 4 * few, f"a thousand million passes cost {many / few:.2f} times ten"


def test_any_chain_costs_in_proportion_to_its_steps():
    rng = np.random.default_rng(0)
    jumps = rng.random(160_000)
    short = fastest(lambda: optimal_shifts(jumps[:20_000], 0.9999, 1.0))
    long = fastest(lambda: optimal_shifts(jumps, 0.9999, 1.0))
    assert long < 24 * short, f"eight times the steps cost {long / short:.2f} times as much"


def test_many_users_at_once_beat_one_at_a_time():
    jumps = np.eye(400)
    together = fastest(lambda: optimal_shifts(jumps, 0.99, 1.0))
    apart = fastest(lambda: [optimal_shifts(row, 0.99, 1.0) for row in jumps])
    assert apart > together, f"four hundred users at once are {apart / together:.1f} times faster"
