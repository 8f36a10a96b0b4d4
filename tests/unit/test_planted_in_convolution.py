"""Mistakes planted in the convolution and in the bounds it rests on are seen by exact sums."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from mpmath import mpf

from dpcalc.accounting.composition import lattice_sum
from dpcalc.accounting.composition.lattice import masses
from dpcalc.accounting.composition.lattice.rounds import rounds_of
from dpcalc.accounting.composition.lattice.sums import LatticeSum
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt
from dpcalc.accounting.losses import modulus
from dpcalc.accounting.losses.modulus import ModulusBounds
from dpcalc.accounting.losses.privacy_profile import law_from_distributions
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove
from tests.oracles import exact

SEEDS = range(6)


def outside(seed: int) -> int:
    """How many of some brackets of a random table's composition miss the truth."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3))
    q = p * np.exp(rng.normal(0, 1.0, 3))
    p, q = p / math.fsum(p), q / math.fsum(q)
    law = law_from_distributions(p.tolist(), q.tolist())
    missed = 0
    for rounds, epsilon in itertools.product((2, 5), (0.0, 0.4, 1.1)):
        truth = exact.finite_delta(p.tolist(), q.tolist(), rounds, epsilon)
        sums = lattice_sum.convolved(rounds_of([(law, rounds)]), epsilon, 0.3, 2048, 4.0)
        missed += mpf(sums.upper(epsilon)) < truth or mpf(sums.lower(epsilon)) > truth
    return missed


def total_missed() -> int:
    return sum(outside(seed) for seed in SEEDS)


def test_nothing_is_missed_without_a_mistake() -> None:
    assert total_missed() == 0


def test_a_lower_end_that_forgets_what_splitting_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LatticeSum, "_bumps", lambda *_: 0.0)
    assert total_missed() > 0


def test_masses_that_are_rounded_to_the_lower_neighbour(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = lattice_sum.placed

    def lowered(part, tails, frame, mode):
        step = frame.step * 2.0 ** -frame.levels(part.losses)
        return whole(replace(part, losses=np.floor(part.losses / step) * step), tails, frame, mode)

    monkeypatch.setattr(lattice_sum, "placed", lowered)
    assert total_missed() > 0


def test_sums_above_the_lattice_that_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masses, "_above", lambda *_: (0.0, 0.0))
    assert total_missed() > 0


def test_outcomes_below_the_lattice_that_count_for_the_lower_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both ends then count sums moved up to the floor: the lower one passes the honest upper one."""
    parts = [(PoissonRemove(0.6, 0.4), 2), (PoissonAdd(0.25, 0.32), 2)]
    query = DeltaAt(0.4, 1e-3)
    honest = lattice_sum.refined(LossSum(tuple(parts)), query, query.start(1.0), 0.1)
    assert honest is not None
    framed, mode = lattice_sum._framed, lattice_sum.Mode

    def shallow(rounds, reach, spread, points):
        frame = framed(rounds, reach, spread, points)
        return replace(frame, floor=2)

    monkeypatch.setattr(lattice_sum, "_framed", shallow)
    rounds = rounds_of(parts)
    assert rounds is not None
    assert lattice_sum.convolved(rounds, 0.4, 0.1, 4096, 4.0).lower(0.4) <= honest.upper
    monkeypatch.setattr(
        lattice_sum, "Mode", lambda rounding, **how: mode(rounding, **{**how, "lifted": True})
    )
    assert lattice_sum.convolved(rounds, 0.4, 0.1, 4096, 4.0).lower(0.4) > honest.upper


def test_pairs_of_losses_that_are_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modulus, "_CURVE", 0.9166)
    bounds = ModulusBounds(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 1 + 1e-6)
    truth = math.log(math.cos(0.1))
    assert bounds.log_bound(np.array([0.1, 0.1000001]), 0)[0] < truth
