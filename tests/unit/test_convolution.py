"""Convolution on a lattice, by itself: against all outcomes, and against inversion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from dpcalc.accounting.composition import bracket_epsilon
from dpcalc.accounting.composition.direct import direct_delta, direct_epsilon
from dpcalc.accounting.dominating import law_from_distributions
from dpcalc.accounting.laws import GaussianLaw
from dpcalc.accounting.subsampling import PoissonAdd, PoissonRemove, WithoutReplacement
from tests.oracles import exact


def table(atoms: int, seed: int) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(atoms))
    q = p * np.exp(rng.normal(0, rng.uniform(1e-3, 2), atoms))
    return (p / math.fsum(p)).tolist(), (q / math.fsum(q)).tolist()


@given(st.integers(2, 4), st.integers(1, 5), st.integers(0, 10**6), st.floats(0, 2))
@settings(max_examples=25)
def test_tables_against_all_outcomes(atoms: int, rounds: int, seed: int, epsilon: float) -> None:
    p, q = table(atoms, seed)
    law = law_from_distributions(p, q)
    truth = exact.finite_delta(p, q, rounds, epsilon)
    found = direct_delta([(law, rounds)], epsilon, 0.3, 1e-2)
    assert found is not None
    assert mpf(found.upper) >= truth
    assert mpf(found.lower) <= truth


PAIRS = [
    PoissonRemove(1.0, 1e-3),
    PoissonAdd(0.8, 1e-2),
    WithoutReplacement(1.2, 1e-3),
    PoissonRemove(2.0, 0.3),
]


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
@pytest.mark.parametrize("rounds", [2, 7])
@pytest.mark.parametrize("delta", [1e-4, 1e-12])
def test_both_ways_have_the_truth_in_common(pair, rounds: int, delta: float) -> None:
    guess = bracket_epsilon([(pair, rounds)], delta, relative_width=1e-2)
    found = direct_epsilon([(pair, rounds)], delta, 2 * guess.upper, 1e-4)
    assert found is not None
    assert max(found.lower, guess.lower) <= min(found.upper, guess.upper)
    assert found.relative_width <= 1e-2


def test_a_finer_lattice_narrows_both_ends() -> None:
    parts = [(PoissonRemove(1.0, 1e-3), 3)]
    wide, narrow = (direct_delta(parts, 0.1, 0.02, width) for width in (1e-2, 1e-4))
    assert wide is not None
    assert narrow is not None
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper
    assert narrow.relative_width <= 1e-4


@pytest.mark.parametrize("delta", [1e-6, 1e-20])
def test_rare_events_that_no_contour_reaches(delta: float) -> None:
    sigma, rate = 1.0, 1 / 32561
    found = bracket_epsilon([(PoissonRemove(sigma, rate), 2)], delta)
    assert found.method.startswith("convolution")
    assert found.relative_width < 1e-6
    assert exact.two_sampled_rounds_delta(sigma, rate, found.upper, 10) <= delta
    assert exact.two_sampled_rounds_delta(sigma, rate, found.lower, 10) >= delta


def test_left_to_others() -> None:
    assert direct_delta([(GaussianLaw(1.0), 3)], 0.1, 0.1, 1e-3) is None
    assert direct_delta([(PoissonRemove(1.0, 0.1), 10**300)], 0.1, 0.1, 1e-3) is None
