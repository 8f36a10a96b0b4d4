"""The discrete law of a profile in doubles: it dominates, and is next to that of sixty digits."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from dpcalc import mechanisms
from dpcalc.accounting.losses import profile_law
from dpcalc.accounting.losses.discrete import DiscreteLoss
from dpcalc.accounting.losses.privacy_profile import falling, loss_from_profile
from dpcalc.accounting.losses.profile_law import law_in_doubles
from dpcalc.guarantees import GDP, RDP, ZCDP, Guarantee, PureDP, compose, renyi_profile
from dpcalc.guarantees.composition import Composition
from dpcalc.guarantees.mixed import MixedReleases, mixed
from dpcalc.guarantees.profile import PrivacyProfile
from dpcalc.guarantees.renyi_profile import corners
from dpcalc.guarantees.through_renyi import ApproximateRDP

Points = list[tuple[float, float]]


def law_of(points: Points) -> DiscreteLoss | None:
    at, deltas = np.array(points, dtype=float).T
    return law_in_doubles(at, deltas)


def least(points: Points, k: mp.mpf) -> mp.mpf:
    """The greatest convex function below points, their mirror images and (0, 1), by all chords."""
    known = [(mp.exp(mp.mpf(e)), mp.mpf(d)) for e, d in falling(points)]
    mirrored = [(1 / x, 1 - 1 / x + d / x) for x, d in known]
    places = sorted({(mp.mpf(0), mp.mpf(1)), *mirrored, *known})
    left, right = [p for p in places if p[0] <= k], [p for p in places if p[0] > k]
    chords = [
        a[1] + (b[1] - a[1]) * (k - a[0]) / (b[0] - a[0])
        for a in left
        for b in right
        if a[1] >= b[1]
    ]
    return min([*chords, *(d for x, d in known if x <= k), mp.mpf(1)])


def profile_of(law: DiscreteLoss, k: mp.mpf) -> mp.mpf:
    """P(A) - kQ(A) at its largest: of every positive loss what its mass leaves, and what is infinite."""
    each = zip(law.losses.tolist(), law.masses.tolist(), strict=True)
    gains = (mp.mpf(m) * (1 - k * mp.exp(-mp.mpf(x))) for x, m in each if mp.exp(mp.mpf(x)) > k)
    return mp.mpf(law.infinite_mass) + mp.fsum(gains)


def random_profiles(seed: int, count: int) -> list[Points]:
    """Convex ones and others, with and without zero, of losses from 1e-12 to 1e3."""
    draw = np.random.default_rng(seed)
    found: list[Points] = []
    for number in range(count):
        size = int(draw.integers(2, 7))
        at = np.sort(10.0 ** draw.uniform(-12, 3, size))
        if number % 3 == 0:
            at[0] = 0.0
        deltas = np.sort(10.0 ** draw.uniform(-25 if number % 2 else -1, 0, size))[::-1]
        found.append(list(zip(at.tolist(), deltas.tolist(), strict=True)))
    return found


EDGES: list[Points] = [
    [(0.5, 0.3), (1.0, 0.3)],  # the second says nothing
    [(1.0, 1e-9)],
    [(0.0, 0.5), (1e-300, 0.25), (1.0, 0.0)],  # next to zero
    [(0.0, 1.0), (2.0, 0.5), (3.0, 1e-30)],
    [(0.5, 0.9), (800.0, 0.0), (2000.0, 0.0)],
    [(5.0, 0.99), (6.0, 0.98), (7.0, 0.1)],  # far from convex
    [(1.0, 1e-3), (1.0, 1e-4), (2.0, 1e-5)],
    [(0.0, 0.1), (1.0, 0.3), (2.0, 0.09), (3.0, 0.05), (4.0, 0.06)],  # what rises says nothing
    [(40.0, 0.999999), (50.0, 1e-3)],  # next to no mass at the first corner
]


@pytest.mark.parametrize("points", [*EDGES, *random_profiles(5, 60)])
def test_the_law_dominates_every_mechanism_with_the_profile(points: Points) -> None:
    law = law_of(points)
    assert law is not None
    assert (law.masses >= 0).all()
    with mp.workdps(80):
        corners_ = [mp.mpf(e) for e, _ in falling(points)]
        between = [(a + b) / 2 for a, b in pairwise([mp.mpf(0), *corners_])]
        for epsilon in [mp.mpf(0), *corners_, *between, corners_[-1] + 1]:
            k = mp.exp(epsilon)
            # The law states how far off its masses may be.
            found = profile_of(law, k) * (1 + mp.mpf(law.mass_error))
            exact = least(points, k)
            assert exact <= found
            assert found <= exact * (1 + mp.mpf("1e-9")) + mp.mpf("1e-5") * (exact > 0.9)


@pytest.mark.parametrize("points", [*EDGES, *random_profiles(6, 30)])
def test_it_is_the_law_of_a_pair(points: Points) -> None:
    """All mass is one, and what Q has at a loss is e^-l times what P has."""
    law = law_of(points)
    assert law is not None
    room = law.mass_error
    whole = math.fsum([*law.masses.tolist(), law.infinite_mass])
    assert whole <= 1 + room
    if (law.losses > 0).any() and law.losses[law.losses > 0].min() > 1 and points[0][0] > 0:
        assert whole >= 1 - room
    masses = dict(zip(law.losses.tolist(), law.masses.tolist(), strict=True))
    with mp.workdps(40):
        for loss, mass in masses.items():
            if loss < 0:
                exact = mp.mpf(masses[-loss]) * mp.exp(mp.mpf(loss))
                assert abs(mp.mpf(mass) / exact - 1) <= room
            elif mp.mpf(mass) * mp.exp(-mp.mpf(loss)) > 1e-289:
                assert -loss in masses


BARE: list[Guarantee] = [
    *(ZCDP(rho) for rho in (1e-12, 1e-4, 0.01, 1.0, 50.0)),
    RDP.from_points({4: 0.01, 40: 0.1}),
    RDP.from_points({1.5: 0.01}),
    ApproximateRDP(ZCDP(1e-3), 1e-9),
]


@pytest.mark.parametrize("bare", BARE, ids=repr)
def test_masses_are_those_of_sixty_digits_and_no_smaller(bare: Guarantee) -> None:
    points = [(epsilon, delta) for epsilon, delta, _ in corners([(bare, 1)])]
    law, exact = law_of(points), loss_from_profile(points)
    assert law is not None
    assert law.infinite_mass == exact.infinite_mass
    far = 1e-50  # beyond, sixty digits are too few for what is mirrored
    known = {
        x: m for x, m in zip(exact.losses.tolist(), exact.masses.tolist(), strict=True) if m > far
    }
    found = dict(zip(law.losses.tolist(), law.masses.tolist(), strict=True))
    same = sorted(x for x in known if x > 0)
    assert len(same) > 200
    ratios = np.array([found[x] / known[x] for x in same])
    assert (ratios[1:] >= 1 - 1e-15).all()
    assert abs(ratios[0] - 1) < 1e-10  # what the others leave
    assert np.median(ratios) < 1 + 1e-11
    assert ratios.max() < 1 + 1e-7  # where three corners are on a line but for that


def test_next_to_certainty_nothing_is_left_and_sixty_digits_answer() -> None:
    assert law_of([(0.0, 1.0)]) is None
    assert law_of([(1.0, 1 - 1e-9)]) is None
    assert law_of([(0.0, 0.25)]) is None  # one number at zero is an infinite loss


def test_masses_that_are_too_small_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_law, "ROOM", -1e-9)
    points = [(0.0, 0.2), (0.5, 0.05), (1.0, 1e-3)]
    law = law_of(points)
    assert law is not None
    with mp.workdps(60):
        assert profile_of(law, mp.exp(0.5)) < least(points, mp.exp(0.5))


KNOWN: list[tuple[Guarantee, int]] = [
    (GDP(1.0), 1),
    (PureDP(0.1), 50),
    (mechanisms.laplace(2.0, "add-remove"), 3),
    (mechanisms.gaussian_without_replacement(5, 3, 1000), 20),
]


@pytest.mark.parametrize(("known", "count"), KNOWN)
def test_next_to_other_losses_it_costs_what_sixty_digits_cost(known: Guarantee, count: int) -> None:
    bare = ZCDP(0.003)
    points = [(epsilon, delta) for epsilon, delta, _ in corners([(bare, 1)])]
    pair = (((loss_from_profile(points), 1),),)
    exact = PrivacyProfile(lambda epsilon: 1.0, "sixty digits", pair)
    found = mixed(((known, count), (bare, 1)), Composition)
    assert isinstance(found, MixedReleases)
    for delta in (0.1, 1e-6, 1e-20):
        truth = Composition(((known, count), (exact, 1))).bracket(delta)
        assert truth.lower <= found.summed.epsilon(delta) <= truth.upper * (1 + 1e-9)


def test_a_question_needs_no_sixty_digits_for_the_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """They took a twentieth of a second."""

    def slow(*_: object) -> DiscreteLoss:
        raise AssertionError("a law in sixty digits was made")

    monkeypatch.setattr(renyi_profile, "loss_from_profile", slow)
    for bare in BARE:
        assert compose(GDP(0.7), bare).epsilon(1e-6) > 0


def test_where_nothing_is_left_a_question_is_answered_all_the_same() -> None:
    """Of a release that tells all but for 1e-9."""
    found = compose(GDP(0.7), ApproximateRDP(ZCDP(0.1), 1 - 1e-9))
    assert found.delta(1.0) >= 1 - 1e-9
    assert found.epsilon(0.5) == math.inf
