"""Laws made when they are looked at, and the laws in doubles that answer for their moments."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from dpcalc import mechanisms
from dpcalc.accounting.losses import privacy_profile, two_tables
from dpcalc.accounting.losses.closed_moments import atoms_moments
from dpcalc.accounting.losses.deferred import DeferredLaw
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.two_tables import whole_numbers
from dpcalc.accounting.renyi import log_moment
from dpcalc.guarantees import Guarantee
from dpcalc.guarantees.many_orders import divergences
from dpcalc.numerals import number
from dpcalc.odometer import Odometer

ORDERS = 1 + np.geomspace(1e-2, 1e5, 96)
CLOSE = mp.mpf("1e-6")

Pair = tuple[list[float], list[float]]


def law_of(guarantee: Guarantee) -> DeferredLaw:
    directions = guarantee.losses()
    assert directions is not None
    law = directions[0][0][0]
    assert isinstance(law, DeferredLaw)
    return law


def larger_divergence(pair: Pair, order: float) -> mp.mpf:
    """That of the two orders, of distributions divided by their sums."""
    p, q = ([mp.mpf(x) / mp.fsum(map(mp.mpf, side)) for x in side] for side in pair)
    a = mp.mpf(order)
    both = [
        mp.fsum(x**a * y ** (1 - a) for x, y in zip(one, other, strict=True) if x > 0)
        for one, other in ((p, q), (q, p))
    ]
    return max(map(mp.log, both)) / (a - 1)


def pairs(seed: int, count: int) -> list[Pair]:
    """Some alike, some far apart, some with tiny probabilities."""
    draw = np.random.default_rng(seed)
    found = []
    for number_ in range(count):
        p, other = draw.dirichlet(np.ones(5)), draw.dirichlet(np.ones(5))
        if number_ % 3 == 0:
            other = p * (1 + 10.0 ** draw.uniform(-6, -1) * draw.normal(size=5))
        if number_ % 3 == 1:
            p, other = 10.0 ** draw.uniform(-200, 0, 5), 10.0 ** draw.uniform(-200, 0, 5)
        q = np.abs(other) / np.abs(other).sum()
        found.append(((p / p.sum()).tolist(), q.tolist()))
    return found


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_moments_of_two_tables_are_next_to_the_truth_and_not_below(adjacency: str) -> None:
    places = np.random.default_rng(3)
    with mp.workdps(300):
        for p, q in pairs(5, 45):
            guarantee = mechanisms.finite_distributions(p, q, adjacency)  # type: ignore[arg-type]
            found = divergences(guarantee, ORDERS)
            for place in places.choice(len(ORDERS), 4, replace=False):
                exact = larger_divergence((p, q), float(ORDERS[place]))
                assert exact <= float(found[place]) <= exact * (1 + CLOSE), (p, q)


def exact_moment(points: list[tuple[float, float]], order: float) -> mp.mpf:
    """1 + α(α-1) times the integral of the greatest convex function below the points.

    With k^{α-2} on both sides of 1, and no use of masses.
    """
    known = [(mp.exp(mp.mpf(e)), mp.mpf(d)) for e, d in points]
    mirrored = [(1 / k, 1 - 1 / k + d / k) for k, d in known if k > 1]
    corners = sorted([(mp.mpf(0), mp.mpf(1)), *mirrored, *known])

    def below(k: mp.mpf) -> mp.mpf:
        left = [c for c in corners if c[0] <= k]
        right = [c for c in corners if c[0] >= k]
        return min(
            a[1] if a[0] == b[0] else a[1] + (b[1] - a[1]) * (k - a[0]) / (b[0] - a[0])
            for a in left
            for b in right
        )

    a = mp.mpf(order)
    places = sorted({k for k, _ in corners} | {mp.mpf(1)})
    total = mp.mpf(0)
    for low, high in pairwise(places):
        # Linear between neighbouring places: k^{α-2}(v + w(k - low)) in closed form.
        start, end = below(low), below(high)
        slope = (end - start) / (high - low)
        if low < 1:  # against (1 - k), which the pair (no privacy lost) has
            start, slope = start - (1 - low), slope + 1
        if low == 0:  # the pair's own function there is 1 - k
            assert abs(start) + abs(slope) < mp.mpf("1e-50")
            continue
        first = (high ** (a - 1) - low ** (a - 1)) / (a - 1)
        second = (high**a - low**a) / a
        total += (start - slope * low) * first + slope * second
    return 1 + a * (a - 1) * total


def profiles(seed: int, count: int) -> list[list[tuple[float, float]]]:
    draw = np.random.default_rng(seed)
    found = []
    for number_ in range(count):
        size = int(draw.integers(1, 6))
        at = np.sort(draw.uniform(0, 3, size))
        deltas = np.sort(draw.uniform(0, 0.5, size))[::-1].copy()
        if number_ % 2:
            at[0], deltas = 0.0, np.sort(10.0 ** draw.uniform(-8, 0, size))[::-1].copy()
        deltas[-1] = 0.0
        found.append([(float(e), float(d)) for e, d in zip(at, deltas, strict=True)])
    return found


def test_moments_of_profiles_are_next_to_the_truth_and_not_below() -> None:
    places = np.random.default_rng(4)
    some = ORDERS[ORDERS < 300]
    with mp.workdps(120):
        for points in profiles(6, 40):
            guarantee = mechanisms.from_profile(points)
            found = divergences(guarantee, some)
            for place in places.choice(len(some), 3, replace=False):
                a = float(some[place])
                exact = mp.log(exact_moment(points, a)) / (mp.mpf(a) - 1)
                assert exact <= float(found[place]) <= exact * (1 + CLOSE), points


def test_masses_that_are_too_small_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if losses of tables were a billionth too small, or masses of profiles."""
    p, q = [0.3, 0.7], [0.4, 0.6]
    points = [(0.0, 0.2), (0.5, 0.05), (1.0, 0.0)]
    with mp.workdps(60):
        honest = two_tables._loss
        exact = larger_divergence((p, q), 3.0)
        monkeypatch.setattr(two_tables, "_loss", lambda a, b: honest(a, b) * (1 - 1e-9))
        guarantee = mechanisms.finite_distributions(p, q, "replace-one")
        assert divergences(guarantee, np.array([3.0]))[0] < exact
        exact = mp.log(exact_moment(points, 3.0)) / 2
        monkeypatch.setattr(privacy_profile, "_ROOM", -1e-9)
        guarantee = mechanisms.from_profile(points)
        assert divergences(guarantee, np.array([3.0]))[0] < exact


def test_a_round_of_an_odometer_makes_no_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty digits for every corner were most of the time of a round."""
    made: list[str] = []
    monkeypatch.setattr(DeferredLaw, "__getattr__", lambda self, name: made.append(name) or 0.0)
    odometer = Odometer(epsilon=100, delta=1e-5)
    two = {"mechanism": "finite-distributions", "p": [0.3, 0.7], "q": [0.4, 0.6]}
    odometer.spend({**two, "adjacency": "replace-one"})
    odometer.spend({"mechanism": "profile", "points": [[0.5, 0.1], [1.0, 0.0]]})
    assert not made


def test_the_divergences_of_a_round_in_either_order_are_those_of_the_worse_order() -> None:
    """Not those of a pair that dominates both, which are larger."""
    p, q = [0.2, 0.5, 0.3], [0.3, 0.5, 0.2]
    odd = [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]
    for one, other in ((p, q), odd):
        guarantee = mechanisms.finite_distributions(one, other, "replace-one")
        orders = np.array([1.5, 2.0, 8.0])
        dominating = np.array([log_moment(law_of(guarantee), a - 1) / (a - 1) for a in orders])
        found = divergences(guarantee, orders)
        assert (found <= dominating * (1 + 1e-9)).all()
        one_by_one = [guarantee.renyi(a) for a in orders.tolist()]
        np.testing.assert_allclose(found, one_by_one, rtol=1e-9)
    assert (found < dominating * 0.999).any()


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.5, 0.5, 0.0], [0.5, 0.0, 0.5]),  # infinite losses
        ([0.5, 0.5, 5e-324], [0.5, 0.5, 0.0]),
        ([1.0, 5e-324], [0.5, 0.5]),  # a ratio that is no double
        ([1.0, 1e-305], [1.0, 2e-305]),  # a mass without a full mantissa
    ],
)
def test_where_doubles_do_not_reach_the_law_answers(p: list[float], q: list[float]) -> None:
    guarantee = mechanisms.finite_distributions(p, q, "add-remove")
    assert law_of(guarantee).near() is None
    one_by_one = [guarantee.renyi(float(a)) for a in ORDERS[::16]]
    found = divergences(guarantee, ORDERS[::16])
    assert np.array_equal(np.isinf(found), np.isinf(one_by_one))
    finite = np.isfinite(found)
    np.testing.assert_allclose(found[finite], np.array(one_by_one)[finite], rtol=1e-6, atol=1e-300)


@pytest.mark.parametrize(
    "points",
    [
        [(1.0, 1e-9)],
        [(0.0, 0.5), (1e-7, 0.0)],
        [(0.5, 0.1), (0.5 + 1e-9, 0.0)],
        [(601.0, 0.0)],
        [(0.0, 1e-3), (1e-25, 0.0)],
    ],
)
def test_profiles_that_doubles_do_not_resolve(points: list[tuple[float, float]]) -> None:
    guarantee = mechanisms.from_profile(points)
    assert law_of(guarantee).near() is None
    found = divergences(guarantee, ORDERS[:3])
    np.testing.assert_allclose(found, [guarantee.renyi(float(a)) for a in ORDERS[:3]], rtol=0.2)


@pytest.mark.parametrize(
    "points",
    [
        [(0.5, 1e-200), (300.0, 0.0)],
        [(0.0, 2.5e-17), (0.037, 3.7e-100), (0.18, 1.1e-199), (310.4, 0.0)],
    ],
)
def test_a_last_corner_whose_slope_is_no_double_counts(points: list[tuple[float, float]]) -> None:
    """Next to no mass on a loss of hundreds, which large orders see all the same."""
    guarantee = mechanisms.from_profile(points)
    found = divergences(guarantee, ORDERS)
    assert found[-1] >= guarantee.renyi(float(ORDERS[-1])) * (1 - 1e-9) > 100


def test_profiles_that_say_all_or_nothing() -> None:
    assert not divergences(mechanisms.from_profile([(0.0, 0.0)]), ORDERS).any()
    sure, pure = mechanisms.from_profile([(1.0, 0.0)]), mechanisms.from_profile([(2.0, 1.0)])
    assert sure.epsilon(0.0) == 1.0
    assert pure.epsilon(0.0) == math.inf
    assert mechanisms.from_profile([(0.0, 0.1), (1, 0), (2, 0)]).epsilon(0.0) == 1.0


def test_laws_in_doubles_are_those_of_sixty_digits() -> None:
    for p, q in pairs(8, 12):
        for adjacency in ("add-remove", "replace-one"):
            guarantee = mechanisms.finite_distributions(p, q, adjacency)  # type: ignore[arg-type]
            law, near = law_of(guarantee), law_of(guarantee).near()
            assert near is not None
            assert len(near) == (1 if adjacency == "add-remove" else 2)
            assert max(part.supremum for part in near) <= law.supremum * (1 + 1e-14)
    forth = law_of(mechanisms.finite_distributions([0.25, 0.75], [0.5, 0.5], "add-remove"))
    near = forth.near()
    assert near is not None
    np.testing.assert_allclose(near[0].losses, forth.losses, rtol=1e-15)
    np.testing.assert_array_equal(near[0].masses, forth.masses)


def test_a_law_is_made_once_with_all_it_holds() -> None:
    made: list[int] = []

    def make() -> DiscreteLoss:
        made.append(1)
        return DiscreteLoss(np.array([1.0, -1.0]), np.array([0.5, 0.5]), infinite_mass=0.0)

    law = DeferredLaw(make, lambda: None)
    assert not made
    assert law.supremum == 1.0
    assert law.infinite_mass == law.missing == law.mass_at_supremum == 0.0
    assert law.blur.tolist() == [0.0, 0.0]
    assert law.losses.tolist() == [1.0, -1.0]
    assert made == [1]
    with pytest.raises(AttributeError, match="a law has no 'sign'"):
        law.sign  # noqa: B018
    np.testing.assert_array_equal(
        atoms_moments(law, np.array([2.0])),
        atoms_moments(make(), np.array([2.0])),
    )


def test_guarantees_travel_between_processes_before_and_after() -> None:
    for guarantee in (
        mechanisms.finite_distributions([0.3, 0.7], [0.4, 0.6], "replace-one"),
        mechanisms.from_profile([(0.5, 0.1), (1.0, 0.0)]),
    ):
        before = pickle.loads(pickle.dumps(guarantee))  # noqa: S301
        expected = guarantee.epsilon(0.05)
        after = pickle.loads(pickle.dumps(guarantee))  # noqa: S301
        assert before.epsilon(0.05) == after.epsilon(0.05) == expected


def test_lists_that_change_afterwards_change_no_answer() -> None:
    p, q, points = [0.3, 0.7], [0.4, 0.6], [[0.5, 0.1], [1.0, 0.0]]
    tables = mechanisms.finite_distributions(p, q, "replace-one")
    profile = mechanisms.from_profile(points)  # type: ignore[arg-type]
    p[:], q[:], points[0][1] = [0.5, 0.5], [0.5, 0.5], 0.0
    other = mechanisms.finite_distributions([0.3, 0.7], [0.4, 0.6], "replace-one")
    assert tables.epsilon(0.05) == other.epsilon(0.05)
    assert profile.epsilon(0.05) == mechanisms.from_profile([(0.5, 0.1), (1, 0)]).epsilon(0.05)


def test_whole_numbers_are_what_was_written() -> None:
    third = number("1/3")
    assert whole_numbers([third, third, third], [0.5, 0.25, 0.25]) == ([1, 1, 1], [2, 1, 1])
    guarantee = mechanisms.finite_distributions(
        [third, third, third], [0.5, 0.25, 0.25], "replace-one"
    )
    assert guarantee.epsilon(0.0) == pytest.approx(math.log(1.5), rel=1e-15)
