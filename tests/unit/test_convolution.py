"""Convolution on a lattice, by itself: against all outcomes, and against inversion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.composition.lattice_sum import refined
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import DiscreteLoss, GaussianLoss, RandomisedResponseLoss
from dpcalc.accounting.losses.privacy_profile import law_from_distributions
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    WithoutReplacement,
)
from tests.oracles import exact


def on_lattices(parts: list, epsilon: float, unit: float, width: float) -> Bracket | None:
    """δ(ε) by convolution alone."""
    query = DeltaAt(epsilon, width)
    return refined(LossSum(tuple(parts)), query, query.start(1.0), unit)


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
    found = on_lattices([(law, rounds)], epsilon, 0.3, 1e-2)
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
@pytest.mark.few(8)
def test_both_ways_have_the_truth_in_common(pair, rounds: int, delta: float) -> None:
    guess = bracket_epsilon([(pair, rounds)], delta, relative_width=1e-2)
    query, start = EpsilonAt(delta, 1e-4), 2 * guess.upper
    found = refined(LossSum(((pair, rounds),)), query, query.start(start), start)
    assert found is not None
    assert max(found.lower, guess.lower) <= min(found.upper, guess.upper)
    assert found.relative_width <= 1e-2


def test_a_finer_lattice_narrows_both_ends() -> None:
    parts = [(PoissonRemove(1.0, 1e-3), 3)]
    wide, narrow = (on_lattices(parts, 0.1, 0.02, width) for width in (1e-2, 1e-4))
    assert wide is not None
    assert narrow is not None
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper
    assert narrow.relative_width <= 1e-4


@pytest.mark.parametrize("delta", [1e-20, 1e-6])
@pytest.mark.few(1)
def test_rare_events_that_no_contour_reaches(delta: float) -> None:
    sigma, rate = 1.0, 1 / 32561
    found = bracket_epsilon([(PoissonRemove(sigma, rate), 2)], delta)
    assert found.method != "moment inversion, two-sided"
    assert found.relative_width < 1e-6
    assert exact.two_sampled_rounds_delta(sigma, rate, found.upper, 10) <= delta
    assert exact.two_sampled_rounds_delta(sigma, rate, found.lower, 10) >= delta


def test_a_round_with_losses_below_the_lattice_next_to_a_table() -> None:
    """What a cell below the bottom puts on it is left out of the lower end with the rest of it."""
    sigma, rate, epsilon = 0.2468415139332277, 0.31864202907271094, 0.425061216868761
    mass, high = 0.001770814395210189, 2.16202071556633
    low = -math.log((1 - mass * math.exp(-high)) / (1 - mass))
    table_law = DiscreteLoss(np.array([high, low]), np.array([mass, 1 - mass]))
    with mp.workdps(40):
        truth = mpf(0)
        for loss, weight in ((high, mass), (low, 1 - mass)):
            # E_P[(1 - e^{ε-l-L})₊] of one round at a real argument, N(0) against the mixture.
            ratio = mp.exp(mpf(epsilon) - mpf(loss))
            if ratio * (1 - mpf(rate)) >= 1:
                continue
            t = mp.log((1 / ratio - 1 + mpf(rate)) / mpf(rate))
            x = -(t * mpf(sigma) ** 2 + mpf(1) / 2)  # losses exceed ln(ratio) to the right of it
            tail = lambda z: mp.erfc(z / mp.sqrt(2)) / 2  # noqa: E731
            p = tail(x / mpf(sigma))
            q = (1 - mpf(rate)) * p + mpf(rate) * tail((x + 1) / mpf(sigma))
            truth += mpf(weight) * (p - ratio * q)
    for width in (1e-2, 1e-4, 1e-6):
        parts = [(PoissonAdd(sigma, rate), 1), (table_law, 1)]
        found = bracket_delta(parts, epsilon, relative_width=width)
        assert mpf(found.lower) <= truth <= mpf(found.upper)


def test_losses_far_beyond_the_lattice_count_above_it() -> None:
    far = DiscreteLoss(np.array([1e5]), np.array([1e-9]))
    found = on_lattices([(PoissonRemove(1e4, 1e-9), 2), (far, 1)], 0.0, 1e-13, 1e-6)
    assert found is not None
    assert found.upper >= 1e-9


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 6.0])
def test_gaussians_and_randomised_response_in_closed_form(epsilon: float) -> None:
    gaussian = on_lattices([(GaussianLoss(0.8), 2)], epsilon, 0.3, 1e-4)
    assert gaussian is not None
    with mp.workdps(40):
        truth = exact.gaussian_delta(mpf(0.8) * mp.sqrt(2), epsilon)
    assert mpf(gaussian.lower) <= truth <= mpf(gaussian.upper)
    assert gaussian.relative_width < 1e-3
    response = on_lattices([(RandomisedResponseLoss.of({0.3: 30}), 1)], epsilon, 0.3, 1e-4)
    assert response is not None
    truth = exact.equal_rounds_delta(0.3, 30, epsilon)
    assert mpf(response.lower) <= truth <= mpf(response.upper)


def test_left_to_others() -> None:
    assert on_lattices([(GaussianLoss(1e-9), 3)], 0.1, 0.1, 1e-3) is None
    assert on_lattices([(PoissonRemove(1.0, 0.1), 10**300)], 0.1, 0.1, 1e-3) is None


def test_two_losses_of_which_the_common_one_is_above_epsilon() -> None:
    """Nothing spreads and nothing is left to reach: the lattice once had steps of 1e-303."""
    p, q = table(2, 0)
    found = on_lattices([(law_from_distributions(p, q), 3)], 0.0, 0.3, 1e-4)
    assert found is not None
    assert mpf(found.lower) <= exact.finite_delta(p, q, 3, 0.0) <= mpf(found.upper)
    assert found.relative_width < 0.2


def test_where_nothing_is_known_of_falls_everything_may_have_fallen() -> None:
    from dpcalc.accounting.composition.lattice import sums

    unknown = np.full(len(sums.SLOPES), np.nan)
    assert sums._fallen(unknown, 1.0, weighed=True) == 1.0
    half = np.where(np.arange(len(unknown)) % 2, unknown, -3.0)
    assert sums._fallen(half, 1.0, weighed=True) < 1.0
