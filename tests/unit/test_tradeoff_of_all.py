"""Both ends of the trade-off curve of every guarantee, against closed forms and sums of all outcomes."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.composition import worst_delta
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.losses import GaussianLoss
from dpcalc.guarantees import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ClaimedCurve,
    Guarantee,
    PrivacyProfile,
    PureDP,
    WorstOf,
    compose,
    group,
    mechanisms,
)
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.mixed import MixedReleases
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.guarantees.two_outcomes import concentrated, covered_at

RATES = [0.0, 1e-300, 1e-9, 0.01, 0.1, 0.5, 0.9, 1 - 1e-9, 1.0]
POISSON = mechanisms.poisson_subsampled_gaussian


def divergence(order: mpf, p: mpf, q: mpf) -> mpf:
    """Of two laws with two outcomes."""
    powers = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    return mp.log(powers) / (order - 1)


def worst(order: float, missed: float, rate: float) -> mpf:
    p, q = 1 - mpf(missed), mpf(rate)
    return max(divergence(mpf(order), p, q), divergence(mpf(order), q, p))


@pytest.mark.parametrize("points", [{2: 0.1}, {2: 0.1, 16: 1.0, 100: 50.0}, {1.001: 2.0, 1e6: 9.0}])
def test_a_curve_of_given_orders_is_the_worst_of_two_outcomes(points: dict[float, float]) -> None:
    """Found by bisection over the misses with eighty digits."""
    rates = [1e-9, 0.01, 0.1, 0.5, 0.9]
    with mp.workdps(80):
        for rate, found in zip(
            rates, RDP.from_points(points).tradeoff_brackets(rates), strict=True
        ):
            low, high = mpf(0), 1 - mpf(rate)
            for _ in range(200):
                middle = (low + high) / 2
                over = any(worst(order, middle, rate) > beta for order, beta in points.items())
                low, high = (middle, high) if over else (low, middle)
            assert mpf(found.lower) <= low
            assert high <= mpf(found.upper)
            assert found.upper - found.lower <= 1e-6 * found.upper


@pytest.mark.parametrize("rho", [1e-20, 1e-6, 0.01, 0.5, 5.0, 500.0])
def test_both_ends_of_concentrated_releases(rho: float) -> None:
    """Below the lower end some order says no; at the upper end none does, and Gaussian noise does not."""
    rates = [1e-9, 0.01, 0.1, 0.5, 0.9]
    with mp.workdps(80 if rho < 100 else 320):
        for rate, found in zip(rates, ZCDP(rho).tradeoff_brackets(rates), strict=True):
            for k in range(-20, 25) if found.upper < 1 - rate else ():
                order = 1 + mpf(10) ** (k / mpf(4))
                assert worst(order, found.upper, rate) <= order * mpf(rho)
            if mpf(found.lower) > 1 - mpf(rate) - mp.sqrt(
                mpf(rho) / 2
            ):  # not by Pinsker's inequality
                [telling] = ZCDP(rho)._telling_orders(rate)
                assert worst(telling, found.lower, rate) > mpf(telling) * mpf(rho)
            gaussian = GDP(math.sqrt(2 * rho)).tradeoff(rate)
            assert found.upper <= gaussian * (1 + 1e-9)
            assert found.lower <= found.upper


def test_outcomes_that_are_not_covered_are_not_taken_for_it() -> None:
    """Just below the curve one order is above: neither check may pass."""
    with mp.workdps(60):
        missed = 0.5162
        assert any(worst(order, missed, 0.1) > order * mpf(0.5) for order in (1.4, 1.5, 1.6))
    assert not concentrated(0.5, missed, 0.1)
    assert concentrated(0.5, 0.5165, 0.1)
    assert not covered_at([(1.5, 0.75)], missed, 0.1)


def test_concentrated_and_gaussian_releases_are_concentrated() -> None:
    total = compose((ZCDP(0.125), 3), GDP(0.5))
    assert isinstance(total, MixedReleases)
    assert total.divergences == ZCDP(0.5)
    assert total.epsilon(1e-6) < ZCDP(0.5).epsilon(1e-6)
    assert compose(ZCDP(math.inf), GDP(1)).epsilon(0.5) == math.inf


def test_a_failure_shrinks_the_curve() -> None:
    """It is told with probability 1/8, and else as much as the rest tells."""
    total = compose(ZCDP(0.5), ApproxDP(0.0, 0.125))
    for rate in (0.0, 0.01, 0.3):
        [found], [rest] = (
            total.tradeoff_brackets([rate]),
            ZCDP(0.5).tradeoff_brackets([rate / 0.875]),
        )
        assert found.lower == pytest.approx(0.875 * rest.lower, rel=1e-4)
        assert found.lower <= 0.875 * rest.upper
        assert found.upper <= 0.875 - rate + 1e-9
    assert total.tradeoff(0.9) == 0


def exact_lower(p: list[Fraction], q: list[Fraction], rounds: int, rate: Fraction) -> Fraction:
    """Neyman and Pearson, over all outcomes of all rounds."""
    outcomes = [(Fraction(1), Fraction(1))]
    for _ in range(rounds):
        outcomes = [(a * x, b * y) for a, b in outcomes for x, y in zip(p, q, strict=True)]
    outcomes.sort(key=lambda each: each[0] / (each[0] + each[1]) if any(each) else 0, reverse=True)
    left, caught = rate, Fraction(0)
    for a, b in outcomes:
        share = Fraction(1) if b <= left else left / b
        caught, left = caught + share * a, left - share * b
    return 1 - caught


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_what_reveals_all_lowers_both_ends_at_no_false_alarms(rounds: int) -> None:
    p, q = (
        [Fraction(1, 2), Fraction(1, 2), Fraction(0)],
        [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)],
    )
    one = mechanisms.finite_distributions([*map(float, p)], [*map(float, q)], "add-remove")
    for rate in (0.0, 1e-6, 0.125, 0.5):
        [found] = compose((one, rounds)).tradeoff_brackets([rate])  # type: ignore[attr-defined]
        truth = min(exact_lower(*way, rounds, Fraction(rate)) for way in ((p, q), (q, p)))
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower <= 2e-4
    [found] = compose((ApproxDP(1e-20, 0.5), 3)).tradeoff_brackets([0.0])  # type: ignore[attr-defined]
    assert found.lower <= 0.125 <= found.upper <= 0.1251


def test_too_large_a_certain_loss_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LossSum, "certain_mass", property(lambda self: 1.01 * self.infinite_mass))
    [found] = compose((ApproxDP(1e-20, 0.5), 3)).tradeoff_brackets([0.0])  # type: ignore[attr-defined]
    assert found.upper < 0.125


def test_one_gaussian_release_that_tells_all_answers_at_once() -> None:
    for epsilon in (0.0, 1.0, 700.0):
        found = worst_delta(
            [[(GaussianLoss(1e6), 1), *((compose(PureDP(1.0)).losses() or ())[0])]], epsilon
        )
        assert found.lower <= 1 == found.upper
        assert found.lower >= 1 - 1e-14
    with mp.workdps(60):
        for mu in (18.01, 19.0, 40.0, 1e3):
            for epsilon in (0.0, mu * (mu / 2 - 9.0)):
                a, b = epsilon / mpf(mu) - mpf(mu) / 2, epsilon / mpf(mu) + mpf(mu) / 2
                exact = mp.ncdf(-a) - mp.exp(epsilon) * mp.ncdf(-b)
                found = worst_delta([[(GaussianLoss(mu), 1)]], epsilon)
                assert mpf(found.lower) <= exact <= mpf(found.upper)


def steep(epsilon: float) -> float:
    return math.exp(-3 * epsilon) / 3


def stairs(epsilon: float) -> float:
    return 0.3 if epsilon < 1 else 0.1


@pytest.mark.parametrize("profile", [steep, stairs])
def test_a_profile_says_the_supremum_of_its_lines(profile: object) -> None:
    stated = PrivacyProfile(profile)  # type: ignore[arg-type]
    places = np.append(np.linspace(0, 30, 20_001), 1.0)
    deltas = np.array([stated.delta(e) for e in places.tolist()])
    for rate, found in zip(RATES, stated.tradeoff_brackets(RATES), strict=True):
        lines = (1 - deltas - np.exp(places) * rate, np.exp(-places) * (1 - deltas - rate))
        truth = max(float(np.max(lines)), 0.0)
        assert found.lower <= truth + 1e-5  # the oracle looks at twenty thousand places
        assert truth - 1e-12 <= found.upper <= 1
        assert found.upper - found.lower <= 0.02 or rate == 0


@pytest.mark.parametrize(
    "stated",
    [
        GDP(1.0),
        GDP(0.0),
        GDP(math.inf),
        PureDP(1.0),
        PureDP(math.inf),
        ApproxDP(1.0, 0.1),
        ZCDP(0.0),
        ZCDP(0.5),
        ZCDP(math.inf),
        RDP(lambda order: order / 2),
        RDP.from_points({2: 0.1, 16: 1.0}),
        compose(ZCDP(0.1), PureDP(1.0)),
        compose(ZCDP(0.1), ApproxDP(1.0, 0.1)),
        compose((GDP(0.3), 4)),
        compose((PureDP(0.3), 4), GDP(1e6)),
        WorstOf(((0, GDP(1.0)), (1, PureDP(0.7)))),
        BestOf((GDP(1.0), PureDP(0.7), ApproxDP(0.2, 0.1))),
        GaussianMixture((1.0, 2.0), (0.5, 0.25)),
        ClaimedCurve(lambda delta: math.log(1 / delta), {"epsilon": 1.0}),
        group(mechanisms.laplace(1.0, "add-remove"), 3),
        group(GDP(1.0), 3),
        mechanisms.laplace(1.0, "add-remove"),
        mechanisms.gaussian_without_replacement(1.1, 10, 1000),
    ],
)
def test_every_guarantee_has_both_ends(stated: Guarantee) -> None:
    found = stated.tradeoff_brackets(RATES)
    for rate, ends, lower in zip(RATES, found, stated.tradeoffs(RATES), strict=True):
        assert 0 <= ends.lower <= ends.upper <= 1
        assert ends.upper <= (1 - rate) * (1 + 1e-14)
        assert ends.lower == pytest.approx(lower, abs=1e-5)
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        delta = stated.delta(epsilon)
        for rate, ends in zip(RATES, found, strict=True):
            line = 1 - delta - math.exp(epsilon) * rate, math.exp(-epsilon) * (1 - delta - rate)
            assert max(line) <= ends.upper + 1e-15
    assert stated.tradeoff_brackets([]) == ()


def test_closed_forms_are_a_double_wide() -> None:
    for stated in (GDP(1.0), PureDP(0.5), ApproxDP(0.5, 0.1)):
        for ends in stated.tradeoff_brackets([0.0, 1e-9, 0.1, 0.5, 1.0]):
            assert ends.upper <= math.nextafter(ends.lower, 1.0)


def test_a_group_of_three_is_told_by_three_steps() -> None:
    """δ(e)(1 + e^e + e^{2e}) at ε = 3e, with sixty digits."""
    base = POISSON(1.0, 0.1, "add-remove")
    profile = group(base, 3)
    epsilons = sorted(random.Random(1).uniform(0, 3) for _ in range(5))
    with mp.workdps(60):
        for epsilon, found in zip(epsilons, profile.deltas(epsilons), strict=True):
            e = mpf(epsilon) / 3
            exact = mpf(base.delta_bracket(float(e)).lower) * (1 + mp.exp(e) + mp.exp(2 * e))  # type: ignore[attr-defined]
            assert exact <= mpf(found) * (1 + mpf("1e-14"))
            assert found <= min(1.0, float(exact) * 1.001)
    assert profile.deltas([math.inf]) == (0.0,)


def test_rounds_of_a_sample_are_enclosed_by_what_is_proved_and_what_is_attained() -> None:
    rounds = compose((mechanisms.gaussian_without_replacement(2.1, 10, 1000), 10))
    [found] = rounds.tradeoff_brackets([0.1])
    pairs = rounds.pairs().tradeoff(0.1)  # type: ignore[attr-defined]
    assert pairs - 1e-6 <= found.lower <= found.upper <= 0.9
    assert found.upper - found.lower <= 0.02


@pytest.mark.parametrize(
    "guarantee",
    [GDP(0.0), GDP(1e-10), GDP(1.0), PureDP(0.0), PureDP(1.0), ApproxDP(1.0, 1e-300), ZCDP(0.0)],
    ids=repr,
)
def test_no_test_that_gives_false_alarms_misses_all(guarantee: Guarantee) -> None:
    """1 - 1e-300 has more than sixty digits; rounded down it is the double below 1."""
    for rate in (1e-300, 5e-324, 1e-20):
        assert guarantee.tradeoff(rate) < 1
        (bracket,) = guarantee.tradeoff_brackets([rate])
        assert bracket.lower < 1 == bracket.upper


def test_where_all_may_be_told_a_test_without_false_alarms_finds_something() -> None:
    told = ApproxDP(1.0, 1e-300)
    assert told.tradeoff(0.0) < 1
    assert told.tradeoff_brackets([0.0])[0].lower < 1
    assert PureDP(1.0).tradeoff(0.0) == GDP(1.0).tradeoff(0.0) == 1
