"""Few rounds listed and the others asked: the exact answer lies within, and the enclosure is narrow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

from dpcalc import ApproxDP, PureDP, compose, mechanisms
from dpcalc.accounting.composition import graded_sums, loss_sum, two_scales
from dpcalc.accounting.composition.convex_curve import ConvexCurve
from dpcalc.accounting.composition.driver import enclosed
from dpcalc.accounting.composition.listed_losses import Listed
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import GaussianLoss, LaplaceLoss, RandomisedResponseLoss
from dpcalc.accounting.losses.density_pair import PrivacyLoss
from dpcalc.accounting.losses.discrete import disclosure
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    WithoutReplacement,
)

Profile = Callable[[mp.mpf], mp.mpf]
"""δ at any real ε."""


def sampled(sigma: float, rate: float) -> Profile:
    """(1-q)N(0) + qN(1) against N(0): the best test is a half-line."""
    s, q = mp.mpf(sigma), mp.mpf(rate)

    def delta(at: mp.mpf) -> mp.mpf:
        level = mp.expm1(at) + q
        if level <= 0:
            return -mp.expm1(at)
        x = s * s * mp.log(level / q) + mp.mpf(1) / 2
        tails = mp.erfc(x / s / mp.sqrt(2)) / 2, mp.erfc((x - 1) / s / mp.sqrt(2)) / 2
        return (1 - q) * tails[0] + q * tails[1] - mp.exp(at) * tails[0]

    return delta


def reversed_profile(profile: Profile) -> Profile:
    """1 - e^ε + e^ε δ(-ε)."""
    return lambda at: -mp.expm1(at) + mp.exp(at) * profile(-at)


def with_responses(epsilon: float, rounds: int, rest: Profile) -> Profile:
    """Σ over how many answers are the other one."""
    e = mp.mpf(epsilon)
    odds = mp.exp(-e)

    def delta(at: mp.mpf) -> mp.mpf:
        return mp.fsum(
            mp.binomial(rounds, k)
            * odds**k
            / (1 + odds) ** rounds
            * rest(at - (rounds - 2 * k) * e)
            for k in range(rounds + 1)
        )

    return delta


def with_laplace(epsilon: float, rest: Profile, scale: float) -> Profile:
    """Atoms at both ends and a density between; the rest falls on the scale that is given."""
    e, s = mp.mpf(epsilon), mp.mpf(scale)

    def delta(at: mp.mpf) -> mp.mpf:
        kinks = {-e, e, at, *(at + k * s for k in range(-30, 31, 2))}
        inside = sorted(k for k in kinks if -e <= k <= e)
        between = mp.quad(lambda x: mp.exp((x - e) / 2) / 4 * rest(at - x), inside)
        return (rest(at - e) + mp.exp(-e) * rest(at + e)) / 2 + between

    return delta


def with_exponential_norm(bound: float, rest: Profile, scale: float) -> Profile:
    """In three dimensions, whose law is elementary: p(ν) ∝ ∫ (ξ² - ν²) e^{-a(ξ-ν)/2} dξ over ξ > 1."""
    a, s = mp.mpf(bound), mp.mpf(scale)
    h = a / 2

    def shape(v: mp.mpf) -> mp.mpf:
        return mp.exp(h * (v - 1)) * ((1 - v * v) / h + 2 / h**2 + 2 / h**3)

    whole = mp.quad(shape, mp.linspace(-1, 1, 9))

    def delta(at: mp.mpf) -> mp.mpf:
        kinks = {-a, a, at, *(at + k * s for k in range(-30, 31, 2))}
        inside = sorted(k / a for k in kinks if -a <= k <= a)
        return mp.quad(lambda v: shape(v) / whole * rest(at - a * v), inside)

    return delta


def with_batch(mu: float, rate: float, rest: Profile, scale: float) -> Profile:
    """Positive losses of (1-γ)N(0) + γN(μ) against N(0), their mirror images, and the rest at 0."""
    m, g, s = mp.mpf(mu), mp.mpf(rate), mp.mpf(scale)

    def loss(x: mp.mpf) -> mp.mpf:
        return mp.log1p(g * mp.expm1(m * (x - m / 2)))

    def delta(at: mp.mpf) -> mp.mpf:
        where = {m / 2, m / 2 + 20, *(m / 2 + k for k in range(1, 20))}
        for k in range(-30, 31, 2):
            level = mp.expm1(at + k * s)
            if level > 0:
                where.add(mp.log1p(level / g) / m + m / 2)
        places = sorted(x for x in where if m / 2 <= x <= m / 2 + 20)
        seen = mp.quad(lambda x: mp.npdf(x) * mp.exp(loss(x)) * rest(at - loss(x)), places)
        mirrored = mp.quad(lambda x: mp.npdf(x) * rest(at + loss(x)), places)
        zero = 1 - mp.ncdf(-m / 2) - (1 - g) * mp.ncdf(-m / 2) - g * mp.ncdf(m / 2)
        return seen + mirrored + zero * rest(at)

    return delta


def with_equal_laplace(epsilon: float, rounds: int, rest: Profile, scale: float) -> Profile:
    """What n rounds fall short of their largest sum by, from the transform of e^{T/2}P(dT).

    That is (½(1 + u) + ½e^{-2as}(1 - u))^n with u = 1/2s; u^m belongs to 2^{-m}t^{m-1}/(m-1)!.
    """
    a, s = mp.mpf(epsilon), mp.mpf(scale)
    weights = {}
    for j in range(rounds + 1):
        signs = np.poly1d([1, 1]) ** (rounds - j) * np.poly1d([-1, 1]) ** j
        for m, whole in enumerate(signs.coeffs[::-1]):
            weights[j, m] = mp.binomial(rounds, j) * int(whole) / mp.mpf(2) ** rounds

    def density(t: mp.mpf) -> mp.mpf:
        return mp.fsum(
            weight / 2**m * (t - 2 * a * j) ** (m - 1) / mp.factorial(m - 1)
            for (j, m), weight in weights.items()
            if m and t > 2 * a * j
        )

    def delta(at: mp.mpf) -> mp.mpf:
        above = at - rounds * a  # how far ε is above the largest sum, or below
        ends = [2 * a * j for j in range(rounds + 1)]
        kinks = {*ends, *(k * s - above for k in range(-30, 31, 2))}
        inside = sorted(t for t in kinks if 0 <= t <= 2 * a * rounds)
        spread = mp.quad(lambda t: mp.exp(-t / 2) * density(t) * rest(above + t), inside)
        atoms = (weights[j, 0] * mp.exp(-end / 2) * rest(above + end) for j, end in enumerate(ends))
        return spread + mp.fsum(atoms)

    return delta


def exponential_norms(bound: float, short: float) -> mp.mpf:
    """δ of three rounds in three dimensions, so far below the largest sum, over how short each falls."""
    a = mp.mpf(bound)
    h, end = a / 2, mp.mpf(short)

    def shape(v: mp.mpf) -> mp.mpf:
        return mp.exp(h * (v - 1)) * ((1 - v * v) / h + 2 / h**2 + 2 / h**3)

    whole = mp.quad(shape, mp.linspace(-1, 1, 9))

    # e^{-t/2} times a polynomial, up to t = 2a; t^i * t^j is i!j!/(i+j+1)! t^{i+j+1}.
    one = {
        0: (2 / h**2 + 2 / h**3) / whole / a,
        1: 2 / a / h / whole / a,
        2: -1 / a**2 / h / whole / a,
    }
    total = one
    for _ in range(2):
        product: dict[int, mp.mpf] = {}
        for (i, x), (j, y) in itertools.product(total.items(), one.items()):
            ways = mp.factorial(i) * mp.factorial(j) / mp.factorial(i + j + 1)
            product[i + j + 1] = product.get(i + j + 1, 0) + x * y * ways
        total = product
    return mp.quad(
        lambda t: mp.exp(-t / 2) * mp.fsum(c * t**i for i, c in total.items()) * -mp.expm1(t - end),
        [0, end],
    )


Parts = list[tuple[PrivacyLoss, int]]
RARE, TINY = sampled(3.0, 1e-3), sampled(50.0, 1e-5)
ANSWERS = RandomisedResponseLoss.of({0.7: 3})

CASES: dict[str, tuple[Parts, Profile, list[float]]] = {
    "responses": (
        [(ANSWERS, 1), (PoissonRemove(3.0, 1e-3), 1)],
        with_responses(0.7, 3, RARE),
        [2.1001, 2.2, 0.9, 0.3, 0.0],
    ),
    "responses and an added record": (
        [(ANSWERS, 1), (PoissonAdd(3.0, 1e-3), 1)],
        with_responses(0.7, 3, reversed_profile(RARE)),
        [2.10001, 2.1003, 0.9, 0.3],
    ),
    "responses that may fail": (
        [(ANSWERS, 1), (disclosure(1e-9), 2), (PoissonRemove(3.0, 1e-3), 1)],
        lambda at: 1 - (1 - mp.mpf(1e-9)) ** 2 * (1 - with_responses(0.7, 3, RARE)(at)),
        [2.1001, 0.9],
    ),
    "Laplace noise": (
        [(LaplaceLoss(0.4, 0.4), 1), (PoissonRemove(50.0, 1e-5), 1)],
        with_laplace(0.4, TINY, 2e-7),
        [0.4000005, 0.400002, 0.39, 0.1],
    ),
    "three rounds of Laplace noise": (
        [(LaplaceLoss(0.4, 0.4), 3), (PoissonRemove(50.0, 1e-5), 1)],
        with_equal_laplace(0.4, 3, TINY, 2e-7),
        [1.2000005, 1.19],
    ),
    "seven rounds of Laplace noise": (
        [(LaplaceLoss(0.4, 0.4), 7), (PoissonRemove(50.0, 1e-5), 1)],
        with_equal_laplace(0.4, 7, TINY, 2e-7),
        [2.8000005],
    ),
    "exponential noise": (
        [(ExponentialNorm(5.0, 3), 1), (PoissonRemove(3.0, 1e-3), 1)],
        with_exponential_norm(5.0, RARE, 3e-4),
        [5.0003, 4.9, 2.0],
    ),
    "batches": (
        [(WithoutReplacement(1.0, 0.2), 1), (PoissonRemove(50.0, 1e-5), 1)],
        with_batch(1.0, 0.2, TINY, 2e-7),
        [3.0],
    ),
}
PLACES = [(name, at) for name, (_, _, places) in CASES.items() for at in places]


def in_two(parts: Parts, query: DeltaAt | EpsilonAt, most: float) -> Bracket:
    """What the sum in two tells by itself."""
    found = two_scales.enclose(LossSum.of(parts), query, Bracket(0.0, most, "nothing"), enclosed)
    assert found is not None
    return found


@pytest.mark.few(1, each="name")
@pytest.mark.parametrize(("name", "at"), PLACES)
def test_the_exact_answer_lies_within(name: str, at: float) -> None:
    """In thirty digits, in both directions of the question."""
    parts, profile, _ = CASES[name]
    with mp.workdps(30):
        exact = profile(mp.mpf(at))
        found = in_two(parts, DeltaAt(at, 1e-6), float(3 * exact))
        assert mp.mpf(found.lower) <= exact <= mp.mpf(found.upper)
        assert found.relative_width < 1e-2
        if at > 0:
            there = in_two(parts, EpsilonAt(float(exact), 1e-6), 2 * at)
            # δ as a double is off by a rounding, which moves ε by that over |d ln δ/dε|.
            assert there.lower <= at * (1 + 1e-12)
            assert there.upper >= at * (1 - 1e-12)
            assert there.relative_width < 1e-5


def test_a_reversal_that_is_none_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the listed losses δ of the rest is that of the reversed pair."""
    parts: Parts = [(RandomisedResponseLoss.of({3.0: 3}), 1), (PoissonRemove(1.5, 0.3), 1)]
    with mp.workdps(40):
        exact = with_responses(3.0, 3, sampled(1.5, 0.3))(mp.mpf(2.5))
    found = in_two(parts, DeltaAt(2.5, 1e-6), 1.0)
    assert mp.mpf(found.lower) <= exact <= mp.mpf(found.upper)
    monkeypatch.setattr(loss_sum, "reversed_loss", lambda loss: loss)
    planted = in_two(parts, DeltaAt(2.5, 1e-6), 1.0)
    assert not mp.mpf(planted.lower) <= exact <= mp.mpf(planted.upper)


@pytest.mark.parametrize("width", [0.0, 1e-3, 0.3])
def test_what_lies_between_known_places_is_bounded(width: float) -> None:
    """Of a curve that is known to so many digits, at random places and next to them."""
    rng, ends = np.random.default_rng(5), {}
    profile = sampled(0.8, 0.3)

    def ask(place: float) -> tuple[float, float]:
        with mp.workdps(40):
            exact, slip = profile(mp.mpf(place)), rng.random(2) * width
        ends[place] = (
            float(exact * (1 - slip[0])) * (1 - 1e-15),
            float(exact) * (1 + slip[1] + 1e-15),
        )
        return ends[place]

    curve = ConvexCurve(ask)
    curve.add(rng.uniform(0, 2, 40).tolist())
    known = np.array(sorted(ends))
    at = np.concatenate([rng.uniform(0, 3, 200), known, known[1:] - 1e-9, known + 1e-9, [0.0, 1e3]])
    for place, low, high in zip(at, curve.low(at), curve.high(at), strict=True):
        with mp.workdps(60):
            exact = profile(mp.mpf(place))
        assert low <= exact <= high
    tight = (at > known[3]) & (at < known[-2])
    assert width or float((1 - curve.low(at) / curve.high(at))[tight].max()) < 0.5


def test_places_may_be_farther_apart_than_doubles_reach() -> None:
    """δ of Gaussian noise falls long before the next place, and the chord stays above it."""
    mu = mp.mpf(39)

    def profile(at: float) -> mp.mpf:
        e = mp.mpf(at)
        return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)

    def ask(place: float) -> tuple[float, float]:
        with mp.workdps(400):
            return float(profile(place)) * (1 - 1e-15), float(profile(place)) * (1 + 1e-15)

    curve = ConvexCurve(ask)
    curve.add([800.0, 2000.0])
    at = np.array([0.0, 1e-9, 5.0, 90.0, 650.0, 699.0, 701.0, 750.0, 799.999, 800.0, 801.0, 1900.0])
    for place, low, high in zip(at, curve.low(at), curve.high(at), strict=True):
        with mp.workdps(400):
            exact = profile(place)
        assert low <= exact <= high


def test_equal_rounds_whose_losses_fall_farther_than_they_rise() -> None:
    """A record that is added changes next to nothing for the better, and may for the worse."""
    added, little = PoissonAdd(0.5, 0.1), GaussianLoss(1e-3)
    for rounds, query in ((4, DeltaAt(0.0, 1e-6)), (2, EpsilonAt(0.05, 1e-6))):
        parts: Parts = [(added, rounds), (little, 1)]
        known = enclosed(LossSum.of(parts), query)
        found = in_two(parts, query, min(3 * known.upper, 1.0))
        assert max(found.lower, known.lower) <= min(found.upper, known.upper)
        assert max(known.relative_width, found.relative_width) < 2e-5


@pytest.mark.few(1)
@pytest.mark.parametrize("short", [1e-3, 0.3])
def test_equal_rounds_next_to_their_largest_sum(short: float) -> None:
    """Where so little of the probability is that nothing else sees it."""
    parts: Parts = [(ExponentialNorm(20.0, 3), 3)]
    with mp.workdps(20):
        exact = float(exponential_norms(20.0, short))
    found = in_two(parts, DeltaAt(60 - short, 1e-6), 3 * exact)
    # ε is off by a rounding, of which δ, about short^6 times a constant, makes six times as much.
    slip = 6 * 60 * 2e-15 / short + 1e-9
    assert found.lower * (1 - slip) <= exact <= found.upper * (1 + slip)
    assert found.relative_width < 0.1
    there = in_two(parts, EpsilonAt(exact, 1e-6), 60.0)
    assert there.lower * (1 - 1e-12) <= 60 - short <= there.upper * (1 + 1e-12)
    assert there.relative_width < 1e-5


POISSON = mechanisms.poisson_subsampled_gaussian
WIDE_BEFORE = [
    ([(POISSON(672.0379, 5.3812e-9, "replace-one"), 65582), (PureDP(1.7427e-4), 5)], 3.36e-28),
    (
        [(POISSON(2435.963, 9.14755e-8, "add-remove"), 618668), (ApproxDP(0.867263, 2e-66), 2)],
        3e-27,
    ),
    (
        [
            (mechanisms.sampled_without_replacement(9.937e-4, 3.1124e-5), 8),
            (mechanisms.laplace(scale_over_sensitivity=44.6), 1),
        ],
        2e-18,
    ),
    (
        [
            (POISSON(6612.2, 0.29142, "add-remove"), 3),
            (mechanisms.laplace(scale_over_sensitivity=0.6), 8),
        ],
        1.5e-26,
    ),
    ([(mechanisms.exponential_norm(scale_over_sensitivity=1 / 19.5, dimension=5), 2)], 5.1e-30),
]


@pytest.mark.parametrize(("parts", "delta"), WIDE_BEFORE)
def test_losses_of_two_scales_are_enclosed_narrowly(parts: list, delta: float) -> None:
    found = compose(*parts).bracket(delta)
    assert 0 < found.relative_width < 1e-5


def test_what_is_below_the_grid_is_left_out_of_the_lower_list() -> None:
    """It would otherwise be moved up, to the first point."""
    one = Listed(np.array([-5.0, 0.5]), np.array([0.25, 0.75]), np.zeros(2), 0.0)
    found = graded_sums._merged(one, np.array([-1.0, 0.0, 1.0]))
    assert found.losses == pytest.approx([0.5])
    assert found.masses == pytest.approx([0.75])


def test_points_may_be_far_apart_in_the_lower_list() -> None:
    """The Q-mass of all is a tiny share of what it would be at the point below."""
    one = Listed(np.array([-10.0, -5.0, -0.5]), np.array([0.25, 0.5, 0.25]), np.zeros(3), 0.0)
    for first in (-20.0, -50.0, -300.0, -600.0):
        found = graded_sums._merged(one, np.array([first, 0.0]))
        exact = -math.log(0.25 * math.exp(10.0) + 0.5 * math.exp(5.0) + 0.25 * math.exp(0.5))
        assert abs(found.losses[0] - exact) <= found.errors[0]
        assert found.errors[0] < 1e-10
    assert not len(graded_sums._merged(one, np.array([-3e3, 800.0])).losses)


def test_a_delta_below_what_lists_leave_out_is_not_asked_for() -> None:
    total = LossSum(((LaplaceLoss(0.4, 0.4), 1), (GaussianLoss(1e-3), 1)))
    known = Bracket(0.0, 1e-290, "known")
    assert two_scales.narrower(total, DeltaAt(3.0, 1e-6), known, lambda *_: 1 / 0, 0.0) is None
