"""Trade-off curves of composed guarantees, against closed forms and the best test of all outcomes."""

from __future__ import annotations

import itertools
import math

import pytest
from mpmath import mp, mpf

from dpcalc.guarantees import GDP, ApproxDP, PureDP, compose, composition
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian

RATES = [0.0, 1e-6, 0.003, 0.05, 0.2, 0.5, 0.9, 1.0]


def best_test(rounds: list[tuple[float, float]], rate: float) -> mpf:
    """The least false-negative rate, from likelihood ratios of all outcomes (Neyman and Pearson)."""
    with mp.workdps(40):
        caught, survived = mpf(0), mpf(1)
        for _, failure in rounds:
            survived *= 1 - mpf(failure)
        caught = 1 - survived  # what reveals everything costs no false alarm
        outcomes = []
        for signs in itertools.product((1, -1), repeat=len(rounds)):
            loss = mp.fsum(s * mpf(e) for s, (e, _) in zip(signs, rounds, strict=True))
            p = survived
            for s, (e, _) in zip(signs, rounds, strict=True):
                p /= 1 + mp.exp(-s * mpf(e))
            outcomes.append((loss, p))
        left = mpf(rate)
        for loss, p in sorted(outcomes, reverse=True):
            alarms = p * mp.exp(-loss)
            share = min(mpf(1), left / alarms)
            caught += share * p
            left -= share * alarms
            if left <= 0:
                break
        return max(1 - caught, mpf(0))


ROUNDS = [(1.0, 0.1), (2.0, 0.2), (0.3, 0.0)]


def curve() -> tuple[float, ...]:
    return compose(*[(ApproxDP(e, d), 1) for e, d in ROUNDS]).tradeoffs(RATES)


def test_no_attack_misses_less_and_the_best_one_little_more() -> None:
    for rate, found in zip(RATES, curve(), strict=True):
        truth = best_test(ROUNDS, rate)
        assert mpf(found) <= truth
        assert mpf(found) >= truth - mpf("2e-4")


def test_a_delta_that_is_too_small_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = composition.worst_deltas
    monkeypatch.setattr(
        composition, "worst_deltas", lambda *given: [0.99 * d for d in honest(*given)]
    )
    found = curve()
    assert any(f > best_test(ROUNDS, r) for r, f in zip(RATES, found, strict=True))


def test_gaussian_parts_by_way_of_losses() -> None:
    total = compose(GDP(0.6), PureDP(1e-12), GDP(0.8))
    exact = GDP(1.0)
    for rate, found in zip(RATES, total.tradeoffs(RATES), strict=True):
        assert exact.tradeoff(rate) - 2e-4 <= found <= exact.tradeoff(rate)


def test_one_rate_and_many_are_answered_alike() -> None:
    total = compose((poisson_subsampled_gaussian(0.4, 0.1, "add-remove"), 5))
    alone = total.tradeoff(0.1)
    assert alone == total.tradeoffs([0.1])[0]
    assert alone == pytest.approx(total.tradeoffs([0.01, 0.1, 0.3])[1], rel=1e-6)
    assert total.tradeoffs([]) == ()


@pytest.mark.parametrize("count", [5, 3000])
def test_many_deltas_are_those_of_one_after_the_other(count: int) -> None:
    """By one contour or one convolution for all; never below the enclosure of each."""
    total = compose((poisson_subsampled_gaussian(0.9, 0.02, "add-remove"), count))
    asked = [2.0, 0.0, 0.7, math.inf, 0.7]
    found = total.deltas(asked)
    assert found[3] == 0.0
    assert found[2] == found[4]
    for epsilon, delta in zip(asked[:3], found[:3], strict=True):
        each = compose(total).delta_bracket(epsilon)
        assert each.lower <= delta <= each.upper * 1.001


def test_vectors_of_closed_forms() -> None:
    assert GDP(1.0).epsilons([1e-5, 1e-6]) == (GDP(1.0).epsilon(1e-5), GDP(1.0).epsilon(1e-6))
    assert PureDP(1.0).deltas([0.0, 2.0]) == (PureDP(1.0).delta(0.0), 0.0)
    assert PureDP(1.0).tradeoffs([0.1]) == (PureDP(1.0).tradeoff(0.1),)
