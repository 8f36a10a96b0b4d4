"""Few rounds of Poisson samples by an integral on a hyperbola: against the real line and closed forms."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest
from flint import acb, arb
from scipy.integrate import quad

from dpcalc.certificates.balls import precision
from dpcalc.certificates.certify import CERTIFIED, Certified, certify
from dpcalc.certificates.checker import check, enclosure
from dpcalc.certificates.grammar import Refused
from dpcalc.certificates.sampled import sampled
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian
from tests.unit.certificate_files import with_changes

ANGLES = "1", "0.28", "0.3"
BEND = {"vertex": "1", "turn": "0.4", "ray": "0.5", "step": "0.06", "nodes": 80}


@pytest.mark.parametrize("mu", ["0.5", "1", "2"])
@pytest.mark.parametrize("rate", ["0.002", "0.3", "0.9"])
@pytest.mark.parametrize("at", [(0.7, 0.0), (1.5, 5.0), (2.0, 19.0)])
@pytest.mark.few(6)
def test_moments_over_a_ray_are_those_on_the_real_line(
    mu: str, rate: str, at: tuple[float, float]
) -> None:
    with precision(80):
        turned = sampled(arb(mu), arb(rate), 1, 0).turned
        assert turned is not None
        found, most = turned(*map(arb, ANGLES)).moment(acb(*at)), turned(*map(arb, ANGLES)).largest
    with precision(200):
        exact = sampled(arb(mu), arb(rate), 1, 0).moment(acb(*at))
    assert found.overlaps(exact)
    assert found.rad() < 1e-15 * most
    assert abs(exact) <= most


def test_a_ray_along_which_something_could_grow_shows_nothing() -> None:
    for angles in (("1", "0.3", "0.3"), ("1", "0.3", "0.8"), ("1", "0.2", "0.5")):
        with precision(80):
            law = sampled(arb(1), arb("0.002"), 1, 0)
            assert law.turned is not None
            turned = law.turned(*map(arb, angles))
            assert not turned.largest.is_finite()
            assert not turned.moment(acb(1, 2)).is_finite()


def found(rounds: int, eps: float, rate: str, **changes: Any) -> Any:
    how = {"method": "hyperbola", "precision": 60, "enclosure": None, **BEND, **changes}
    with precision(60):
        return enclosure([(sampled(arb(1), arb(rate), 1, 0), rounds)], arb(eps), how)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"vertex": "3"},
        {"turn": "0.3"},
        {"ray": "0.45"},
        {"step": "0.5", "nodes": 10},
        {"nodes": 40},
        {"nodes": 1},
    ],
    ids=str,
)
@pytest.mark.few(4)
def test_no_choice_makes_the_enclosure_miss(changes: dict[str, Any]) -> None:
    with precision(80):
        exact = sampled(arb(1), arb("0.3"), 1, 0).profile(arb(1.5))
    value = found(1, 1.5, "0.3", **changes)
    assert not value.is_finite() or value.overlaps(exact)
    if not changes:
        assert value.rad() < 1e-5


def test_two_rounds_are_one_integral_of_the_profile_of_one() -> None:
    """E[δ₁(ε - L)] over the losses of a round, in doubles."""
    rate, eps = 0.3, 1.7

    def loss(x: float) -> float:
        return math.log1p(rate * math.expm1(x - 0.5))

    def single(at: float) -> float:
        odds = math.expm1(at) / rate + 1
        if odds <= 0:
            return -math.expm1(at)
        x = math.log(odds) + 0.5
        above, moved = math.erfc(x / 2**0.5) / 2, math.erfc((x - 1) / 2**0.5) / 2
        return rate * moved + (1 - rate - math.exp(at)) * above

    def mean(x: float) -> float:
        density = math.exp(-x * x / 2 + loss(x)) / math.sqrt(2 * math.pi)
        return density * single(eps - loss(x))

    corner = math.log(math.expm1(eps - math.log1p(-rate)) / rate + 1) + 0.5
    pieces = ((-12.0, 0.5), (0.5, corner), (corner, 14.0))
    expected = sum(quad(mean, *piece, epsabs=1e-15, epsrel=1e-11)[0] for piece in pieces)
    value = found(2, eps, "0.3")
    assert float(value) == pytest.approx(expected, abs=1e-5)
    assert value.rad() < 1e-5


@cache
def made() -> Certified:
    part = poisson_subsampled_gaussian(0.5, 0.02, "add-remove")
    bracket = Composition(((part, 5),)).bracket(1e-6)
    return certify([(part, 5)], "add-remove", 1e-6, bracket.upper, bracket.lower)


def test_five_rounds_are_certified_at_both_ends_of_what_is_reported() -> None:
    certified = made()
    assert (certified.upper, certified.lower) == (CERTIFIED, CERTIFIED)
    assert certified.certificate is not None
    upper = certified.certificate["upper"]["evidence"]
    assert (upper["remove"]["method"], upper["add"]["method"]) == ("hyperbola", "bounded")
    assert len(check(certified.certificate)) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": "6.3"},
        {"delta": "9e-7"},
        {"count": 6},
        {"noise_multiplier": "0.499"},
        {"rate": "0.0201"},
        {"vertex": "0"},
        {"turn": "0.6"},
        {"ray": "0.9"},
        {"step": "0.3"},
        {"nodes": 20},
        {"enclosure": ["0", "1e-9"]},
        {"adjacency": "replace-one"},
    ],
    ids=str,
)
@pytest.mark.few(5)
def test_an_edited_certificate_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((Refused, ArithmeticError, ValueError)):
        check(with_changes(made().certificate, "remove", changes))


def test_by_addition_and_replacement_it_is_refused() -> None:
    how = {"method": "hyperbola", "precision": 80, "enclosure": None, **BEND}
    for sides in ((0, 1), (1, 1)):
        with pytest.raises(Refused, match="vertical lines alone"):
            enclosure([(sampled(arb(1), arb("0.01"), *sides), 2)], arb(1), how)
