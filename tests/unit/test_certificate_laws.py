"""The laws that certificates know, against evaluations that share no code with them."""

from __future__ import annotations

import copy
import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpcalc.certificates import batches, checker, laws, mixtures, norm, outcomes, renyi, sampled
from dpcalc.certificates.balls import precision
from dpcalc.certificates.certify import CERTIFIED, certify
from dpcalc.certificates.checker import check, digest
from dpcalc.certificates.grammar import Refused
from dpcalc.certificates.laws import acb, arb
from dpcalc.certificates.mechanisms import MECHANISMS, rounds_of
from dpcalc.certificates.statement import NotCovered, releases_of
from dpcalc.guarantees import RDP, ZCDP, ApproxDP, Guarantee, PureDP, compose
from dpcalc.guarantees import mechanisms as named
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.mixture import GaussianMixture
from dpcalc.theorems.catalogue import keys, privacy_result
from tests.unit.gaussian_formula import gaussian_delta

MIXTURE = GaussianMixture((0.5, 0.25, 0.125), (0.2, 0.3, 0.4))

P, Q = (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)

CASES: dict[str, tuple[list[tuple[Guarantee, int]], str, float]] = {
    "mixture": ([(MIXTURE, 1)], "replace-one", 1e-5),
    "mixtures composed": ([(MIXTURE, 30)], "replace-one", 1e-5),
    "norm": ([(named.exponential_norm(2, 5, "add-remove"), 1)], "add-remove", 1e-3),
    "norms": ([(named.exponential_norm(2, 105, "add-remove"), 25)], "add-remove", 1e-6),
    "in order": ([(named.finite_distributions(P, Q, "add-remove"), 3)], "add-remove", 1e-3),
    "in either": ([(named.finite_distributions(P, Q, "replace-one"), 5)], "replace-one", 1e-3),
    "profile": ([(named.from_profile([(0.1, 0.01), (1, 1e-7)]), 3)], "add-remove", 1e-4),
    "zcdp": ([(ZCDP(0.1), 1)], "add-remove", 1e-6),
    "with failures": ([(ZCDP(0.01), 5), (ApproxDP(0.1, 1e-8), 2)], "add-remove", 1e-6),
    "orders": ([(RDP.from_points({2: 0.1, 4: 0.2, 16: 1, 64: 5}), 3)], "add-remove", 1e-6),
    "pure": ([(PureDP(0.25), 2), (PureDP(0.5), 1)], "add-remove", 0.0),
}


def ends(name: str) -> tuple[list[tuple[Guarantee, int]], str, float, float, float | None]:
    parts, adjacency, delta = CASES[name]
    total = compose(*parts)
    bracket = getattr(total, "bracket", None)
    found = bracket(delta) if bracket else None
    upper = found.upper if found else total.epsilon(delta)
    return parts, adjacency, delta, upper, found.lower if found else None


def resigned(certificate: dict[str, Any], end: str, epsilon: str) -> dict[str, Any]:
    edited = copy.deepcopy(certificate)
    edited[end]["epsilon"] = epsilon
    edited["digest"] = digest(edited)
    return edited


@pytest.mark.parametrize("name", CASES)
def test_true_ends_are_certified_and_false_ones_refused(name: str) -> None:
    found = certify(*ends(name))
    assert found.upper == CERTIFIED
    certificate = found.certificate
    assert certificate is not None
    assert len(check(json.loads(json.dumps(certificate)))) == 1 + (found.lower == CERTIFIED)
    upper = float(certificate["upper"]["epsilon"])
    with pytest.raises(Refused):
        check(resigned(certificate, "upper", repr(upper * 0.999)))
    if found.lower == CERTIFIED:
        lower = float(certificate["lower"]["epsilon"])
        with pytest.raises(Refused):
            check(resigned(certificate, "lower", repr(lower * 1.001)))


@pytest.mark.parametrize("name", ["mixture", "norm", "in order", "in either", "pure"])
def test_ends_that_are_off_by_a_thousandth_are_not_certified(name: str) -> None:
    parts, adjacency, delta, upper, lower = ends(name)
    assert certify(parts, adjacency, delta, upper * 0.999).certificate is None
    if lower is not None:
        assert certify(parts, adjacency, delta, upper, upper * 1.001).lower != CERTIFIED


def test_a_lower_end_needs_more_than_the_probability_of_failure() -> None:
    """δ(ε) = 1e-6 for every ε from 0.3 on, so that δ(5) >= 1e-6 says nothing of ε(1e-6) = 0.3."""
    parts = [(ApproxDP(0.3, 1e-6), 1)]
    assert certify(parts, "", 1e-6, 0.3, 0.3).lower == CERTIFIED
    found = certify(parts, "", 1e-6, 0.3, 5.0)
    assert found.lower != CERTIFIED
    good = certify(parts, "", 1e-6, 0.3, 0.3).certificate
    assert good is not None
    with pytest.raises(Refused):
        check(resigned(good, "lower", "5"))
    assert certify([(PureDP(0.25), 2)], "", 0.0, 0.5, 0.6).lower != CERTIFIED


def test_a_bound_at_an_order_shows_no_lower_end() -> None:
    certificate = certify([(ZCDP(0.1), 1)], "add-remove", 1e-6, 2.2).certificate
    assert certificate is not None
    direction, how = next(iter(certificate["upper"]["evidence"].items()))
    certificate["lower"] = {"epsilon": "2.1", "evidence": {direction: how}}
    certificate["digest"] = digest(certificate)
    with pytest.raises(Refused):
        check(certificate)


def test_two_mixtures_are_the_mixture_of_all_pairs() -> None:
    weights = [("0.5", "0.2"), ("0.25", "0.3"), ("0", "0.5")]
    eps, truth = mpf("0.8"), mpf(0)
    for (a, u), (b, w) in itertools.product(weights, repeat=2):
        mu = mp.sqrt(mpf(a) ** 2 + mpf(b) ** 2)
        truth += mpf(u) * mpf(w) * (gaussian_delta(mu, eps) if mu else 0)
    with precision(96):
        law = mixtures.gaussians([(arb(a), arb(w)) for a, w in weights[:2]])
        places = [arb(x) for x in ("6", "12", "12", "0.01")]
        line = checker.Line(*places, 2200, [arb(0)], [2201])
        found = checker.by_a_line([(law, 2)], arb("0.8"), line)
    assert found.lower() <= truth <= found.upper()
    assert float(found.rad()) < 1e-2 * float(truth)


def test_a_divergence_bounds_by_the_printed_conversion() -> None:
    """Canonne, Kamath and Steinke 2020, proposition 12."""
    order, rho, eps = mpf("12.5"), mpf("0.1"), mpf("2.1")
    printed = mp.exp((order - 1) * (order * rho - eps)) * (1 - 1 / order) ** order / (order - 1)
    with precision(96):
        rounds = rounds_of([{"mechanism": "zcdp", "count": 1, "rho": "0.1"}], "", False)
        found = renyi.at_an_order(rounds, arb("2.1"), arb("11.5"))
    assert abs(float(found) - float(printed)) < 1e-14 * float(printed)


def test_divergences_between_orders_lie_on_the_chord() -> None:
    bound = renyi.between_orders([(arb(2), arb("0.25")), (arb(4), arb("0.75"))])
    assert float(bound(arb(3))) == pytest.approx((0.25 + 3 * 0.75) / 2 / 2)
    assert float(bound(arb("1.5"))) == 0.25
    assert not bound(arb(5)).is_finite()


@pytest.mark.parametrize("dimension", [2, 3, 5, 20])
def test_moments_of_the_exponential_norm_against_sums_in_space(dimension: int) -> None:
    """Over the radius and the angle with the move, by the midpoint rule."""
    a, order = 1.5, 2.0
    reach = dimension + 12 * math.sqrt(dimension) + 25
    r = ((np.arange(1500) + 0.5) / 1500 * reach)[:, None]
    angle = (np.arange(800) + 0.5) / 800 * np.pi
    weight = np.exp(-r) * r ** (dimension - 1) * np.sin(angle) ** (dimension - 2)
    loss = np.sqrt(r * r + 2 * a * r * np.cos(angle) + a * a) - r
    truth = float((weight * np.exp(order * loss)).sum() / weight.sum())
    with precision(80):
        found = norm.exponential_norm(arb(str(a)), dimension).moment(acb(order))
    assert float(found.real) == pytest.approx(truth, rel=1e-4)


@settings(max_examples=10, deadline=None)
@given(
    st.floats(0.1, 6),
    st.integers(2, 150),
    st.floats(0.1, 9),
    st.floats(0, 90),
    st.floats(0.01, 0.78),
)
def test_two_evaluations_of_the_exponential_norm_agree(
    a: float, dimension: int, c: float, y: float, shift: float
) -> None:
    """Bessel functions against the integral along the shifted line; its modulus bounds both."""
    with precision(64):
        law = norm.exponential_norm(arb(a), dimension)
        bound = law.beyond(arb(c), arb(y), arb(shift)).upper()
        for factor in (1, 1.5, 4):
            assert abs(law.moment(acb(c, y * factor))).lower() <= bound
        unmoved = law.beyond(arb(c), arb(0), arb("1e-30")).real
        assert abs(float(unmoved) / float(law.moment(acb(c)).real) - 1) < 1e-9


def summed(modulus: Any, start: float, mu: float, k: float) -> float:
    """From ``start`` on, by the midpoint rule; what lies beyond is below 1e-30."""
    width = (abs(k) * mu + 14) / 40_000
    return float(modulus(start + (np.arange(40_000) + 0.5) * width).sum() * width)


@pytest.mark.parametrize(
    ("sides", "mu", "q", "c", "shift", "reach"),
    [
        ((1, 0), 2.0, 0.9, 2.0, 0.5, 0.3),
        ((1, 0), 0.5, 0.2, 6.0, 0.0, 1.0),
        ((0, 1), 2.0, 0.95, 3.0, 0.3, 0.2),
        ((0, 1), 1.0, 0.01, 2.0, 1.2, 0.5),
        ((1, 1), 1.0, 0.5, 1.0, 1.5, 0.1),
    ],
)
def test_what_lies_outside_a_window_is_bounded(
    sides: tuple[int, int], mu: float, q: float, c: float, shift: float, reach: float
) -> None:
    """Moduli of tilted densities on the moved line; near windows, so that every piece counts."""

    def modulus(x: Any) -> Any:
        z = x + 1j * shift
        up, down = (np.abs(1 - q + q * np.exp(s * mu * z - mu * mu / 2)) for s in (1, -1))
        normal = np.abs(np.exp(-z * z / 2)) / np.sqrt(2 * np.pi)
        return normal * up ** (sides[0] * (1 + c)) / down ** (sides[1] * c)

    truth = summed(modulus, reach, mu, 1 + c) + summed(lambda x: modulus(-x), reach, mu, 1 + c)
    with precision(64):
        bound = sampled.outside(*map(arb, (mu, q)), *sides, *map(arb, (c, shift, reach)))
    assert truth <= float(bound.upper()) * (1 + 1e-5)


@pytest.mark.parametrize(
    ("mu", "q", "k", "shift", "reach"),
    [(2.0, 0.9, 3.0, 0.7, 1.5), (0.2, 0.5, -6.0, 7.0, 0.1), (1.0, 0.01, 2.0, 1.2, 0.6)],
)
def test_what_lies_above_a_window_is_bounded(
    mu: float, q: float, k: float, shift: float, reach: float
) -> None:
    def modulus(x: Any) -> Any:
        z = x + 1j * shift
        normal = np.abs(np.exp(-z * z / 2)) / np.sqrt(2 * np.pi)
        return normal * np.abs(1 - q + q * np.exp(mu * z - mu * mu / 2)) ** k

    with precision(64):
        bound = batches.outside_above(*map(arb, (mu, k, shift, reach)))
    assert summed(modulus, reach, mu, k) <= float(bound.upper()) * (1 + 1e-5)


def test_two_laplace_rounds_and_a_pure_one_against_quadrature() -> None:
    """Atoms ½ and e^{-b}/2 at b and -b, density ¼e^{(l-b)/2} between them."""
    b, p, eps = mpf("0.7"), mpf("0.3"), mpf("0.25")

    def over_laplace(f: Callable[[mpf], mpf], kinks: list[mpf]) -> mpf:
        inside = sorted({-b, b, *(k for k in kinks if -b < k < b)})
        spread = mp.quad(lambda x: f(x) * mp.exp((x - b) / 2) / 4, inside)
        return f(b) / 2 + mp.exp(-b) / 2 * f(-b) + spread

    def over_pure(loss: mpf) -> mpf:
        odds = 1 / (1 + mp.exp(-p))
        up, down = (max(mpf(0), 1 - mp.exp(eps - loss - move)) for move in (p, -p))
        return odds * up + (1 - odds) * down

    def second(first: mpf) -> mpf:
        return over_laplace(lambda x: over_pure(first + x), [eps - p - first, eps + p - first])

    with mp.workdps(15), precision(96):
        truth = over_laplace(second, [eps + s * p + t * b for s in (-1, 1) for t in (-1, 1)])
        rounds = [(laws.laplace(arb("0.7")), 2), (laws.approximate(arb("0.3"), arb(0)), 1)]
        assert abs(float(outcomes.over_outcomes(rounds, arb("0.25"))) - float(truth)) < 1e-11


def test_ten_laplace_rounds_at_the_known_epsilon() -> None:
    """ε = .9989780894472 at δ = 1e-6, to as many digits as it is known in."""
    with precision(128):
        rounds = [(laws.laplace(arb("0.1")), 10)]
        places = arb(".9989780894473"), arb(".9989780894471")
        below, above = (outcomes.over_outcomes(rounds, place) for place in places)
        assert below < arb("1e-6") < above


def test_many_laplace_rounds_take_more_bits() -> None:
    found = []
    for bits in (96, 384):
        with precision(bits):
            rounds = [(laws.laplace(arb(1) / 20), 120)]
            found.append(outcomes.over_outcomes(rounds, arb("0.9")))
    assert found[0].overlaps(found[1])
    assert found[1].rel_accuracy_bits() > 60 > found[0].rel_accuracy_bits()


def test_weights_that_are_no_ratios_are_stated_as_they_are_written() -> None:
    weights = (0.5, 0.49999999999, 9.9e-12, 1e-13)
    part = GaussianMixture((0.1, 0.2, 0.3, 0.4), weights)
    (release,) = releases_of([(part, 1)], "replace-one")
    stated = [Fraction(weight) for _, weight in release["components"]]
    assert stated == [Fraction(repr(weight)) for weight in weights]
    with pytest.raises(NotCovered):
        releases_of([(GaussianMixture((0.1, 0.2), (0.5, 0.5000001)), 1)], "replace-one")


def test_every_privacy_result_has_a_law_for_its_example() -> None:
    for key in keys(privacy=True):
        theorem = privacy_result(key)(**privacy_result(key).example)
        guarantee = theorem.certified().guarantee
        bounds = guarantee.bounds if isinstance(guarantee, BestOf) else [guarantee]
        found = releases_of([(bounds[0], 1)], getattr(theorem, "adjacency", ""))
        assert {release["mechanism"] for release in found} <= set(MECHANISMS), key


def test_what_no_line_shows_is_shown_on_a_lattice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten Laplace rounds, at ε = .9989780894472 for δ = 1e-6, as if they were too many to be summed."""
    monkeypatch.setattr("dpcalc.certificates.ways.MOST", 0)
    found = certify([(named.laplace(10.0, "add-remove"), 10)], "add-remove", 1e-6, 0.9989780894473)
    assert "too many nodes; ε = " in found.upper
    assert found.certificate is not None
    assert 0.998978 < float(found.certificate["upper"]["epsilon"]) < 0.99899
    assert found.certificate["upper"]["evidence"]["add"]["method"] == "lattice"
    check(found.certificate)
