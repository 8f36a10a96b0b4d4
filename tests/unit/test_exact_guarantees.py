"""Guarantees against exact values: the worst, the best, the literature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.accounting.enclosure import Bracket, relative_width
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import (
    GDP,
    ZCDP,
    ApproxDP,
    ClaimedCurve,
    PureDP,
    compose,
)
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.conversion import to_gdp, to_pure, to_zcdp
from dpcalc.guarantees.groups import group
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian
from dpcalc.guarantees.mixed import MixedReleases
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.guarantees.through_renyi import ApproximateRDP
from dpcalc.guarantees.worst import WorstOf


def test_exact_values_from_the_literature() -> None:
    assert GDP(1.0).epsilon(1e-5) == 4.377178095681225
    expected = {0.5: 1.993091, 1.0: 4.377178, 2.0: 9.997256}
    for mu, epsilon in expected.items():
        assert GDP(mu).epsilon(1e-5) == pytest.approx(epsilon, abs=1e-6)
    assert GDP(1.0).epsilon(1e-6) == pytest.approx(4.886554, abs=1e-6)
    assert GDP(1.0).epsilon(1e-2) == pytest.approx(2.317789, abs=1e-6)


def test_the_worst_of_two_cases_twice_includes_one_of_each() -> None:
    one, other = PureDP(3.0), compose((PureDP(0.2), 20))
    worst = WorstOf(((1, one), (2, other)))
    mixed = compose(one, (PureDP(0.2), 20)).epsilon(1e-6)
    for twice in (compose(worst, worst), compose((worst, 2)), compose((worst, 1), worst)):
        assert twice.epsilon(1e-6) >= mixed
        assert twice.epsilon(1e-6) <= mixed * (1 + 1e-12)
    many = compose((worst, 1000)).epsilon(1e-6)
    assert compose((one, 1000)).epsilon(1e-6) <= many <= 4000


@pytest.mark.parametrize("seed", range(8))
def test_a_mixture_of_tiny_shifts_has_a_positive_divergence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 300))
    weights = rng.random(size)
    weights /= weights.sum()
    mus = 10.0 ** rng.uniform(-12, -8, size)
    mixture = GaussianMixture(tuple(mus.tolist()), tuple(weights.tolist()))
    for order in (1.0005, 1.06, 2.0, 50.0):
        with mp.workdps(60):
            a = mpf(order)
            moment = sum(
                (mpf(w) * mp.expm1((a - 1) * a * mpf(m) ** 2 / 2) for w, m in zip(weights, mus, strict=True)),
                mpf(0),
            )  # fmt: skip
            truth = mp.log1p(moment) / (a - 1)  # what the weights lack of 1 does not move
        assert mpf(mixture.renyi(order)) >= truth
    both = compose((mixture, 1000), ZCDP(1e-20))
    assert 0 <= both.epsilon(1e-6) < 1e-6
    assert 0 <= both.delta(0.0) < 1e-6


def test_failure_probabilities_that_use_up_delta_leave_the_plain_sum() -> None:
    both = compose(ApproxDP(1.0, 1e-6), PureDP(0.1))
    assert both.bracket(1e-6).lower <= 1.1 <= both.epsilon(1e-6) <= 1.1 * (1 + 1e-15)
    assert both.epsilon(1e-7) == math.inf
    assert both.epsilon(2e-6) < 1.1


@given(st.floats(-8, 1).map(lambda x: 10**x), st.floats(0.001, 0.999))
def test_no_attack_is_more_accurate(mu: float, prior: float) -> None:
    """Bayes' test between N(0, 1) and N(μ, 1), by its closed form."""
    with mp.workdps(60):
        rare, common = sorted((mpf(prior), 1 - mpf(prior)))
        z = mp.log(common / rare)
        delta = mp.ncdf(mpf(mu) / 2 - z / mu) - mp.exp(z) * mp.ncdf(-mpf(mu) / 2 - z / mu)
        truth = common + rare * delta
        found = GDP(mu).attack_accuracy(prior)
        assert truth <= mpf(found) <= truth * (1 + mpf("3e-16"))


@given(st.floats(-40, 3).map(lambda x: 10**x), st.floats(-6, 3).map(lambda x: 1 + 10**x))
def test_the_divergence_of_randomised_response_is_exact(epsilon: float, order: float) -> None:
    with mp.workdps(200):
        a, e = mpf(order), mpf(epsilon)
        moment = (mp.sinh(a * e) - mp.sinh((a - 1) * e)) / mp.sinh(e)
        truth = mp.log(moment) / (a - 1)
        found = mpf(PureDP(epsilon).renyi(order))
        assert truth <= found <= truth * (1 + mpf("3e-16"))


def test_the_worst_of_several_is_the_worst_in_every_respect() -> None:
    cases = {1: GDP(0.5), 2: PureDP(1.0)}
    worst = WorstOf(tuple(cases.items()))
    for delta in (1e-12, 1e-3, 0.2):
        assert worst.epsilon(delta) == max(case.epsilon(delta) for case in cases.values())
        assert cases[worst.worst(delta)].epsilon(delta) == worst.epsilon(delta)
    assert (worst.worst(1e-12), worst.worst(0.2)) == (1, 2)
    for epsilon in (0.0, 0.5, 3.0):
        assert worst.delta(epsilon) == max(case.delta(epsilon) for case in cases.values())
    assert worst.renyi(2.0) == max(case.renyi(2.0) for case in cases.values())
    for rate in (0.0, 0.1, 0.9):
        assert worst.tradeoff(rate) == min(case.tradeoff(rate) for case in cases.values())
    assert worst.parameters() == {"cases": 2.0}
    assert group(worst, 2).epsilon(1e-9) == max(group(c, 2).epsilon(1e-9) for c in cases.values())


@pytest.mark.parametrize("convert", [to_pure, to_zcdp, to_gdp])
def test_what_does_not_convert_says_what_would(convert: object) -> None:
    with pytest.raises(InvalidInput, match=r"needed|from"):
        convert(ApproxDP(1.0, 1e-6))  # type: ignore[operator] # one of three functions
    assert to_zcdp(ZCDP(0.3)) == ZCDP(0.3)
    assert to_gdp(GDP(0.3)) == GDP(0.3)
    assert to_zcdp(GDP(math.inf)).rho == math.inf


def test_the_best_of_several_encloses_with_its_own_lower_end() -> None:
    """The smallest exact ε lies between the least lower end and the least upper end."""
    narrow, wide = (
        compose((poisson_subsampled_gaussian(sigma, 0.01, "add-remove"), 100))
        for sigma in (1.0, 0.8)
    )
    best = BestOf((wide, narrow))
    assert best.bracket(1e-6) == narrow.bracket(1e-6)
    assert best.bracket(1e-6).lower > 0
    assert best.delta_bracket(1.0) == narrow.delta_bracket(1.0)
    assert best.delta_bracket(1.0).lower > 0
    assert best.losses() == wide.losses()


def test_a_bound_that_is_surely_larger_is_enclosed_coarsely_only() -> None:
    asked: list[float] = []

    class Watched(PureDP):
        def bracket(self, delta: float) -> Bracket:
            asked.append(relative_width())
            return Bracket(self.bound / 2, self.bound, f"watched at {delta}")

    assert BestOf((Watched(1.0), Watched(9.0))).epsilon(1e-6) == 1.0
    assert len(asked) == 2
    assert asked[1] > 1e-3 > asked[0]
    found = BestOf((Watched(1.0), Watched(1.5))).bracket(1e-6)
    assert (found.lower, found.upper) == (0.5, 1.0)
    assert asked[-1] < 1e-3


def test_the_best_with_a_bound_that_has_no_enclosure_is_enclosed_from_zero() -> None:
    narrow = compose((poisson_subsampled_gaussian(1.0, 0.01, "add-remove"), 100))
    best = BestOf((narrow, ZCDP(0.01)))
    assert best.bracket(1e-6).lower == 0
    assert best.bracket(1e-6).upper == min(narrow.epsilon(1e-6), ZCDP(0.01).epsilon(1e-6))
    assert best.epsilon(1e-6) == best.bracket(1e-6).upper


def test_a_claimed_formula_is_not_asked_at_delta_zero() -> None:
    claim = ClaimedCurve(lambda delta: -math.log(delta), {"sigma": 2.0})
    assert claim.epsilon(0.0) == math.inf
    assert claim.epsilon(math.exp(-3)) == pytest.approx(3)
    assert dict(claim.parameters()) == {"sigma": 2.0}


def test_a_pair_states_its_two_numbers() -> None:
    assert dict(ApproxDP(0.7, 1e-4).parameters()) == {"epsilon": 0.7, "delta": 1e-4}


def test_failures_of_pairs_among_renyi_curves_multiply() -> None:
    """(ε₀, δ₀) composed 3 times with a Rényi curve: the curves add, and 1-(1-δ₀)³ may fail."""
    mixed = compose((ApproxDP(0.5, 1e-3), 3), (ZCDP(0.02), 2))
    assert isinstance(mixed, MixedReleases)
    found = mixed.divergences
    assert isinstance(found, ApproximateRDP)
    with mp.workdps(50):
        failure = 1 - (1 - mpf(1e-3)) ** 3
        p = 1 / (1 + mp.exp(-mpf(0.5)))
        one = mp.log(p**4 * (1 - p) ** -3 + (1 - p) ** 4 * p**-3) / 3
        exact = 3 * one + 2 * 4 * mpf(0.02)
    assert failure <= found.failure <= failure * (1 + mpf("1e-15"))
    assert exact <= found.base.renyi(4.0) <= exact * (1 + mpf("1e-12"))


def test_equal_rounds_that_come_in_two_parts_all_count() -> None:
    """Rounds of one ε, some of them able to fail, cost at least what as many without failure do."""
    apart = compose((PureDP(0.3), 4), (ApproxDP(0.3, 1e-12), 5), GDP(0.5))
    together = compose((PureDP(0.3), 9), GDP(0.5))
    assert together.epsilon(1e-5) * (1 - 1e-6) <= apart.epsilon(1e-5)
    assert apart.epsilon(1e-5) <= together.epsilon(1e-5) * (1 + 1e-3)
