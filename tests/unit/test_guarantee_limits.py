"""Groups, mixtures and Rényi curves at their ends, and where calibration stops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from mpmath import mp, mpf

from dpcalc.calibration import _to_the_last_double, smallest_noise
from dpcalc.errors import InvalidInput
from dpcalc.guarantees import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    PrivacyProfile,
    PureDP,
    compose,
)
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.distributions import finite_distributions
from dpcalc.guarantees.groups import GroupProfile, group
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.guarantees.selection import RandomSelection
from dpcalc.guarantees.through_renyi import ApproximateRDP
from dpcalc.theorems.catalogue import privacy_result

pytestmark = pytest.mark.usefixtures("fifty_digits")


def step(first: float, second: float, at: float) -> PrivacyProfile:
    return PrivacyProfile(lambda epsilon: first if epsilon < at else second)


def test_a_group_is_bounded_at_the_best_share() -> None:
    """Where a profile is flat beyond a step, the share at the step is best, not an end."""
    found = group(step(1e-2, 1e-6, 0.3), 3)
    assert isinstance(found, GroupProfile)
    for epsilon in (1.5, 3.0):
        best = mpf(1e-6) * (1 + mp.exp(mpf(0.3)) + mp.exp(mpf(0.6)))
        assert best <= mpf(found.delta(epsilon)) <= best * (1 + mpf(1e-9))
    # Without that much ε the step is not reached, and the share of 0 is best: δ(0)·3.
    assert found.delta(0.6) == pytest.approx(3e-2, rel=1e-12)
    assert found.delta(0.6) >= 3e-2
    assert found.delta(0.0) == pytest.approx(3e-2, rel=1e-12)
    # A profile that falls faster than the factor grows is best at the largest share.
    falling = group(PrivacyProfile(lambda e: 1e-3 * math.exp(-9 * e)), 3)
    for epsilon in (0.75, 1.5):
        share = mpf(epsilon) / 3
        exact = mpf(1e-3) * mp.exp(-9 * share) * (1 + mp.exp(share) + mp.exp(2 * share))
        assert falling.delta(epsilon) == pytest.approx(float(exact), rel=1e-12)
    assert group(step(0.5, 0.0, 0.3), 3).delta(1.5) == 0.0
    assert group(step(0.5, 0.4, 0.3), 3).delta(1.5) == 1.0
    assert found.delta(math.inf) == 0.0


def test_a_group_of_a_profile_that_falls_a_little_faster_than_the_factor_grows() -> None:
    """δ falls like e^{-3s} up to a share of 0.4 and like e^{-s} beyond: with two more, 0.4 is best."""
    profile = PrivacyProfile(lambda s: 1e-3 * math.exp(-3 * s if s < 0.4 else -0.8 - s))
    found = group(profile, 3)
    share = mpf(0.4)
    exact = mpf(1e-3) * mp.exp(-3 * share) * (1 + mp.exp(share) + mp.exp(2 * share))
    assert found.delta(3.0) == pytest.approx(float(exact), rel=1e-6)


def test_the_orders_that_points_are_searched_at() -> None:
    """Beyond the largest order nothing is known; between two the best may lie."""
    assert RDP.from_points({2: 0.1}).searched_orders() == (math.log(1e-9), 0.0)
    assert RDP.from_points({2: 0.1, 9: 1.0}).searched_orders() == (math.log(1e-9), math.log(8))
    assert RDP(lambda order: order).searched_orders() == (math.log(1e-9), math.log(1e12))
    between = RDP.from_points({2: 0.5, 64: 4.0})
    # (α-1)β is on its chord from (1, 1/2) to (63, 252): the best α at δ = 1e-9 is inside.
    with mp.workdps(20):

        def bound(order: mpf) -> mpf:
            chord = 0.5 + 251.5 * (order - 2) / 62
            rest = mp.log((order - 1) / order) - (mp.log(mpf(1e-9)) + mp.log(order)) / (order - 1)
            return chord / (order - 1) + rest

        best = min(bound(2 + mpf(k) / 64) for k in range(1, 62 * 64 + 1))
    assert between.epsilon(1e-9) == pytest.approx(float(best), rel=1e-6)


def test_a_mixture_far_out_counts_those_it_leaves_alone() -> None:
    """ln(1 - w + w e^x)/(α-1), also where w e^x is about 1 and e^x beyond the doubles."""
    for exponent, log_weight in (
        (600.0, -600),
        (601.0, -601),
        (605.0, -602),
        (650.0, -640),
        (599.0, -599),
    ):
        weight, order = math.exp(log_weight), 2.0
        mu = math.sqrt(exponent)
        with mp.workdps(40):
            exact = mp.log(1 - mpf(weight) + mpf(weight) * mp.exp(mpf(mu) ** 2))
        found = GaussianMixture((mu,), (weight,)).renyi(order)
        assert exact <= mpf(found) <= exact + mpf(700 * 2.5e-13)
    # Weights that rounding left above 1 are all counted.
    over = GaussianMixture((1e-9,), (1 + 1e-12,)).renyi(2.0)
    assert math.log1p(1e-12) <= over <= 1.001e-12 * (1 + 1e-3)
    assert GaussianMixture((1e-9,), (0.5,)).renyi(2.0) == pytest.approx(0.5e-18, rel=1e-9)


def test_the_losses_of_a_gaussian_that_hides_all_or_nothing() -> None:
    assert GDP(0.0).losses() == ((),)
    assert len((GDP(5e-324).losses() or ())[0]) == 1
    [(_, rounds)] = (GDP(math.inf).losses() or ())[0]
    assert rounds == 1
    assert Composition(((GDP(math.inf), 1),)).delta(9.0) == 1.0


def test_the_losses_of_what_fails_or_hides_all() -> None:
    assert PureDP(0.0).losses() == ((),)
    [alone] = ApproxDP(0.0, 0.25).losses() or ()
    assert len(alone) == 1
    [both] = ApproxDP(0.5, 0.25).losses() or ()
    assert len(both) == 2


def test_a_curve_that_is_known_at_low_orders_composes() -> None:
    """What is finite at an order of 2, or just above 1, is a known divergence."""
    for order in (1.001, 1.5, 2.0, 2.5):
        known = RDP(lambda a, top=order: 0.1 * a if a <= top else math.inf)
        assert compose((known, 2)).renyi(1.001) == pytest.approx(0.2 * 1.001)
    high = RDP(lambda a: 0.1 * a if a > 1.5 and a <= 2 else math.inf)
    assert compose((high, 2)).renyi(2.0) == pytest.approx(0.4)
    with pytest.raises(InvalidInput, match="known loss or Rényi divergence"):
        compose((RDP(lambda a: 0.1 * a if a > 2.5 else math.inf), 2))


@pytest.mark.parametrize("adjacency", [None, "", "sideways"])
def test_two_distributions_need_a_known_relation(adjacency: str | None) -> None:
    with pytest.raises(InvalidInput, match="adjacency is needed for two distributions"):
        finite_distributions([0.5, 0.5], [0.25, 0.75], adjacency)  # type: ignore[arg-type]


@pytest.mark.parametrize("law", ["logarithmic", "geometric"])
def test_the_delta_of_a_selection_is_a_probability(law: str) -> None:
    found = RandomSelection(ApproxDP(0.1, 0.25), 0.01, law)
    assert found.expected_runs * 0.25 > 2
    for epsilon in (0.0, 3.0, 700.0):
        assert found.delta(epsilon) == 1.0
    with pytest.raises(InvalidInput, match=r"^stop "):
        RandomSelection(PureDP(0.1), 1.5, law)
    few = RandomSelection(PureDP(0.1), 0.5, law)
    assert few.delta(math.inf) == 0.0
    assert few.delta(0.0) == 1.0
    shift = few.shift
    rest = math.nextafter(shift + 0.05 - shift, 0.0)
    exact = few._expected() * mpf(PureDP(0.1).delta(rest))
    assert mpf(few.delta(shift + 0.05)) >= exact
    assert few.delta(shift + 0.05) == pytest.approx(float(exact), rel=1e-12)


@dataclass(frozen=True)
class Released:
    """A release with a pure ε of three noise levels, or of three over the noise level."""

    level: float
    noise_is_a_rate: bool

    def noise_level(self) -> float:
        return self.level

    def with_noise_level(self, level: float) -> Released:
        return Released(level, self.noise_is_a_rate)

    def certified(self) -> SimpleNamespace:
        epsilon = 3 * self.level if self.noise_is_a_rate else 3 / self.level
        return SimpleNamespace(guarantee=PureDP(epsilon))


@pytest.mark.parametrize("rate", [True, False])
@pytest.mark.parametrize("budget", [0.7, 2.0])
def test_calibration_stops_at_the_last_double(rate: bool, budget: float) -> None:
    exact = budget / 3 if rate else 3 / budget
    start = Released(exact * (1 - 9e-12 if rate else 1 + 9e-12), rate)
    found = _to_the_last_double(start, budget, 0.0)  # type: ignore[type-var]

    def spent(level: float) -> float:
        return found.with_noise_level(level).certified().guarantee.epsilon(0.0)

    level = found.noise_level()
    assert spent(level) <= budget
    assert spent(math.nextafter(level, math.inf if rate else 0.0)) > budget


def test_calibration_of_a_closed_form_stops_at_the_last_double() -> None:
    kind = privacy_result("pnsgd")
    theorem = kind.from_parameters(kind.example)
    for budget in (0.5, 3.0):
        found = smallest_noise(theorem, budget, 1e-6)
        level = found.noise_level()
        assert found.certified().guarantee.epsilon(1e-6) <= budget
        less = found.with_noise_level(math.nextafter(level, 0.0))
        assert less.certified().guarantee.epsilon(1e-6) > budget


def test_every_failure_counts_and_none_is_lost_in_the_digits() -> None:
    parts = [(ApproximateRDP(ZCDP(0.125), 1e-3), 1), (ApproximateRDP(ZCDP(0.25), 1e-2), 2)]
    for order in (parts, parts[::-1]):
        found = compose(*order)
        assert isinstance(found, ApproximateRDP)
        exact = 1 - (1 - mpf(1e-3)) * (1 - mpf(1e-2)) ** 2
        assert exact <= mpf(found.failure) <= exact * (1 + mpf("1e-15"))
    alone = Composition(((ApproxDP(0.1, 1e-100), 1), (PureDP(0.2), 2)))._plain_sum()
    assert alone is not None
    assert alone.failure == 1e-100
