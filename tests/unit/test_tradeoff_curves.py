"""Trade-off curves of composed guarantees, against closed forms and the best test of all outcomes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.enclosure import relative_width
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, ApproxDP, PureDP, compose, composition, tradeoff
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian
from dpcalc.guarantees.tradeoff import curve_below

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
    assert alone == pytest.approx(total.tradeoffs([0.01, 0.1, 0.3])[1], rel=2e-5)
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


class Asked:
    """The profile of 1-GDP, remembering the ε that were asked for together."""

    def __init__(self) -> None:
        self.together: list[list[float]] = []
        self.widths: list[float] = []
        self.spent: list[float] = []

    def epsilon(self, delta: float) -> float:
        self.widths.append(relative_width())
        self.spent.append(delta)
        return GDP(1.0).epsilon(delta)

    def deltas(self, epsilons: list[float]) -> tuple[float, ...]:
        self.together.append(epsilons)
        return GDP(1.0).deltas(epsilons)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.05, 0.3, 0.9])
def test_lines_are_looked_for_at_the_top_of_a_parabola(rate: float) -> None:
    asked = Asked()
    [found] = curve_below(asked, [rate])  # type: ignore[arg-type]
    grid, *finer = asked.together
    spent = max(min(rate, 1 - rate) / 1000, 1e-12)
    reach = GDP(1.0).epsilon(spent)
    assert asked.spent == pytest.approx([spent], rel=1e-9)
    assert asked.widths == [1e-2]
    assert relative_width() < 1e-2
    # Forty steps, closer together near 0, then at most twice a line of either kind.
    assert grid == pytest.approx([reach * (k / 40) ** 1.5 for k in range(41)], rel=1e-12)
    assert len(finer) <= 3
    assert all(1 <= len(near) <= 2 for near in finer)
    # A further line is asked for if it may add a hundred thousandth; a sixty-fourth of two steps is
    # how far from its place it may be, where it loses half the square times its curvature below 1.
    exact, step = GDP(1.0).tradeoff(rate), 2 * 1.5 * reach / 40
    assert exact - 2e-5 * exact - (step / 64) ** 2 / 2 - 1e-12 <= found <= exact


def test_a_hundred_rates_share_their_lines() -> None:
    asked, rates = Asked(), [k / 101 for k in range(1, 101)]
    found = curve_below(asked, rates)  # type: ignore[arg-type]
    assert sum(map(len, asked.together)) < 200
    for rate, misses in zip(rates, found, strict=True):
        exact = GDP(1.0).tradeoff(rate)
        assert exact - 1e-5 <= misses <= exact


@pytest.mark.parametrize("factor", [0.0, -1.0, 0.5])
def test_a_parabola_that_is_misread_is_seen(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if its top were elsewhere: the bounds hold, and fall short."""
    honest = tradeoff._tops
    rates = [0.01, 0.05, 0.3]

    def elsewhere(epsilons: Any, values: Any) -> Any:
        tops = honest(epsilons, values)
        nearest = epsilons[np.abs(epsilons - tops[:, None]).argmin(axis=1)]
        return nearest + factor * (tops - nearest)

    exact = np.array([GDP(3.0).tradeoff(rate) for rate in rates])
    with monkeypatch.context() as planted:
        planted.setattr(tradeoff, "_tops", elsewhere)
        short = exact - np.array(curve_below(GDP(3.0), rates))
    full = exact - np.array(curve_below(GDP(3.0), rates))
    assert np.all(short >= 0)
    assert np.all(full >= 0)
    assert full.max() < short.max() / 2


def test_what_reveals_all_with_certainty_is_asked_how_often() -> None:
    """Where ε(1e-12) is infinite the curve ends at the probability of being told."""
    [found] = compose(ApproxDP(1.0, 0.1), ApproxDP(2.0, 0.2)).tradeoffs([1e-9])
    assert found == pytest.approx(0.72, abs=1e-6)


def test_no_rates_ask_nothing_and_one_that_reveals_all_is_answered() -> None:
    asked = Asked()
    assert curve_below(asked, []) == ()  # type: ignore[arg-type]
    assert asked.together == []
    assert curve_below(PureDP(math.inf), [0.0, 0.5, 1.0]) == (0.0, 0.0, 0.0)
    assert curve_below(ApproxDP(0.0, 0.25), [0.5]) == (pytest.approx(0.25, rel=1e-12),)
    with pytest.raises(InvalidInput, match="false_positive_rate"):
        curve_below(GDP(1.0), [1.5])
