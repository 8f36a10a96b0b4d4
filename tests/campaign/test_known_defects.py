"""Defects seen in other libraries, each run again here."""

from __future__ import annotations

import math

import pytest
from mpmath import mpf

from dpcalc.accountant import Accountant
from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.gaussian import gaussian_epsilon, gaussian_mu
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove
from dpcalc.claims.solve import solve
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, PureDP
from dpcalc.guarantees.composition import compose
from dpcalc.guarantees.mechanisms import (
    finite_distributions,
    gaussian,
    laplace,
    poisson_subsampled_gaussian,
)
from dpcalc.vocabulary import Adjacency
from tests.oracles import exact

SAMPLED = [(PoissonRemove(1.0, 0.01), 10_000)]


def test_small_delta_is_neither_below_the_truth_nor_infinite() -> None:
    """Elsewhere 8.76535460 at 1e-9, which is too small, and infinity at 1e-15."""
    for delta, truth in ((1e-9, 8.76543859), (1e-15, 11.759978502)):
        found = bracket_epsilon(SAMPLED, delta)
        assert truth * (1 - 1e-9) <= found.upper <= truth * (1 + 1e-6)


def test_randomised_response_counts_its_uses() -> None:
    """Elsewhere ε = 0.1001 for 10, 100 and 1000 uses."""
    for uses, truth in ((10, 0.99937090572), (100, 4.77456758811)):
        assert compose((PureDP(0.1), uses)).epsilon(1e-6) == pytest.approx(truth, rel=1e-10)
    e = math.exp(0.1)
    table = finite_distributions(
        [e / (1 + e), 1 / (1 + e)], [1 / (1 + e), e / (1 + e)], "replace-one"
    )
    assert compose((table, 100)).epsilon(1e-6) == pytest.approx(4.77456758811, rel=2e-6)


@pytest.mark.parametrize("bad", [math.nan, 0.0, -1.0, math.inf])
def test_nonsense_noise_raises_and_is_never_worth_zero(bad: float) -> None:
    """Elsewhere σ = nan gives ε = 0, hangs, or gives a negative ε."""
    for make in (
        lambda: gaussian(bad, "add-remove"),
        lambda: laplace(bad, "add-remove"),
        lambda: poisson_subsampled_gaussian(bad, 0.01, "add-remove"),
        lambda: poisson_subsampled_gaussian(1.0, -abs(bad) if bad == bad else bad, "add-remove"),
    ):
        with pytest.raises(InvalidInput):
            make()


def test_pure_rounds_have_no_domain_to_be_too_small() -> None:
    """Elsewhere the upper bound of 300 uses of 1-DP is 140; the truth is 207."""
    truth = compose((PureDP(1.0), 300)).epsilon(1e-6)
    assert exact.equal_rounds_delta(1.0, 300, truth) <= mpf(1e-6)
    assert exact.equal_rounds_delta(1.0, 300, truth * (1 - 1e-9)) > mpf(1e-6)
    assert truth > 140


def test_many_different_mechanisms_and_many_rounds_are_answered() -> None:
    """Elsewhere half a minute, or more than twenty seconds for a million rounds."""
    assert math.isfinite(bracket_epsilon([(PoissonRemove(1.0, 1e-3), 10**6)], 1e-6).upper)
    closed = GDP(math.sqrt(math.fsum((0.01 + k * 1e-5) ** 2 for k in range(1000))))
    parts = Accountant(delta=1e-6)
    for k in range(1000):
        parts = parts.spend(GDP(0.01 + k * 1e-5))
    assert parts.epsilon_spent() == pytest.approx(closed.epsilon(1e-6), rel=1e-12)


def test_calibrated_noise_is_never_too_small() -> None:
    """Elsewhere 3.7306316348159374 for ε = 1, δ = 1e-5, and too small at δ <= 1e-15."""
    assert solve({"mechanism": "gaussian"}, 1, 1.0, 1e-5).value >= 3.7306316348159418
    for delta in (1e-5, 1e-15, 1e-25):
        mu = gaussian_mu(1.0, delta)
        assert exact.gaussian_delta(mu, 1.0, 120) <= mpf(delta)
        found = solve({"mechanism": "gaussian"}, 1, 1.0, delta)
        assert exact.gaussian_delta(1 / found.value, 1.0, 120) <= mpf(delta)


def test_the_closed_form_is_never_below_in_the_last_digits() -> None:
    for mu in (1.0, 0.3, 4.0):
        for delta in (1e-5, 1e-12):
            assert exact.gaussian_delta(mu, gaussian_epsilon(mu, delta), 120) <= mpf(delta)


def test_few_rounds_are_not_underestimated_by_a_limit_theorem() -> None:
    """Elsewhere the central limit gives less than the truth."""
    found = bracket_epsilon([(PoissonRemove(0.6, 0.01), 100)], 1e-6)
    limit = GDP(0.01 * math.sqrt(100 * math.expm1(1 / 0.36))).epsilon(1e-6)
    assert found.lower > limit


def test_replacing_a_record_is_not_twice_or_half_of_adding_one() -> None:
    adding = compose((poisson_subsampled_gaussian(1.0, 0.01, "add-remove"), 10_000))
    replacing = compose((poisson_subsampled_gaussian(1.0, 0.01, Adjacency.REPLACE_ONE), 10_000))
    assert adding.epsilon(1e-5) == pytest.approx(6.187712389972, rel=1e-6)
    assert replacing.epsilon(1e-5) == pytest.approx(10.8807815336, rel=1e-6)


def test_asking_changes_nothing() -> None:
    step = {"mechanism": "poisson-subsampled-gaussian", "noise_multiplier": 1, "rate": 0.01}
    spent = Accountant(8.0, 1e-5).spend(step, 10)
    before = spent.to_json()
    first = spent.epsilon_spent()
    spent.rounds_left(step)
    assert spent.epsilon_spent() == first
    assert spent.to_json() == before


def test_a_large_epsilon_and_a_small_one_have_no_fixed_bracket() -> None:
    for sigma, rounds in ((0.05, 10_000), (1e4, 1)):
        found = bracket_epsilon([(PoissonRemove(sigma, 0.01), rounds)], 1e-5)
        assert 0 <= found.lower <= found.upper < math.inf


def test_delta_of_a_sampled_gaussian_keeps_its_relative_accuracy() -> None:
    truth = exact.subsampled_gaussian_delta(1.0, 0.01, 8.0, digits=80)
    found = bracket_delta([(PoissonRemove(1.0, 0.01), 1)], 8.0)
    assert truth < mpf("1e-30")
    assert mpf(found.lower) <= truth <= mpf(found.upper)
    assert found.relative_width < 1e-6
