"""Losses that hardly vary over most outcomes: cells stay narrow enough for quadrature, no mass is lost."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.composition import bracket_delta, contour_integral, lattice_sum
from dpcalc.accounting.composition.lattice.rounds import Cut
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt
from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.laplace_density import LaplaceBody
from dpcalc.accounting.losses.narrow_cells import narrow_enough
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove
from dpcalc.errors import NumericalFailure

SIGMA, RATE = 0.04114689111168801, 1.2630121299605803e-06
"""24 standard deviations apart: all but 1e-33 of what is sampled is told."""


def variation(sigma: float, rate: float) -> mpf:
    """The total variation of one round."""
    return mpf(rate) * mp.erf(1 / (2 * mp.sqrt(2) * mpf(sigma)))


@pytest.mark.parametrize("rounds", [2, 3, 7])
@pytest.mark.parametrize("pair", [PoissonAdd(SIGMA, RATE), PoissonRemove(SIGMA, RATE)])
def test_delta_of_rounds_that_tell_what_is_sampled(pair: DensityPair, rounds: int) -> None:
    total, query = LossSum.of([(pair, rounds)]), DeltaAt(0.0, 1e-6)
    found = lattice_sum.enclose(total, query, contour_integral.estimate(total, query))
    answer = bracket_delta([(pair, rounds)], 0.0)
    with mp.workdps(40):
        truth = 1 - (1 - mpf(RATE)) ** rounds
        assert found is not None
        assert found.lower <= truth * (1 + mpf("1e-30"))
        assert truth * (1 - mpf("1e-30")) <= found.upper
        assert answer.lower <= truth <= answer.upper


@pytest.mark.parametrize("seed", range(6))
def test_lattices_say_no_less_than_one_round_does_and_no_more_than_all(seed: int) -> None:
    rng = random.Random(seed)

    def between(low: float, high: float) -> float:
        return math.exp(rng.uniform(math.log(low), math.log(high)))

    sigma, rate, rounds = between(0.03, 0.3), between(1e-8, 1e-2), int(between(2, 30))
    total, query = LossSum.of([(PoissonAdd(sigma, rate), rounds)]), DeltaAt(0.0, 1e-2)
    estimate = contour_integral.estimate(total, query)
    try:
        found = lattice_sum.enclose(total, query, estimate)
    except NumericalFailure:
        found = None
    if found is not None:
        with mp.workdps(40):
            one = variation(sigma, rate)
            assert found.upper >= one
            assert found.lower <= 1 - (1 - one) ** rounds


def test_wide_cells_are_cut_and_others_are_left() -> None:
    pair = PoissonAdd(SIGMA, RATE)
    edges = np.array([-0.4, -0.399, 0.0, 1.2])
    found = narrow_enough(pair, edges)
    middle = (found[1:] + found[:-1]) / 2
    assert np.isin(edges, found).all()
    assert (np.diff(found) <= 1.05 * pair.max_cell_width(middle)).all()
    assert narrow_enough(pair, found) is found
    assert len(narrow_enough(LaplaceBody(0.5), np.array([-0.25, 0.25]))) >= 2


def test_more_cells_than_there_is_room_for_are_refused() -> None:
    with pytest.raises(NumericalFailure, match="200,000"):
        narrow_enough(PoissonAdd(1e-7, 0.5), np.array([0.0, 1.0]))


def test_masses_of_a_round_that_do_not_add_up_to_one_are_refused() -> None:
    losses = np.zeros(1)
    lost = Cut(losses, np.array([0.04]), np.array([1e-13]), losses, np.array([True]))
    with pytest.raises(NumericalFailure, match="add up to one"):
        lost.normalised()
