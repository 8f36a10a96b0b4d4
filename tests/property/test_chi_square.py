"""Rounds whose profile and χ²-divergence are bounded, against adversaries who choose in every round.

The oracles share no code with the bound: integrals on grids and a linear program. An adversary knows
the loss so far and chooses where the two records and all others lie; what it reaches is computed by
backward induction, from below, by sums over cells.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from dpcalc.accounting.composition import chi_square, chi_square_levels, sampled_blocks
from dpcalc.accounting.contour.shared import sharing
from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.accounting.losses.subsampled_gaussian import WithoutReplacement
from dpcalc.guarantees.composition import Composition, compose
from dpcalc.guarantees.gdp import GDP
from dpcalc.guarantees.mechanisms import sampled_without_replacement
from dpcalc.guarantees.sampled_replacement import SampledReplacement, _rounds, sampled_gaussian
from dpcalc.theorems.catalogue import privacy_result
from tests.oracles import adaptive_sampling
from tests.oracles.random_instances import ROOM
from tests.oracles.random_instances import sampled_replacement as drawn

LINE = [(1.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (0.6, 0.0), (-0.6, 0.0)]
PLANE = [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (-0.5, 0.866)]
RATIOS = np.exp(np.linspace(-2.5, 2.5, 201))


def _reached(mu: float, rate: float, corners: list[tuple[float, float]], count: int) -> np.ndarray:
    cells = 41 if corners is LINE else 15
    return adaptive_sampling.reached(
        adaptive_sampling.rounds(mu, rate, corners, cells), count, RATIOS
    )


@pytest.mark.parametrize("corners", [LINE, PLANE], ids=["line", "plane"])
@pytest.mark.parametrize(("mu", "rate", "count"), [(1.0, 0.1, 12), (2.0, 0.02, 10), (0.5, 0.3, 9)])
def test_no_adversary_reaches_more(
    mu: float, rate: float, count: int, corners: list[tuple[float, float]]
) -> None:
    ratios, reached = RATIOS, _reached(mu, rate, corners, count)
    bound = SampledReplacement(mu, rate, count)
    for k in range(41, 100, 6):
        epsilon = -math.log(ratios[k])
        truth = reached[k] / ratios[k]
        assert truth <= bound.delta(epsilon)
    assert bound.delta(0.25) <= 1.4 * reached[90] / ratios[90]


def _forget() -> None:
    for kept in (sampled_blocks._after, sampled_blocks._block):
        kept.cache_clear()


def test_half_the_chi_square_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    reached = _reached(1.0, 0.1, LINE, 12)
    honest = sampled_blocks.chi_square
    monkeypatch.setattr(sampled_blocks, "chi_square", lambda *a: honest(*a) / 2)
    _forget()
    planted = SampledReplacement(1.0, 0.1, 12).delta(0.5)
    _forget()
    assert reached[80] / RATIOS[80] > planted  # ε = 0.5


@pytest.mark.parametrize("count", [6, 7])
def test_no_adversary_reaches_more_by_longer_blocks_and_a_shorter_one(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Blocks of two rounds know less than single rounds, and a shorter last block more than they."""
    single = [SampledReplacement(1.0, 0.1, count).delta(0.1 * k) for k in range(12)]
    monkeypatch.setattr(sampled_blocks, "_FEWEST_BLOCKS", 3)
    assert sampled_blocks.block_size(count) == 2
    _forget()
    found = [SampledReplacement(1.0, 0.1, count).delta(0.1 * k) for k in range(12)]
    longer = [SampledReplacement(1.0, 0.1, 8).delta(0.1 * k) for k in range(12)]
    _forget()
    reached = _reached(1.0, 0.1, LINE, count)
    truth = np.interp(-0.1 * np.arange(12), np.log(RATIOS), reached) * np.exp(0.1 * np.arange(12))
    for k in range(12):
        # Coarser lattices and rounding change the bound of single rounds by less than 2 %.
        assert max(truth[k], 0.98 * single[k]) <= found[k] < longer[k]
        assert found[k] < 1.25 * single[k]


@pytest.mark.parametrize(("mu", "rate", "count", "size"), [(0.4, 0.2, 203, 4), (0.3, 0.5, 99, 2)])
def test_no_adversary_reaches_more_in_many_rounds_that_blocks_do_not_divide(
    mu: float, rate: float, count: int, size: int
) -> None:
    """Whole blocks whose χ² or profile is one round short would be caught by the adversary, a shorter
    block that is left out or has no χ² by what it adds: about its share of a whole one."""
    assert (sampled_blocks.block_size(count), count % size) == (size, size - 1)
    ratios = np.exp(np.linspace(-4, 4, 401))
    choices = adaptive_sampling.rounds(mu, rate, LINE[:3], 61)
    reached = adaptive_sampling.reached(choices, count, ratios)
    bound = SampledReplacement(mu, rate, count)
    for k, least in ((80, 0.8), (120, 0.85), (150, 0.9), (180, 0.92)):
        share = reached[k] / ratios[k] / bound.delta(-math.log(ratios[k]))
        assert least < share <= 1
    for epsilon in (0.2, 1.0):
        before, here, after = (
            SampledReplacement(mu, rate, rounds).delta(epsilon)
            for rounds in (count - size + 1, count, count + 1)
        )
        added = (here - before) / (after - before)
        assert (size - 1) / size < added < (size - 0.5) / size


def test_rounds_that_share_blocks_are_bounded_as_if_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_blocks, "_FEWEST_BLOCKS", 4)
    _forget()
    together = [SampledReplacement(1.0, 0.1, rounds).delta(0.5) for rounds in (10, 11, 8, 9)]
    alone = []
    for rounds in (10, 11, 8, 9):
        _forget()
        alone.append(SampledReplacement(1.0, 0.1, rounds).delta(0.5))
    _forget()
    assert together == alone
    assert alone[2] < alone[3] < alone[0] < alone[1]


def test_three_places_in_a_ball_have_at_most_the_chi_square_of_two() -> None:
    rng = np.random.default_rng(3)
    for mu in (0.1, 1.0, 2.5):
        places = rng.normal(size=(30_000, 3, 3))
        places *= mu / 2 / np.linalg.norm(places, axis=2, keepdims=True)
        places *= np.where(rng.random((30_000, 3, 1)) < 0.6, 1.0, rng.random((30_000, 3, 1)))
        a, b = places[:, 0] - places[:, 2], places[:, 1] - places[:, 2]
        found = np.expm1((a * a).sum(1)) + np.expm1((b * b).sum(1)) - 2 * np.expm1((a * b).sum(1))
        assert found.max() <= math.expm1(mu**2) * (1 + 1e-12)
        assert found.max() >= 0.9 * math.expm1(mu**2)


@pytest.mark.parametrize("peaks", ["one", "many"])
def test_the_gain_is_that_of_a_linear_program(peaks: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        curvature, weights = rng.exponential(size=9), rng.exponential(size=17)
        if peaks == "one":
            top = int(rng.integers(9))
            curvature = np.concatenate([np.sort(curvature[:top]), -np.sort(-curvature[top:])])
        budget = float(rng.exponential()) * 3
        found = chi_square._gain(curvature, weights, budget, 9)
        for row in (0, 4, 8):
            bounds = [(0.0, float(most)) for most in weights[8 - row : 17 - row]]
            most = linprog(-curvature, A_ub=[np.ones(9)], b_ub=[budget], bounds=bounds)
            assert found[row] == pytest.approx(-most.fun, rel=1e-9)


@pytest.mark.parametrize(("core", "window"), [(1, 2), (2, 5), (12, 96)])
def test_with_levels_from_nearby_the_gain_is_no_less(
    monkeypatch: pytest.MonkeyPatch, core: int, window: int
) -> None:
    """Whatever the curvatures are; what is beyond the window counts as well."""
    monkeypatch.setattr(chi_square_levels, "_CORE", core)
    monkeypatch.setattr(chi_square_levels, "_WINDOW", window)
    rng = np.random.default_rng(5)
    for _ in range(20):
        curvature, weights = rng.exponential(size=9), rng.exponential(size=17)
        budget = float(rng.exponential()) * 3
        found = chi_square_levels.gain(curvature, weights, budget, 5)
        for row in range(5):
            bounds = [(0.0, float(most)) for most in weights[8 - row : 17 - row]]
            most = linprog(-curvature, A_ub=[np.ones(9)], b_ub=[budget], bounds=bounds)
            assert found[row] >= -most.fun * (1 - 1e-9)


@pytest.mark.parametrize(("mu", "rate", "count"), [(1.0, 0.01, 500), (0.2, 5e-5, 9000)])
def test_in_lines_with_a_wide_tolerance_the_bound_is_nearly_the_same(
    mu: float, rate: float, count: int
) -> None:
    rounds = SampledReplacement(mu, rate, count)
    deltas = (1e-2, 1e-4, 1e-6)
    alone = [rounds.epsilon(delta) for delta in deltas]
    with sharing():
        assert [rounds.epsilon(delta) for delta in deltas] == alone
        with with_relative_width(5e-4):
            wide = [rounds.epsilon(delta) for delta in deltas]
    with with_relative_width(5e-4):
        assert [rounds.epsilon(delta) for delta in deltas] == alone
    assert wide == pytest.approx(alone, rel=5e-4)
    assert mu < 1 or wide != alone


def test_no_adversary_reaches_more_than_in_lines_with_a_wide_tolerance() -> None:
    reached = _reached(1.0, 0.1, LINE, 12)
    bound = SampledReplacement(1.0, 0.1, 12)
    with sharing(), with_relative_width(5e-4):
        for k in range(41, 100, 6):
            found = bound.delta(-math.log(RATIOS[k]))
            assert reached[k] / RATIOS[k] <= found
        assert bound.delta(0.25) <= 1.4 * reached[90] / RATIOS[90]


@pytest.mark.parametrize(("mu", "rate", "size"), [(1.0, 5e-5, 938), (0.5, 0.05, 16)])
def test_one_convolution_bounds_the_profile_of_a_block(mu: float, rate: float, size: int) -> None:
    block = _rounds(mu, rate, size)
    spacing, _ = sampled_blocks._lattice(mu, rate, size, 48 * size)
    found = sampled_blocks._deltas(WithoutReplacement(mu, rate), size, spacing, 400)
    for k in (0, 25):
        with with_relative_width(1e-3):
            truth = block.delta_bracket(spacing * k)
        assert truth.lower <= found[k] <= truth.upper * (1 + 1e-2)


def test_it_is_near_what_opposite_records_attain() -> None:
    theorem = privacy_result("private-dual-averaging").from_parameters(
        {"n_records": 100, "rounds": 400, "lipschitz": 1, "sigma": 2, "sampling": "one"}
    )
    attained = theorem.attained().guarantee.bracket(1e-3).lower
    certified = theorem.certified().guarantee.epsilon(1e-3)
    before = compose((sampled_without_replacement(1.0, 0.01), 400)).epsilon(1e-3)
    assert attained <= certified < 0.9 * before
    assert attained > 0.93 * certified


def test_where_it_cannot_help_the_rounds_are_composed() -> None:
    for mu, rate, rounds in [(4.0, 5e-5, 60_000), (1.0, 0.01, 2)]:
        one = sampled_gaussian(mu, rate)
        assert compose((one, rounds)) == Composition(((one, rounds),))
    assert compose((sampled_gaussian(1.0, 1.0), 20)) == compose((GDP(1.0), 20))


def test_beyond_the_lattice_it_promises_what_it_promises_at_its_end() -> None:
    profile = sampled_blocks.profile_of_rounds(1.0, 0.1, 12)
    assert profile.delta(profile.reach * 3) == profile.delta(profile.reach)
    assert SampledReplacement(1.0, 0.1, 12).epsilon(1e-300) == math.inf
    last = math.nextafter(profile.reach, 0)
    assert profile.delta(last) == pytest.approx(profile.delta(profile.reach), rel=1e-9)


def test_one_round_is_enclosed_from_above() -> None:
    for mu, rate, epsilon in [
        (1.0, 0.1, 0.0),
        (2.0, 5e-5, 0.01),
        (0.3, 0.4, 1.5),
        (1.0, 0.01, 3.0),
    ]:
        truth = sampled_without_replacement(mu, rate).delta_bracket(epsilon)
        found = sampled_blocks._one_round(mu, rate, epsilon)
        assert truth.lower <= found <= truth.upper * (1 + 1e-9)


def test_random_adversaries_reach_no_more() -> None:
    shares = [drawn(np.random.default_rng((6, n))) for n in range(8)]
    assert max(shares) <= 1 + ROOM[drawn]
    assert max(shares) > 0.8


def test_next_to_no_signal_is_answered_at_once() -> None:
    """Squares of such numbers vanish among the doubles."""
    found = compose((sampled_gaussian(1e-162, 0.01), 1000)).epsilon(1e-6)
    assert 0 <= found < 1e-90
