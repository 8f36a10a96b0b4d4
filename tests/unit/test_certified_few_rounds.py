"""Few rounds of batches by an integral on a hyperbola: against quadrature and closed forms."""

from __future__ import annotations

import copy
import math
from functools import cache
from typing import Any

import pytest
from flint import acb, arb
from mpmath import mp, mpc, mpf
from scipy.integrate import quad

from dpcalc.certificates import bends, curve
from dpcalc.certificates.balls import precision
from dpcalc.certificates.batches import without_replacement
from dpcalc.certificates.certify import CERTIFIED, Certified, certify
from dpcalc.certificates.checker import check, digest, enclosure
from dpcalc.certificates.grammar import Refused
from dpcalc.certificates.laws import gaussian
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.mechanisms import sampled_without_replacement

MU, RATE, DELTA = 1.0, 0.01, 1e-3
ANGLES = "1", "0.3", "0.4"


@cache
def moment(mu: str, rate: str, real: float, imag: float) -> mpc:
    """By quadrature on the real line with 20 digits."""
    with mp.workdps(20):
        m, q, z = mpf(mu), mpf(rate), mpc(real, imag)

        def mean(power: mpc) -> mpc:
            return mp.quad(
                lambda x: mp.npdf(x) * mp.exp(power * mp.log1p(q * mp.expm1(m * x - m * m / 2))),
                mp.linspace(m / 2, m / 2 + 16, 17),
            )

        above = mp.ncdf(-m / 2)
        return 1 - (2 - q) * above - q * (1 - above) + mean(1 + z) + mean(-z)


@pytest.mark.parametrize("mu", ["1", "2"])
@pytest.mark.parametrize("rate", ["0.01", "0.3"])
@pytest.mark.parametrize("at", [(0.7, 0.0), (1.5, 5.0), (2.0, 9.0)])
@pytest.mark.few(4)
def test_moments_over_a_ray_are_those_on_the_real_line(
    mu: str, rate: str, at: tuple[float, float]
) -> None:
    with precision(80):
        law = without_replacement(arb(mu), arb(rate))
        assert law.turned is not None
        turned = law.turned(*map(arb, ANGLES))
        found = turned.moment(acb(*at))
        assert abs(complex(found) - complex(moment(mu, rate, *at))) < 1e-12
        assert found.rad() < 1e-12
        assert abs(found) <= turned.largest


@pytest.mark.parametrize(
    "angles",
    [
        ("1", "0.4", "0.4"),
        ("1", "0.3", "0.8"),
        ("1", "0.3", "0.5"),
        ("1", "0.3999", "0.4"),
    ],
)
def test_a_ray_along_which_something_could_grow_shows_nothing(angles: tuple[str, ...]) -> None:
    """Steeper than the hyperbola it must be, and not so steep that it passes where r = 0."""
    with precision(80):
        law = without_replacement(arb(MU), arb(RATE))
        assert law.turned is not None
        turned = law.turned(*map(arb, angles))
        assert not turned.largest.is_finite()
        assert not turned.moment(acb(1, 2)).is_finite()


OFTEN = 0.3
"""A rate at which nodes are few."""


def found(rounds: int, eps: float, **changes: Any) -> Any:
    with precision(60):
        law = without_replacement(arb(MU), arb(OFTEN))
        chosen = {"vertex": "1", "turn": "0.4", "ray": "0.5", "step": "0.06", "nodes": 80}
        how = {"method": "hyperbola", "precision": 60, "enclosure": None, **chosen, **changes}
        return enclosure([(law, rounds)], arb(eps), how)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"vertex": "3"},
        {"turn": "0.3"},
        {"ray": "0.45"},
        {"step": "0.1"},
        {"step": "0.5", "nodes": 10},
        {"nodes": 40},
        {"nodes": 1},
    ],
    ids=str,
)
@pytest.mark.few(4)
def test_no_choice_makes_the_enclosure_miss(changes: dict[str, Any]) -> None:
    with precision(80):
        exact = without_replacement(arb(MU), arb(OFTEN)).profile(arb(1.5))
    value = found(1, 1.5, **changes)
    assert not value.is_finite() or value.overlaps(exact)
    if not changes:
        assert value.rad() < 1e-5


@pytest.mark.parametrize("piece", ["error", "cut"])
def test_without_what_the_sum_misses_it_would_miss(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    along = curve.along
    monkeypatch.setattr(
        curve, "along", lambda known, eps: along(known._replace(**{piece: arb(0)}), eps)
    )
    with precision(80):
        exact = without_replacement(arb(MU), arb(OFTEN)).profile(arb(1.5))
    value = found(1, 1.5, **({"step": "0.4", "nodes": 12} if piece == "error" else {"nodes": 30}))
    assert value.is_finite()
    assert not value.overlaps(exact)


def test_two_rounds_are_one_integral_of_the_profile_of_one() -> None:
    """E[δ₁(ε - L)] over the losses of a round, in doubles."""

    def loss(x: float) -> float:
        return math.log1p(OFTEN * math.expm1(MU * x - MU * MU / 2))

    def single(eps: float) -> float:
        if eps < 0:
            return 1 - math.exp(eps) * (1 - single(-eps))
        at = math.log1p(math.expm1(eps) / OFTEN) / MU + MU / 2
        above, moved = math.erfc(at / 2**0.5) / 2, math.erfc((at - MU) / 2**0.5) / 2
        return OFTEN * moved + (1 - OFTEN - math.exp(eps)) * above

    def density(x: float) -> float:
        return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    eps = 1.7
    kink, half = math.log1p(math.expm1(eps) / OFTEN) / MU + MU / 2, MU / 2
    held = math.erfc(half / 2**0.5) / 2
    idle = 1 - (2 - OFTEN) * held - OFTEN * (1 - held)
    expected = idle * single(eps)
    for low, high in ((half, kink), (kink, 12.0)):
        expected += quad(
            lambda x: density(x) * math.exp(loss(x)) * single(eps - loss(x)),
            low,
            high,
            epsabs=1e-17,
            epsrel=1e-11,
        )[0]
    expected += quad(
        lambda x: density(x) * single(eps + loss(x)), half, 12.0, epsabs=1e-17, epsrel=1e-11
    )[0]
    value = found(2, eps)
    assert float(value) == pytest.approx(expected, abs=1e-5)
    assert value.rad() < 1e-5


@cache
def made() -> Certified:
    part = sampled_without_replacement(MU, OFTEN)
    bracket = Composition(((part, 3),)).bracket(DELTA)
    return certify([(part, 3)], "replace-one", DELTA, bracket.upper, bracket.lower)


def test_three_rounds_are_certified_at_both_ends_of_what_is_reported() -> None:
    certified = made()
    assert (certified.upper, certified.lower) == (CERTIFIED, CERTIFIED)
    assert certified.certificate is not None
    for end in ("upper", "lower"):
        how = certified.certificate[end]["evidence"]["both"]
        least, most = map(float, how["enclosure"])
        assert how["method"] == "hyperbola"
        assert most - least < 1e-8 * DELTA
    assert len(check(certified.certificate)) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": "1"},
        {"delta": "9e-4"},
        {"count": 4},
        {"mu": "1.01"},
        {"rate": "0.301"},
        {"vertex": "0"},
        {"vertex": "-1"},
        {"vertex": "40"},
        {"turn": "0"},
        {"turn": "0.4"},
        {"ray": "0.8"},
        {"ray": "0.1"},
        {"step": "0"},
        {"step": "-0.02"},
        {"step": "0.3"},
        {"nodes": 0},
        {"nodes": 20},
        {"nodes": 10**6},
        {"nodes": "x"},
        {"precision": 53},
        {"enclosure": ["0", "1e-9"]},
        {"adjacency": "add-remove"},
    ],
    ids=str,
)
@pytest.mark.few(12)
def test_an_edited_certificate_is_refused(changes: dict[str, Any]) -> None:
    edited = copy.deepcopy(made().certificate)
    assert edited is not None
    edited["lower"] = None
    release, how = edited["releases"][0], edited["upper"]["evidence"]["both"]
    for name, value in changes.items():
        where = next((t for t in (how, release, edited["upper"]) if name in t), edited)
        where[name] = value
    with pytest.raises((Refused, ArithmeticError, ValueError)):
        check({**edited, "digest": digest(edited)})


@pytest.mark.parametrize("name", ["vertex", "turn", "ray", "step"])
@pytest.mark.few(1)
def test_a_formula_may_stand_for_a_number_of_a_hyperbola(name: str) -> None:
    written = copy.deepcopy(made().certificate)
    assert written is not None
    how = written["upper"]["evidence"]["both"]
    how[name] = ["sum", how[name], "0"]
    assert len(check({**written, "digest": digest(written)})) == 2


def test_next_to_other_releases_it_is_refused() -> None:
    law = without_replacement(arb(MU), arb(RATE))
    how = {"method": "hyperbola", "precision": 80, "enclosure": None, "nodes": 5, "ray": "0.4"}
    how |= {"vertex": "1", "turn": "0.3", "step": "0.1"}
    with pytest.raises(Refused, match="vertical lines alone"):
        enclosure([(law, 2), (gaussian(arb(1)), 1)], arb(1), how)
    with precision(80):
        assert not enclosure([(law, 2)], arb(0), how).is_finite()


def test_at_no_epsilon_or_delta_and_of_many_rounds_none_is_tried() -> None:
    law = without_replacement(arb(MU), arb(RATE))
    release = {"mechanism": "gaussian-without-replacement", "mu": "1", "rate": "0.01"}
    for delta, eps, count in (("0", "1", 2), ("1e-5", "0", 2), ("1e-5", "1", 1000)):
        statement = {"delta": delta, "releases": [{**release, "count": count}]}
        assert not list(bends.bends([(law, count)], statement, eps))
