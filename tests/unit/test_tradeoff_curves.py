"""Trade-off curves of composed guarantees, against closed forms and the best test of all outcomes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.composition import DeltaCurve
from dpcalc.accounting.enclosure import relative_width
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, ApproxDP, PureDP, compose, tradeoff
from dpcalc.guarantees.base import Guarantee
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.mechanisms import laplace, poisson_subsampled_gaussian
from dpcalc.guarantees.tradeoff import curve_below, curve_ends
from dpcalc.guarantees.worst import WorstOf
from tests.oracles.exact import gaussian_delta

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


def below(asked: Any, rates: list[float]) -> tuple[float, ...]:
    """`curve_below` for what answers `deltas` alone."""
    return curve_below(asked, lambda e: [(0.0, delta) for delta in asked.deltas(e)], rates)


ROUNDS = [(1.0, 0.1), (2.0, 0.2), (0.3, 0.0)]


def curve() -> tuple[float, ...]:
    return compose(*[(ApproxDP(e, d), 1) for e, d in ROUNDS]).tradeoffs(RATES)


def test_no_attack_misses_less_and_the_best_one_little_more() -> None:
    for rate, found in zip(RATES, curve(), strict=True):
        truth = best_test(ROUNDS, rate)
        assert mpf(found) <= truth
        assert mpf(found) >= truth - mpf("2e-4")


def changed(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """As if bounds of δ were others."""
    honest = DeltaCurve.ends
    monkeypatch.setattr(
        DeltaCurve, "ends", lambda self, e: [change(*each) for each in honest(self, e)]
    )


def test_a_delta_that_is_too_small_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, lambda low, high: (low, 0.99 * high))
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
    [found] = below(asked, [rate])
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
    found = below(asked, rates)
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
        short = exact - np.array(below(GDP(3.0), rates))
    full = exact - np.array(below(GDP(3.0), rates))
    assert np.all(short >= 0)
    assert np.all(full >= 0)
    assert full.max() < short.max() / 2


def test_what_reveals_all_with_certainty_is_asked_how_often() -> None:
    """Where ε(1e-12) is infinite the curve ends at the probability of being told."""
    [found] = compose(ApproxDP(1.0, 0.1), ApproxDP(2.0, 0.2)).tradeoffs([1e-9])
    assert found == pytest.approx(0.72, abs=1e-6)


def test_no_rates_ask_nothing_and_one_that_reveals_all_is_answered() -> None:
    asked = Asked()
    assert below(asked, []) == ()
    assert asked.together == []
    assert below(PureDP(math.inf), [0.0, 0.5, 1.0]) == (0.0, 0.0, 0.0)
    assert below(ApproxDP(0.0, 0.25), [0.5]) == (pytest.approx(0.25, rel=1e-12),)
    with pytest.raises(InvalidInput, match="false_positive_rate"):
        below(GDP(1.0), [1.5])


FINE = [k / 40 for k in range(41)]


@pytest.mark.parametrize("rounds", [ROUNDS, [(0.5, 0.0)], [(3.0, 0.0), (0.1, 1e-9)]])
def test_both_ends_enclose_the_best_test(rounds: list[tuple[float, float]]) -> None:
    found = compose((PureDP(0.0), 1), *[(ApproxDP(*each), 1) for each in rounds])
    for rate, ends in zip(FINE, found.tradeoff_brackets(FINE), strict=True):  # type: ignore[attr-defined]
        truth = best_test(rounds, rate)
        assert mpf(ends.lower) <= truth + mpf("1e-35")
        assert mpf(ends.upper) >= truth - mpf("1e-35")  # the oracle has forty digits
        if rate:  # without false alarms the upper end does not know what reveals all
            assert ends.upper - ends.lower <= 2e-4


@pytest.mark.parametrize("mu", [0.05, 1.0, 4.0, 20.0])
@pytest.mark.few(2)
def test_both_ends_enclose_the_gaussian_curve(mu: float) -> None:
    """Exact δ in, Neyman and Pearson's curve out, down to rates that are next to nothing."""
    rates = [0.0, 1e-300, 1e-30, 1e-9, 1e-3, *FINE[1:-1], 1 - 1e-3, 1 - 1e-9, 1.0]
    exact = GDP(mu)

    def ends(epsilons: Any) -> list[tuple[float, float]]:
        with mp.workdps(60):
            return [outward(gaussian_delta(mu, e)) for e in epsilons]

    for rate, found in zip(rates, curve_ends(exact, ends, rates), strict=True):
        with mp.workdps(60):
            # Symmetric about 0, so that small rates keep their digits.
            truth = mp.ncdf(-inverse_normal(mpf(rate)) - mu) if 0 < rate < 1 else 1 - mpf(rate)
            assert mpf(found.lower) <= truth <= mpf(found.upper)
        assert found.upper - found.lower <= 5e-3  # forty steps up to where δ is 1e-12


def outward(value: mpf) -> tuple[float, float]:
    near = float(value)
    return max(math.nextafter(near, -1.0), 0.0), math.nextafter(near, 2.0)


def inverse_normal(p: mpf) -> mpf:
    """The quantile, by bisection."""
    low, high = mpf(-40), mpf(40)
    for _ in range(250):
        middle = (low + high) / 2
        low, high = (middle, high) if mp.ncdf(middle) < p else (low, middle)
    return (low + high) / 2


def test_a_lower_bound_of_delta_that_is_too_large_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    total = compose(*[(ApproxDP(*each), 1) for each in ROUNDS])
    honest = total.tradeoff_brackets(FINE)  # type: ignore[attr-defined]
    changed(monkeypatch, lambda low, high: (1.01 * low, 1.01 * high))
    found = total.tradeoff_brackets(FINE)  # type: ignore[attr-defined]
    truth = [best_test(ROUNDS, rate) for rate in FINE]
    assert all(ends.upper >= exact for ends, exact in zip(honest, truth, strict=True))
    assert sum(ends.upper < exact for ends, exact in zip(found, truth, strict=True)) > 10


def test_a_corner_that_is_too_low_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the curve were its chords between the places that were asked, which lie below it."""
    total = compose(*[(ApproxDP(*each), 1) for each in ROUNDS])
    monkeypatch.setattr(tradeoff._Concave, "corners", lambda self: (self.t, self.high * (1 - 1e-9)))
    monkeypatch.setattr(
        tradeoff._Concave, "corners_beyond_one", lambda self, _: tradeoff._Concave.corners(self)
    )
    found = total.tradeoff_brackets(FINE)  # type: ignore[attr-defined]
    exact = [best_test(ROUNDS, rate) for rate in FINE]
    assert sum(ends.upper < truth for ends, truth in zip(found, exact, strict=True)) > 5


@pytest.mark.parametrize(
    "total",
    [
        compose((poisson_subsampled_gaussian(1.0, 0.01, "add-remove"), 400)),
        compose((poisson_subsampled_gaussian(1.0, 0.2, "add-remove"), 1)),
        compose((poisson_subsampled_gaussian(1.0, 1e-4, "add-remove"), 50)),
        compose((laplace(4.0, "add-remove"), 6)),
        compose((PureDP(0.1), 50)),
        compose((PureDP(0.1), 20), (PureDP(0.3), 10)),
        laplace(1.0, "add-remove"),
    ],
)
@pytest.mark.few(4)
def test_every_composition_has_both_ends(total: Guarantee) -> None:
    rates = [0.001, 0.01, *FINE[1:-1]]
    lower = total.tradeoffs(rates)
    both = total.tradeoff_brackets(rates)  # type: ignore[attr-defined]
    for one, ends in zip(lower, both, strict=True):
        assert ends.lower == pytest.approx(one, abs=1e-6)
        assert ends.upper - ends.lower <= 5e-4
        assert one <= ends.upper
    # No line of any enclosed (ε, δ) is above the upper ends, and none of them above 1 - α.
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        delta = total.delta_bracket(epsilon).upper  # type: ignore[attr-defined]
        for rate, ends in zip(rates, both, strict=True):
            line = max(
                1 - delta - math.exp(epsilon) * rate, math.exp(-epsilon) * (1 - delta - rate)
            )
            assert line <= ends.upper
            assert ends.upper <= (1 - rate) * (1 + 1e-14)


def test_the_worst_and_the_best_of_several_answer_rates_together() -> None:
    parts = GDP(1.0), PureDP(0.7), ApproxDP(0.2, 0.1)
    each = [part.tradeoffs(FINE) for part in parts]
    worst = WorstOf(tuple(enumerate(parts)))
    assert worst.tradeoffs(FINE) == tuple(map(min, zip(*each, strict=True)))
    assert BestOf(parts).tradeoffs(FINE) == tuple(map(max, zip(*each, strict=True)))
    assert worst.tradeoff(0.3) == worst.tradeoffs([0.3])[0]
    assert BestOf(parts).tradeoff(0.3) == BestOf(parts).tradeoffs([0.3])[0]


@pytest.mark.parametrize("mu", [2.50662827e-12, 2.5066282752e-12])
def test_places_that_are_the_same_double_are_one(mu: float) -> None:
    """ε up to some 1e-16 matter, e^ε is 1 or the next double: 1 - α less some μφ(Φ^{-1}(α))."""
    total = compose(GDP(mu), PureDP(1e-30))
    with mp.workdps(40):
        for rate, ends in zip(RATES, total.tradeoff_brackets(RATES), strict=True):  # type: ignore[attr-defined]
            bent = mp.erfinv(1 - 2 * mpf(rate)) * mp.sqrt(2) if 0 < rate < 1 else mpf(0)
            missed = mp.ncdf(bent - mpf(mu)) if 0 < rate < 1 else 1 - mpf(rate)
            assert ends.lower <= missed <= ends.upper


def test_no_rate_is_above_one() -> None:
    for total in (compose((PureDP(1e-3), 2)), compose((ApproxDP(0.1, 0.2), 2))):
        assert total.tradeoff_brackets([0.0])[0].upper <= 1  # type: ignore[attr-defined]
