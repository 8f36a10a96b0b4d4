"""Bounds of rounds whose large losses are rare, next to sums over all outcomes and to quadrature."""

from __future__ import annotations

import copy
import itertools
import math
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

pytest.importorskip("flint", reason="certificates need python-flint")

from flint import arb

from dpcalc.certificates import chi_square, grids
from dpcalc.certificates.balls import precision
from dpcalc.certificates.batches import without_replacement
from dpcalc.certificates.certify import CERTIFIED, Certified, certify
from dpcalc.certificates.checker import check, digest
from dpcalc.certificates.grammar import Refused
from dpcalc.certificates.large_losses import (
    FARTHEST,
    Atoms,
    atoms,
    below,
    large_losses,
    over_atoms,
    where,
)
from dpcalc.certificates.lattice import summed
from dpcalc.certificates.laws import Law
from dpcalc.guarantees.composition import compose
from dpcalc.guarantees.sampled_replacement import sampled_gaussian

STEP = 0.0625
IN_STEPS = 0.0, 1.0, 1.5, 4.0, 6.25, 9.0, 14.0
PLACES = [STEP * each for each in IN_STEPS]
NEAR = 3
"""Losses are small up to so many steps."""


def _law(mu: float = 0.8, rate: float = 0.1) -> Law:
    return without_replacement(arb(mu), arb(rate))


def _some_atoms(rng: np.random.Generator, rare: float, infinite: float) -> Atoms:
    """Losses at -3, ..., 3, 5, 8 and 13 steps whose Q-masses are not more than 1 together."""
    places = np.array([*range(-NEAR, NEAR + 1), 5, 8, 13])
    weights = rng.uniform(0.2, 1.0, len(places))
    weights[places > NEAR] *= rare
    for tilt in np.linspace(0.0, 20.0, 2001):  # towards losses below 0, until Q has enough
        masses = weights * np.exp(tilt * STEP * places)
        masses *= (1 - infinite) / masses.sum()
        if (masses * np.exp(-STEP * places)).sum() <= 1:
            break
    known = [(int(j), arb(float(m))) for j, m in zip(places, masses, strict=True)]
    small, large = ([a for a in known if (a[0] > NEAR) is apart] for apart in (False, True))
    return Atoms(small, large, arb(infinite))


def _exactly(known: Atoms, n: int, eps: float) -> float:
    """δ of n rounds: every multiset of n losses is counted as often as it can be ordered."""
    losses = np.array([STEP * j for j, _ in (*known.small, *known.large)])
    masses = np.array([float(mass) for _, mass in (*known.small, *known.large)])
    total = 1 - (1 - float(known.infinite)) ** n
    for chosen in itertools.combinations_with_replacement(range(len(losses)), n):
        ways = math.factorial(n)
        for k in set(chosen):
            ways //= math.factorial(chosen.count(k))
        lost = max(-math.expm1(eps - losses[list(chosen)].sum()), 0.0)
        total += ways * float(np.prod(masses[list(chosen)])) * lost
    return total


def _bounds(known: Atoms, n: int, width: int) -> list[float]:
    with precision(120):
        found = over_atoms(known, n, [arb(x) for x in PLACES], arb(STEP), width)
    assert all(each.is_exact() for each in found)
    return [float(each) for each in found]


@pytest.mark.parametrize("infinite", [0.0, 1e-3])
@pytest.mark.parametrize("rare", [1e-5, 0.02, 0.5])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_no_sum_of_losses_is_above_it(n: int, rare: float, infinite: float) -> None:
    for seed in range(3):
        known = _some_atoms(np.random.default_rng(seed), rare, infinite)
        for width in (NEAR + 1, 7, 40):
            for eps, bound in zip(PLACES, _bounds(known, n, width), strict=True):
                assert _exactly(known, n, eps) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("n", [2, 4])
def test_it_is_next_to_the_sum_where_large_losses_are_rare(n: int) -> None:
    known = _some_atoms(np.random.default_rng(5), 1e-7, 1e-9)
    for place, bound in zip(IN_STEPS, _bounds(known, n, 40), strict=True):
        # Next to a large loss the small ones of all rounds count, instead of those of all but one.
        allowed = 1e-5 if place in {0.0, 1.0, 4.0} else 1.0
        assert bound == pytest.approx(_exactly(known, n, STEP * place), rel=allowed)


def _dropped(known: Atoms, what: str) -> Atoms:
    """The same without a kind of loss."""
    return {
        "large": known._replace(large=[]),
        "farthest": known._replace(large=known.large[:-1]),
        "infinite": known._replace(infinite=arb(0)),
        "highest small": known._replace(small=known.small[:-1]),
    }[what]


@pytest.mark.parametrize("what", ["large", "farthest", "infinite", "highest small"])
def test_losses_that_are_left_out_would_be_seen(what: str) -> None:
    known = _some_atoms(np.random.default_rng(1), 1e-3, 1e-3)
    fewer = _bounds(_dropped(known, what), 3, 40)
    assert any(_exactly(known, 3, x) > bound for x, bound in zip(PLACES, fewer, strict=True))


def test_what_other_rounds_add_next_to_two_large_losses_counts() -> None:
    """Small losses of 40 coins: what they deviate by is more than a large loss."""
    n, step, large = 40, 0.01, 0.1 / 40
    up = (1 - large) * math.exp(step) - 1 + large * math.exp(-2 * step)
    up /= 2 * math.sinh(step)  # so that Q-masses add up to 1
    masses = np.array([1 - large - up, 0.0, up, large])
    sums = [1.0]
    for _ in range(n):
        sums = np.convolve(sums, masses)
    truth = float(sum(m * -math.expm1(-step * j) for j, m in enumerate(sums, -n) if j > 0))
    known = Atoms([(-1, arb(masses[0])), (1, arb(masses[2]))], [(2, arb(large))], arb(0))
    with precision(120):
        (bound,) = over_atoms(known, n, [arb(0)], arb(step), n + 2)
    assert truth * (1 - 1e-12) <= float(bound) <= 1.05 * truth


def test_losses_dominate_the_law() -> None:
    """In both orders; below 0 as well, where small losses end."""
    with precision(120):
        law, known = _law(), where([4, 3, 9])
        small, large, infinite = atoms(law, arb(STEP), known)
        held = [(STEP * j, float(mass)) for j, mass in (*small, *large)]
        assert next(j for j, _ in large) >= 4 > small[-1][0]
        for eps in np.linspace(-0.6, 1.5, 43):
            profile = float(law.profile(arb(abs(eps))))
            truth = profile if eps >= 0 else 1 - math.exp(eps) * (1 - profile)
            bound = float(infinite) + sum(m * max(-math.expm1(eps - x), 0.0) for x, m in held)
            assert truth <= bound * (1 + 1e-12)
    assert sum(m for _, m in held) + float(infinite) == pytest.approx(1, rel=1e-12)
    assert sum(m * math.exp(-x) for x, m in held) <= 1 + 1e-12


def _two_rounds(mu: float, rate: float, eps: float) -> float:
    """δ of two rounds by quadrature of one round's losses, which mirror one another."""

    def tail(x: Any) -> Any:
        return mpmath.erfc(x / mpmath.sqrt(2)) / 2

    def one(e: Any) -> Any:
        if e < 0:
            return 1 - mpmath.exp(e) * (1 - one(-e))
        x = (mpmath.log((mpmath.exp(e) - 1 + rate) / rate)) / mu + mpmath.mpf(mu) / 2
        return rate * tail(x - mu) + (1 - rate - mpmath.exp(e)) * tail(x)

    def density(x: Any) -> Any:
        r = 1 - rate + rate * mpmath.exp(mu * x - mpmath.mpf(mu) ** 2 / 2)
        u = mpmath.log(r)
        return mpmath.npdf(x) * (r * one(eps - u) + one(eps + u))

    half = mpmath.mpf(mu) / 2
    idle = 1 - (2 - rate) * tail(half) - rate * tail(-half)
    where_eps = mpmath.log((mpmath.exp(eps) - 1 + rate) / rate) / mu + half
    steps = sorted({half, where_eps, half + 2, half + 5, half + 12})
    return float(idle * one(mpmath.mpf(eps)) + mpmath.quad(density, steps))


@pytest.mark.parametrize("eps", [0.0, 0.01, 0.1, 0.3])
def test_two_rounds_are_next_to_quadrature(eps: float) -> None:
    with mpmath.workdps(25):
        truth = _two_rounds(1.0, 0.01, eps)
    with precision(160):
        law, known = _law(1.0, 0.01), where([300, 100, 300])
        (bound,) = large_losses(law, 2, [arb(eps)], arb("0.001"), known, 700)
    assert truth <= float(bound) <= 1.05 * truth


@pytest.mark.parametrize("n", [6, 40])
def test_fewer_places_give_what_a_whole_lattice_does(n: int) -> None:
    """Rounds at rate 1e-4: losses reach 180 times a round's deviation."""
    with precision(160):
        law, step = _law(1.5, 1e-4), arb("3e-5")
        places = [arb("1e-4") * j for j in (0, 3, 10, 40, 100)]
        apart = chi_square.divergences(law, n, places, step, where([500, 100, 460]), 1_200)
        total = summed([(law, n)], step, [5_000], 6_000)
        whole = chi_square.over_masses(total, places, step)
    for one, other in zip(apart, whole, strict=True):
        assert float(one) == pytest.approx(float(other), rel=2e-2)


def test_masses_that_are_known_in_part_count_at_their_upper_end() -> None:
    """Balls so wide that their middles would be seen."""
    small = [(j, arb(0.3)) for j in (-1, 0, 1)]
    with precision(120):
        places = [arb(x) for x in PLACES]
        wide, most = (
            over_atoms(Atoms(small, [(5, each)], arb(0)), 3, places, arb(STEP), 20)
            for each in (arb(0.01, 0.005), arb(0.0149))
        )
        assert all(x.is_exact() and x >= y for x, y in zip(wide, most, strict=True))


@pytest.mark.parametrize("place", [0, 1264])
def test_small_sums_above_the_lattice_count_next_to_a_large_loss(place: int) -> None:
    """As far as the lattice is below it, at it, and above it; all sums of small losses are above."""
    known = Atoms([(630, arb(0.998))], [(631, arb(1e-3)), (632, arb(1e-3))], arb(0))
    with precision(120):
        (bound,) = over_atoms(known, 3, [arb(STEP * place)], arb(STEP), 631)
    assert _exactly(known, 3, STEP * place) <= float(bound) * (1 + 1e-12)


def test_a_place_below_is_found_at_once_however_little_is_known_of_the_step() -> None:
    with precision(53):
        wide, eps = arb(0.09375, 0.0157), arb("1e7")
        place = below(eps, wide)
        assert wide * place <= eps
        assert place > 0.999 * 1e7 / 0.1095
        assert [below(arb(x), arb(STEP)) for x in (0, 0.0624, 0.0625, 0.2)] == [0, 0, 1, 3]
        assert below(arb("1e300"), arb(STEP)) == FARTHEST
        assert below(arb(1), arb(1, 0.999999)) >= 0
        with pytest.raises(Refused):
            below(arb(1), arb(1, 1))


@pytest.mark.parametrize(
    "points",
    [
        [], [4, 3], [4, 3, 9, 9], [1, 3, 9], [4, 0, 9], [4, 3, 0], [4, 3, 60_001], [60_001, 3, 9],
        ["4", 3, 9], [4, 3.0, 9], [4, 1, 60_000], [4, True, 9],
    ],
    ids=str,
)  # fmt: skip
def test_other_points_are_refused(points: list[Any]) -> None:
    with pytest.raises(Refused):
        where(points)


def test_small_losses_beyond_the_lattice_are_refused() -> None:
    with precision(120):
        known = where([9, 3, 5])
        large_losses(_law(), 2, [arb(0)], arb(STEP), known, 9)
        with pytest.raises(Refused):
            large_losses(_law(), 2, [arb(0)], arb(STEP), known, 8)


@cache
def _made() -> Certified:
    part = sampled_gaussian(0.913, 1.16e-7)
    delta = 1.05e-7
    return certify([(part, 10_900)], "replace-one", delta, compose((part, 10_900)).epsilon(delta))


def test_many_rounds_of_very_rare_batches_are_certified_at_what_is_reported() -> None:
    found = _made()
    assert found.upper == CERTIFIED
    assert found.certificate is not None
    how = found.certificate["upper"]["evidence"]["both"]
    assert how["method"] == "chi-square in parts"
    assert len(how["points"]) == 3
    assert check(found.certificate)


@pytest.mark.parametrize(
    "points", [[600, 100], [600, 100, 0], [5_000, 100, 278], [600, 1, 278], 600], ids=str
)
def test_an_edited_certificate_is_refused(points: Any) -> None:
    made = copy.deepcopy(_made().certificate)
    assert made is not None
    made["upper"]["evidence"]["both"]["points"] = points
    with pytest.raises(Refused):
        check({**made, "digest": digest(made)})


def test_a_whole_lattice_reaches_beyond_a_large_loss_and_what_the_others_add(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the largest loss of a round next to any other counts as infinite."""
    monkeypatch.setattr(grids, "_APART", 10**9)
    with precision(128):
        law = _law(0.913, 1.16e-7)
        *_, step, points, width = grids._divided(law, 4.5e-5, 1e-11, 5.4, 192, 6, 0.0)
        assert isinstance(points, int)
        far, known = [arb("1.7e-5")], where([473, 100, 309])
        (whole,) = chi_square.divergences(law, 6, far, arb(step), points, width)
        (apart,) = large_losses(law, 6, far, arb("1.2e-8"), known, 1268)
    assert float(whole) < 1.05 * float(apart)
