"""Guarantees at the limits of their ways: how they are composed, which law they get, what is refused."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from mpmath import mp, mpf

from dpcalc.accounting.enclosure import Bracket
from dpcalc.calibration import _Search, smallest_noise
from dpcalc.errors import Infeasible
from dpcalc.guarantees import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ClaimedCurve,
    Guarantee,
    PrivacyProfile,
    PureDP,
    compose,
)
from dpcalc.guarantees.attainment import is_attained
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.conversion import rho_for, to_gdp, to_rdp, to_zcdp
from dpcalc.guarantees.distributions import finite_distributions
from dpcalc.guarantees.mechanisms import (
    exponential_norm,
    laplace,
    poisson_subsampled_gaussian,
)
from dpcalc.guarantees.mixed import MixedReleases
from dpcalc.guarantees.selection import RandomSelection, stop_for
from dpcalc.theorems.catalogue import privacy_result
from tests.unit.limit_sums import Told, refused

pytestmark = pytest.mark.usefixtures("fifty_digits")


def test_divergences_add_up_and_are_rounded_up() -> None:
    total = compose((PureDP(0.3), 7), (GDP(0.7), 3))
    for order in (1.5, 2.0, 31.0):
        exact = 7 * mpf(PureDP(0.3).renyi(order)) + 3 * mpf(GDP(0.7).renyi(order))
        assert exact <= mpf(total.renyi(order)) <= exact * (1 + mpf("3e-15"))
    mixed = compose((ZCDP(0.3), 7), (PureDP(0.7), 3))
    assert isinstance(mixed, MixedReleases)
    through = mixed.divergences
    assert isinstance(through, RDP)
    assert through.described == "sum over 10 releases"
    for order in (1.5, 2.0, 31.0):
        exact = 7 * mpf(0.3) * mpf(order) + 3 * mpf(PureDP(0.7).renyi(order))
        assert exact <= mpf(through.renyi(order)) <= exact * (1 + mpf("3e-15"))
    assert total.parameters() == {"releases": 10.0}


def test_numbers_of_runs_are_refused_in_full() -> None:
    for wrong in (0.0, 1.0):
        assert refused(RandomSelection, PureDP(0.1), wrong) == (
            f"stop needs a number in (0, 1); got stop={wrong!r}; try 0.1"
        )
    assert "unknown law of the number of runs 'poison'" in refused(
        RandomSelection, PureDP(0.1), 0.5, "poison"
    )
    for few in (1.0, 0.5, math.nan):
        assert refused(stop_for, few) == (
            f"expected needs a number above 1; got expected={few!r}; try 10"
        )
    for law in ("logarithmic", "geometric"):
        for runs in (1.5, 10.0, 1e6):
            chosen = RandomSelection(PureDP(0.1), stop_for(runs, law), law)
            assert chosen.expected_runs == pytest.approx(runs, rel=1e-9)
            assert chosen.parameters() == {
                "stop": chosen.stop, "expected_runs": chosen.expected_runs,
            }  # fmt: skip


def test_a_budget_that_no_noise_meets_is_refused_with_what_to_try() -> None:
    kind = privacy_result("pnsgd")
    theorem = kind.from_parameters(kind.example)
    assert refused(smallest_noise, 3, 1.0).startswith(
        "expected an instance of a theorem; got 3; try "
        "dpcalc.theorems.catalogue.privacy_result('dp-admm').from_parameters(...)"
    )
    assert refused(smallest_noise, theorem, 1.0) == (
        "--delta above 0 is needed: pnsgd gives no ε at δ = 0; try --delta 1e-6"
    )
    assert refused(smallest_noise, theorem, 0.0, 1e-5).startswith("epsilon needs a finite number")
    assert refused(smallest_noise, theorem, 1.0, 1.0).startswith("delta needs a number in [0, 1)")
    loud = privacy_result("dp-admm")
    instance = loud.from_parameters({**loud.example, "dual_start": "data"})
    with pytest.raises(Infeasible) as caught:
        smallest_noise(instance, 0.25, 1e-5)
    assert str(caught.value) == (
        f"no amount of noise makes dp-admm (0.25, 1e-5)-DP; try {instance.suggestion(0.25, 1e-5)}"
    )


def test_what_every_guarantee_answers_from_its_profile() -> None:
    told, exact = Told(), GDP(1.0)
    assert told.needs_delta()
    for rate in (0.0, 0.01, 0.3, 0.9, 1.0):
        assert exact.tradeoff(rate) - 1e-6 <= told.tradeoff(rate) <= exact.tradeoff(rate)
    assert told.advantage() == exact.delta(0.0)
    for prior in (0.0, 0.01, 0.3, 0.5, 0.7, 1.0):
        assert told.attack_accuracy(prior) == pytest.approx(exact.attack_accuracy(prior), rel=1e-12)
    assert told.attack_accuracy() == told.attack_accuracy(0.5)
    assert told.renyi(2.0) == math.inf
    assert told.losses() is None
    assert told.closed_group(3) is None
    assert told.post_processed() is told
    assert told.under(None) is told
    assert told.under("").adjacency is None
    said = told.under("add-remove")
    assert said.under("add-remove") is said
    assert refused(said.under, "replace-one") == (
        "expected a guarantee under replace-one; got one that holds under add-remove; state its "
        "mechanism under replace-one"
    )
    assert refused(told.under, "add-remov").startswith(
        "unknown neighbouring relation 'add-remov'; did you mean 'add-remove'?"
    )
    assert "<td style" in said._repr_html_()
    assert "neighbours" in said._repr_html_()
    assert "neighbours" not in told._repr_html_()
    assert ">release<" in told._repr_html_()
    assert ">release<" not in GDP(1.0)._repr_html_()


def test_an_infinite_epsilon_needs_no_delta() -> None:
    total = Composition(((PureDP(0.5), 2), (GDP(0.25), 1)))
    assert total.delta_bracket(math.inf) == Bracket(0.0, 0.0, "plain sum")
    for guarantee in (total, GDP(1.0), ZCDP(0.5), RandomSelection(PureDP(0.1), 0.5)):
        assert guarantee.delta(math.inf) == 0.0
    for ask in (total.deltas, lambda wrong: total.delta_bracket(wrong[0])):
        assert refused(ask, [-1.0]).startswith("epsilon needs a number, 0 or above")


def test_a_claimed_curve_is_turned_around_at_the_last_double() -> None:
    curve = ClaimedCurve(lambda delta: -0.5 * math.log(delta), {"rho": 0.5})
    found = curve.delta(2.0)
    assert -0.5 * math.log(found) <= 2.0 < -0.5 * math.log(math.nextafter(found, 0))
    assert (curve.delta(math.inf), curve.epsilon(0.0)) == (0.0, math.inf)
    assert curve.delta(0.0) == pytest.approx(1.0)
    assert ClaimedCurve(lambda _: 3.0, {}).delta(2.0) == 1.0
    assert ClaimedCurve(lambda _: 3.0, {}).delta(3.0) == 5e-324
    assert curve.parameters() == {"rho": 0.5}


def test_guarantees_say_their_parameters_under_their_names() -> None:
    assert GDP(0.5).parameters() == {"mu": 0.5}
    assert ZCDP(0.5).parameters() == {"rho": 0.5}
    assert PureDP(0.5).parameters() == {"epsilon": 0.5}
    assert ApproxDP(0.5, 0.25).parameters() == {"epsilon": 0.5, "delta": 0.25}
    assert RDP.from_points({2: 0.25}).parameters() == {"divergence at order 2": 0.25}
    assert Composition(((GDP(0.5), 3), (PureDP(0.5), 2))).parameters() == {"releases": 5.0}


def test_what_some_mechanism_reaches() -> None:
    assert is_attained(GDP(1.0))
    assert is_attained(Composition(((GDP(1.0), 2), (ApproxDP(1.0, 0.1), 1))))
    best = BestOf((GDP(1.0), PureDP(1.0)))
    assert not is_attained(best)
    assert not is_attained(Composition(((GDP(1.0), 2), (best, 1))))
    assert not is_attained(ZCDP(1.0))


def test_the_divergence_of_a_profile_is_that_of_its_worse_direction() -> None:
    asymmetric = finite_distributions([0.5, 0.5], [0.25, 0.75], "add-remove")
    profile = PrivacyProfile(asymmetric.delta, dominating=asymmetric.losses())
    for order in (1.5, 3.0):
        exact = max(
            mp.log(mp.fsum(mpf(p) ** order * mpf(q) ** (1 - order) for p, q in pairs)) / (order - 1)
            for pairs in (((0.5, 0.25), (0.5, 0.75)), ((0.25, 0.5), (0.75, 0.5)))
        )
        assert exact <= mpf(profile.renyi(order)) <= exact * (1 + mpf("1e-9"))


def test_conversions_stop_at_the_last_double_and_say_what_does_not_follow() -> None:
    for epsilon, delta in ((0.5, 1e-6), (3.0, 1e-9)):
        rho = rho_for(epsilon, delta)
        assert ZCDP(rho).epsilon(delta) <= epsilon < ZCDP(math.nextafter(rho, 9)).epsilon(delta)
    for convert, target, given, sources in (
        (to_zcdp, "zcdp", ApproxDP(1.0, 0.1), "pure or gdp"),
        (to_gdp, "gdp", ZCDP(1.0), "pure"),
        (to_rdp, "rdp", ApproxDP(1.0, 0.1), "pure, zcdp or gdp"),
    ):
        assert refused(convert, given) == (
            f"{target} does not follow from {given.notion}; it follows from {sources}; "
            "try --to approx with --delta"
        )
    assert to_gdp(GDP(0.5)) == GDP(0.5)
    with mp.workdps(50):
        corner = 1 / (1 + mp.exp(mpf(1.5)))
        mu = -2 * mp.sqrt(2) * mp.erfinv(2 * corner - 1)
        assert mu <= to_gdp(PureDP(1.5)).mu <= mu * (1 + mpf(2) ** -51)
        rho = mpf(1.5) * mp.tanh(mpf(0.75))
        assert rho <= to_zcdp(PureDP(1.5)).rho <= rho * (1 + mpf(2) ** -51)
    assert to_zcdp(GDP(0.5)) == ZCDP(0.125)
    assert to_zcdp(GDP(math.inf)) == ZCDP(math.inf)
    assert to_rdp(GDP(0.5)).described == "from gdp"
    assert to_rdp(GDP(0.5)).renyi(3.0) == GDP(0.5).renyi(3.0)


def test_a_search_for_noise_begins_anywhere() -> None:
    """Also where ε is 0, 1, or infinite as it stands."""
    kind = privacy_result("pnsgd")
    made = kind.from_parameters(kind.example)
    found = smallest_noise(made, 0.5, 1e-3)
    for start in (1e9, smallest_noise(made, 1.0, 1e-3).noise_level(), 1e-9):
        other = smallest_noise(made.with_noise_level(start), 0.5, 1e-3)
        assert other.noise_level() == pytest.approx(found.noise_level(), rel=1e-11)
    search = _Search(made.with_noise_level(1e9), 0.5, 1e-3)
    assert search.height(0.0) == -math.inf
    assert search.height(1e4) == math.inf  # a level beyond the doubles
    met = _Search(found, 0.5, 1e-3)
    assert met.height(0.0) <= 0 < met.height(-1e-9)
    assert met.height(-1.0) == pytest.approx(
        math.log(met.quieter(found, -1.0).certified().guarantee.epsilon(1e-3) / 0.5)
    )
    exact = _Search(found, found.certified().guarantee.epsilon(1e-3), 1e-3)
    assert exact.height(0.0) <= 0
    least = math.nextafter(found.certified().guarantee.epsilon(1e-3), 0)
    assert _Search(found, least, 1e-3).height(0.0) > 0
    one = Released(3.0)
    assert _Search(one, 2.0, 0.0).height(0.0) == pytest.approx(-math.log(2))  # type: ignore[type-var]


class Released:
    """A release with a pure ε of three over its noise."""

    noise_is_a_rate = False

    def __init__(self, level: float) -> None:
        self.level = level

    def noise_level(self) -> float:
        return self.level

    def with_noise_level(self, level: float) -> Released:
        return Released(level)

    def certified(self) -> Any:
        return SimpleNamespace(guarantee=PureDP(3 / self.level))


@pytest.mark.parametrize(
    ("bounded", "largest"),
    [(laplace(2.0, "add-remove"), 0.5), (exponential_norm(4.0, 10, "add-remove"), 0.25)],
)
def test_largest_losses_and_failures_add_up_for_all_bounded_losses(
    bounded: Guarantee, largest: float
) -> None:
    """Where δ is what may fail, and not a bit more, the largest losses still add up."""
    for delta in (1e-6, math.nextafter(1e-6, 1)):
        found = compose(ApproxDP(1.0, 1e-6), (bounded, 2)).bracket(delta)
        assert found.upper == 1 + 2 * largest
    assert compose(ApproxDP(1.0, 1e-6), bounded).epsilon(math.nextafter(1e-6, 0)) == math.inf
    assert compose(ApproxDP(1.0, 1e-6), GDP(0.1)).epsilon(1e-6) == math.inf


def test_where_infinite_losses_use_up_delta_the_lower_end_is_infinite_too() -> None:
    """Next to them no loss is above zero, which leaves no law to integrate."""
    outcomes = finite_distributions([0.25, 0.75, 0], [0.2, 0.6, 0.2], "replace-one")
    found = compose((outcomes, 100)).bracket(1e-5)
    assert found.lower == found.upper == math.inf


@pytest.mark.parametrize(
    ("guarantee", "delta", "exact"),
    [
        (laplace(2.0, "add-remove"), 0.0, 0.5),
        (compose((laplace(2.0, "add-remove"), 3), PureDP(1.0)), 0.0, 2.5),
        (compose(ApproxDP(1.0, 1e-6), laplace(2.0, "add-remove")), 1e-6, 1.5),
        (compose(ApproxDP(1.0, 1e-6), laplace(2.0, "add-remove"), PureDP(0.5)), 1e-6, 2.0),
        (compose((ApproxDP(0.0, 0.25), 2), laplace(2.0, "add-remove")), 0.4375, 0.5),
        (finite_distributions([0.5, 0.5], [0.25, 0.75], "add-remove"), 0.0, math.log(2)),
        (finite_distributions([0.4, 0.3, 0.3], [0.2, 0.8, 0], "add-remove"), 0.3, math.log(2)),
    ],
)
def test_a_largest_loss_that_happens_is_a_lower_end(
    guarantee: Guarantee, delta: float, exact: float
) -> None:
    found = guarantee.bracket(delta)  # type: ignore[attr-defined] # all of these enclose
    assert exact * (1 - 1e-11) <= found.lower <= exact <= found.upper
    assert guarantee.epsilon(0.0) == math.inf or guarantee.epsilon(0.0) <= exact * (1 + 1e-14)


def test_no_lower_end_rests_on_a_loss_that_may_not_happen() -> None:
    """A little more δ than infinite losses take: the largest loss pays for it with its probability."""
    for spare in (1e-12, 1e-6, 1e-3, 0.2, 0.3):
        found = compose(ApproxDP(1.0, 1e-6), laplace(2.0, "add-remove")).bracket(1e-6 + spare)
        top = (1 - mpf(1e-6)) * mp.e / (1 + mp.e) / 2  # both releases at their largest
        reached = mpf(1.5) + mp.log(max(1 - mpf(spare) / top, mpf("1e-300")))
        assert found.lower <= found.upper
        assert found.upper >= reached * (1 - mpf("1e-9"))


@pytest.mark.parametrize("shown", [0.3, 0.0428])
def test_below_what_infinite_losses_take_nothing_finite_follows(shown: float) -> None:
    """By the last digit, where every finite loss is below zero and none can be integrated."""
    pair = finite_distributions([shown, 1 - shown], [0.0, 1.0], "add-remove")
    assert pair.epsilon(math.nextafter(shown, 0.0)) == math.inf
    assert pair.epsilon(shown * (1 + 1e-9)) < 1e-6


def test_next_to_zero_large_losses_are_told_apart_too() -> None:
    """ε is a small share of |dε/d ln δ| here; it was enclosed to 2e-5 of itself by a contour alone."""
    rare = poisson_subsampled_gaussian(0.132, 9.8e-9, "replace-one")
    total = compose((ApproxDP(3e-5, 1.9e-144), 7_800_000), (rare, 136))
    found = total.bracket(9e-4)  # type: ignore[attr-defined]
    assert found.relative_width <= 1e-6
    assert (
        0.1627378839811316 <= found.lower <= found.upper <= 0.16274168757208013
    )  # a contour's own
