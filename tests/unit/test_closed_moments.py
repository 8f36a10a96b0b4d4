"""Divergences at many orders by formulas: never below sixty digits, and next to them."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

from dpcalc import mechanisms
from dpcalc.accounting.losses import closed_moments
from dpcalc.accounting.losses.closed_moments import (
    atoms_moments,
    laplace_moments,
    response_moments,
)
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.distribution import Reals
from dpcalc.guarantees import RDP, ZCDP, Guarantee, PureDP
from dpcalc.guarantees.many_orders import divergences
from dpcalc.numerals import number
from dpcalc.odometer import Odometer

ORDERS = 1 + np.geomspace(1e-2, 1e5, 96)


def responses(epsilon: float, order: float) -> mp.mpf:
    """The sum over both answers."""
    e, a = mp.mpf(epsilon), mp.mpf(order)
    p, q = 1 / (1 + mp.exp(-e)), 1 / (1 + mp.exp(e))
    return mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a))


def laplace(epsilon: float, order: float) -> mp.mpf:
    """Mironov 2017, table II."""
    e, a = mp.mpf(epsilon), mp.mpf(order)
    return mp.log((a * mp.exp((a - 1) * e) + (a - 1) * mp.exp(-a * e)) / (2 * a - 1))


def at_random(seed: int, count: int) -> list[float]:
    """Losses from 1e-9 to 1e4, most of them from .001 to 100."""
    random = np.random.default_rng(seed)
    usual, rare = random.uniform(-3, 2, count), random.uniform(-9, 4, count)
    return [float(10**e) for e in np.where(random.random(count) < 0.7, usual, rare)]


@pytest.mark.parametrize(
    ("formula", "truth"), [(response_moments, responses), (laplace_moments, laplace)]
)
def test_moments_of_one_noise(
    formula: Callable[[float, Reals], Reals], truth: Callable[[float, float], mp.mpf]
) -> None:
    places = np.random.default_rng(7)
    with mp.workdps(60):
        for epsilon in [1.0, 1e-9, 1e4, 700.0, *at_random(5, 60)]:
            found = formula(epsilon, ORDERS)
            for place in places.choice(len(ORDERS), 8, replace=False):
                exact = truth(epsilon, float(ORDERS[place]))
                assert exact <= float(found[place]) <= exact * (1 + mp.mpf("1e-11")), epsilon


def test_a_moment_that_is_too_small_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if g lacked a ten billionth of itself, or large logarithms no room were added to."""
    with mp.workdps(60):
        small, large = laplace(0.1, 3.0), responses(3.0, 1e5)
        assert laplace_moments(0.1, np.array([3.0]))[0] >= small
        honest = closed_moments._beyond_linear
        monkeypatch.setattr(closed_moments, "_beyond_linear", lambda y: honest(y) * (1 - 1e-10))
        assert laplace_moments(0.1, np.array([3.0]))[0] < small
        assert response_moments(3.0, np.array([1e5]))[0] >= large
        monkeypatch.setattr(closed_moments, "_ROOM", -1e-12)
        assert response_moments(3.0, np.array([1e5]))[0] < large


@pytest.mark.parametrize("formula", [response_moments, laplace_moments])
def test_either_side_of_where_the_formula_changes(formula: Callable[[float, Reals], Reals]) -> None:
    """The two forms agree at sε = 1, and near |y| = 1/2, where the series ends."""
    truth = responses if formula is response_moments else laplace
    with mp.workdps(60):
        for s in (0.25, 1.0, 7.0):
            for x in (1 - 1e-12, 1.0, 1 + 1e-12, 0.5, 0.5 - 1e-9, 0.5 + 1e-9):
                exact = truth(x / s, 1 + s)
                found = float(formula(x / s, np.array([1 + s]))[0])
                assert exact <= found <= exact * (1 + mp.mpf("1e-11"))


@pytest.mark.parametrize("epsilon", [1e-300, 1e-160, 1e300])
def test_losses_at_the_ends_of_the_doubles(epsilon: float) -> None:
    for guarantee in (PureDP(epsilon), mechanisms.laplace(scale_over_sensitivity=1 / epsilon)):
        found = divergences(guarantee, ORDERS)
        assert (found > 0).all()
        assert (found <= (1 + 1e-9) * epsilon).all()


def test_laplace_without_formula_is_the_enclosure_of_its_law() -> None:
    guarantee = mechanisms.laplace(1.3, "add-remove")
    some = ORDERS[::12]
    one_by_one = np.array([guarantee.renyi(order) for order in some.tolist()])
    np.testing.assert_allclose(divergences(guarantee, some), one_by_one, rtol=1e-9)


def test_two_distributions() -> None:
    """Σ p^α q^{1-α}, the larger of the two orders."""
    random = np.random.default_rng(11)
    for _ in range(40):
        p, q = random.dirichlet(np.ones(4)), random.dirichlet(np.ones(4))
        p[-1], q[-1] = 1 - math.fsum(p[:-1]), 1 - math.fsum(q[:-1])
        guarantee = mechanisms.finite_distributions(p.tolist(), q.tolist(), "add-remove")
        found = divergences(guarantee, ORDERS)
        with mp.workdps(40):
            for place in random.choice(len(ORDERS), 5, replace=False):
                a = mp.mpf(float(ORDERS[place]))
                both = [
                    mp.log(mp.fsum(mp.mpf(x) ** a * mp.mpf(y) ** (1 - a) for x, y in pairs))
                    for pairs in (list(zip(p, q, strict=True)), list(zip(q, p, strict=True)))
                ]
                exact = max(both) / (a - 1)
                assert exact <= float(found[place]) <= exact * (1 + mp.mpf("1e-8"))


def test_atoms_whose_largest_term_is_astronomic() -> None:
    law = DiscreteLoss(np.array([3.0, -3.0, 0.5]), np.array([0.1, 0.1 * math.exp(-3), 1e-9]))
    orders = np.array([2.0, 150.0, 201.0, 202.0, 400.0])
    found = atoms_moments(law, orders)
    with mp.workdps(40):
        for order, value in zip(orders.tolist(), found.tolist(), strict=True):
            s = mp.mpf(order) - 1
            atoms = zip(law.losses.tolist(), law.masses.tolist(), strict=True)
            exact = mp.log(1 + mp.fsum(m * mp.expm1(s * mp.mpf(x)) for x, m in atoms))
            assert exact <= value <= exact * (1 + mp.mpf("1e-10"))


def test_an_infinite_loss_has_no_divergence() -> None:
    certain = mechanisms.finite_distributions([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], "replace-one")
    assert divergences(certain, ORDERS).tolist() == [math.inf] * len(ORDERS)


@pytest.mark.parametrize(
    "guarantee",
    [
        ZCDP(0.3),
        ZCDP(0.0),
        ZCDP(math.inf),
        PureDP(0.0),
        PureDP(math.inf),
        RDP.from_points({1.5: 0.1, 8: 0.4, 64: 2.0}),
        RDP.from_points({2: 0.1, 8: math.inf}),
        RDP.from_points({float(ORDERS[40]): 1.0}),
        RDP(lambda order: order / 7),
    ],
)
def test_bare_guarantees_are_as_one_by_one(guarantee: Guarantee) -> None:
    one_by_one = np.array([guarantee.renyi(order) for order in ORDERS.tolist()])
    found = divergences(guarantee, ORDERS)
    np.testing.assert_allclose(found, one_by_one, rtol=1e-13)
    assert (found >= one_by_one).all()


@pytest.mark.parametrize(
    "release",
    [
        {"mechanism": "laplace", "scale_multiplier": 2.0, "adjacency": "add-remove"},
        {"mechanism": "randomised-response", "epsilon": 0.5},
        {"pure": 0.5},
        {"zcdp": 0.1},
        {"rdp": {"2": 0.1, "32": 2.0}},
        {"mechanism": "profile", "points": [[0.5, 0.0], [0.4, 0.01]]},
        {"mechanism": "gaussian-without-replacement", "noise_multiplier": 1.0, "sample": 10,
         "population": 1000},
    ],
)  # fmt: skip
def test_no_round_of_an_odometer_asks_for_one_order_after_the_other(
    release: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> float:
        raise AssertionError("a single order")

    odometer = Odometer(epsilon=100.0, delta=1e-6)
    kind = type(odometer._read(release).guarantee)
    with monkeypatch.context() as patched:
        patched.setattr(kind, "renyi", refused)
        assert 0 < odometer.spend(release) < 10
    assert odometer.accountant.epsilon_spent() <= odometer.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("typed", ["42.9", "25.3263"])
def test_a_bound_as_it_was_typed(typed: str) -> None:
    """The nearest double is smaller, and so much is spent at large orders."""
    guarantee = PureDP(number(typed))
    with mp.workdps(60):
        for order, found in zip(ORDERS.tolist(), divergences(guarantee, ORDERS), strict=True):
            s, e = mp.mpf(order) - 1, mp.mpf(typed)
            exact = mp.log((mp.exp(s * e) + mp.exp(-(s + 1) * e)) / (1 + mp.exp(-e))) / s
            assert mp.mpf(float(found)) >= exact
            assert mp.mpf(float(guarantee.renyi(order))) >= exact


def test_a_bound_that_is_a_large_whole_number() -> None:
    assert divergences(PureDP(10**20 + 1), ORDERS)[-1] >= 1e20


def test_chords_of_denormal_divergences() -> None:
    found = divergences(RDP.from_points({1 + 1e-12: 1e-320, 2: 1e-320}), ORDERS)
    assert (found >= 1e-320).all()
