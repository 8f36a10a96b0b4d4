"""Large losses apart from the rest, against products written out and integrals of fifty digits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpcalc.accounting.composition import (
    bracket_epsilon,
    large_losses,
    lattice_sum,
    parted_laws,
)
from dpcalc.accounting.composition.case_sums import Setting
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.parted_laws import Parted, cases, more_than, parted
from dpcalc.accounting.composition.query import DeltaAt, EpsilonAt
from dpcalc.accounting.contour.bend import Bend
from dpcalc.accounting.contour.contour_sum import contour_sum
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import DiscreteLoss
from dpcalc.accounting.losses.subsampled_gaussian import (
    PoissonAdd,
    PoissonRemove,
    PoissonReplace,
    WithoutReplacement,
)
from dpcalc.errors import NumericalFailure


def law(seed: int) -> DiscreteLoss:
    rng = np.random.default_rng(seed)
    losses = np.sort(rng.normal(size=12))
    masses = rng.dirichlet(np.ones(13))[:12] * 0.9
    return DiscreteLoss(losses, masses, infinite_mass=0.01, missing=0.02)


def moment(one: DiscreteLoss, z: complex) -> mp.mpc:
    """E e^{zL} by its definition; what is in no mass is at zero."""
    masses = [mp.mpf(float(mass)) for mass in one.masses]
    rest = 1 - mp.fsum(masses) - mp.mpf(one.missing) - mp.mpf(one.infinite_mass)
    terms = [m * mp.exp(mp.mpc(z) * float(x)) for m, x in zip(masses, one.losses, strict=True)]
    return rest + mp.fsum(terms)


THRESHOLDS = [0.3, 0.9]


@pytest.mark.parametrize("z", [0.0, 0.7, 2 + 3j])
def test_all_cases_together_are_the_whole(z: complex) -> None:
    one, other = law(1), law(2)
    laws = [parted(one, 3, THRESHOLDS), parted(other, 2, THRESHOLDS)]
    found, _ = cases(laws, 5, 0.0)
    total = mp.mpf(0)
    for case in found:
        low, high = case.weight
        assert low <= high <= low * (1 + 1e-10)
        total += (low + high) / 2 * mp.fprod(moment(each, z) ** n for each, n in case.rounds)
    exact = moment(one, z) ** 3 * moment(other, z) ** 2
    assert abs(total / exact - 1) < 1e-12
    # Two large losses in one class each, three in two classes: the whole all the same.
    coarser = [
        [parted(one, 3, edges), parted(other, 2, edges)] for edges in (THRESHOLDS[:1], THRESHOLDS)
    ]
    found, _ = cases(laws, 5, 0.0, coarser)
    total = mp.fsum(
        sum(case.weight) / 2 * mp.fprod(moment(each, z) ** n for each, n in case.rounds)
        for case in found
    )
    assert abs(total / exact - 1) < 1e-12


@pytest.mark.parametrize("probability", [1e-5, 1e-64, 1e-120])
@pytest.mark.parametrize("number", [1, 2, 5])
def test_weights_of_rounds_beyond_count_are_right(probability: float, number: int) -> None:
    """A power that underflows does not, times as many orders as there are."""
    rounds = 10**13
    rare = DiscreteLoss(np.array([0.1, 3.0]), np.array([1e-9, probability]))
    exact = math.comb(rounds, number) * Fraction(probability) ** number
    kept, left_out = cases([parted(rare, rounds, THRESHOLDS)], number, 1e-290)
    weights = {case.many: case.weight for case in kept}
    low, high = weights.get(number, (0.0, left_out))
    assert Fraction(low) <= exact <= Fraction(high) + Fraction(math.ulp(0.0))


def test_what_is_left_out_weighs_as_much_as_the_cases_that_are_not_told_apart() -> None:
    laws = [parted(law(1), 3, THRESHOLDS), parted(law(2), 2, THRESHOLDS)]
    every, _ = cases(laws, 5, 0.0)
    for most, negligible in ((0, 0.0), (1, 0.0), (2, 0.0), (2, 0.05), (5, 0.1)):
        kept, left_out = cases(laws, most, negligible)
        held = {case.key for case in kept}
        rest = math.fsum(
            case.weight[0]
            * math.prod(float(moment(each, 0.0).real) ** n for each, n in case.rounds)
            for case in every
            if case.key not in held
        )
        assert rest <= left_out


@pytest.mark.parametrize("rates", [(0.3, 0.1, 0.05), (1e-3, 1e-3), (0.5, 0.5, 0.5, 0.5)])
def test_more_large_losses_than_a_number_are_as_rare_as_said(rates: tuple[float, ...]) -> None:
    for number in range(len(rates)):
        exact = math.fsum(
            math.prod(p if hit else 1 - p for p, hit in zip(rates, hits, strict=True))
            for hits in itertools.product((0, 1), repeat=len(rates))
            if sum(hits) > number
        )
        assert exact <= more_than(number, math.fsum(rates))


def single(sigma: mp.mpf, q: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    """δ of one round of removal at any real ε, in closed form."""
    odds = (mp.exp(epsilon) - 1 + q) / q
    if odds <= 0:
        return 1 - mp.exp(epsilon)
    place = sigma**2 * mp.log(odds) + mp.mpf(1) / 2
    beyond = mp.ncdf(-place / sigma)
    return (1 - q) * beyond + q * mp.ncdf((1 - place) / sigma) - mp.exp(epsilon) * beyond


def twice(sigma: float, rate: float, epsilon: float) -> mp.mpf:
    """δ of two rounds: the one's closed form, averaged over the other's outcome."""
    with mp.workdps(30):
        s, q, e = mp.mpf(sigma), mp.mpf(rate), mp.mpf(epsilon)

        def integrand(x: mp.mpf) -> mp.mpf:
            loss = mp.log1p(q * mp.expm1((2 * x - 1) / (2 * s**2)))
            density = (1 - q) * mp.npdf(x, 0, s) + q * mp.npdf(x, 1, s)
            return density * single(s, q, e - loss)

        # Where the other's loss passes ε by some q the closed form turns within a few q.
        turns = [e + k * q for k in (-300, -30, -4, -1, 0, 1, 4, 30, 300)]
        turns = [s**2 * mp.log((mp.expm1(at) + q) / q) + mp.mpf(1) / 2 for at in turns if at > 0]
        steps = [*mp.linspace(-5 * s, 4 * s, 6), *turns]
        return mp.quad(integrand, sorted([-9 * s, *steps, 1 + 12 * s]), maxdegree=4)


def enclosed(parts: list, query, around: float) -> Bracket:
    found = large_losses.enclose(LossSum.of(parts), query, Bracket(0.0, around, "about"))
    assert found is not None
    return found


@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(0.7, 1e-6, 0.02), (1.1, 1e-4, 0.3)])
def test_two_rounds_are_enclosed(sigma: float, rate: float, epsilon: float) -> None:
    exact = twice(sigma, rate, epsilon)
    parts = [(PoissonRemove(sigma, rate), 2)]
    found = enclosed(parts, DeltaAt(epsilon, 1e-4), 1.3 * float(exact))
    assert found.lower <= exact <= found.upper <= found.lower * (1 + 1e-3)
    there = enclosed(parts, EpsilonAt(float(exact), 1e-4), 1.3 * epsilon)
    assert there.lower <= epsilon * (1 + 1e-13)
    assert epsilon * (1 - 1e-13) <= there.upper <= there.lower * (1 + 1e-3)


def one_way_only(_rounds: int, number: int, probability: float) -> float:
    return probability**number


def small_of_full_mass(one: DiscreteLoss, count: int, thresholds: list[float]) -> Parted:
    found = parted(one, count, thresholds)
    assert isinstance(found.small, DiscreteLoss)
    found.small.missing = one.missing
    return found


@pytest.mark.parametrize("mistake", ["one way only", "small of full mass", "a class lost"])
def test_planted_mistakes_are_seen(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sigma, rate, epsilon = 1.1, 1e-3, 5e-3
    exact = twice(sigma, rate, epsilon)
    changes: dict[str, Callable[[], None]] = {
        "one way only": lambda: monkeypatch.setattr(parted_laws, "_drawn", one_way_only),
        "small of full mass": lambda: monkeypatch.setattr(
            large_losses, "parted", small_of_full_mass
        ),
        "a class lost": lambda: monkeypatch.setattr(
            large_losses,
            "cases",
            lambda *given: (cases(*given)[0][:2], cases(*given)[1]),
        ),
    }
    parts, query = [(PoissonRemove(sigma, rate), 2)], DeltaAt(epsilon, 1e-4)
    total = LossSum.of(parts)
    setting = large_losses._first(query, Bracket(0.0, float(exact), ""))
    sums = large_losses._summed(total, setting)
    assert sums is not None
    assert sums.lower(epsilon) <= exact <= sums.upper(epsilon)
    changes[mistake]()
    sums = large_losses._summed(total, setting)
    assert sums is not None
    assert not sums.lower(epsilon) <= exact <= sums.upper(epsilon)


def settings(query: DeltaAt, exact: float) -> Iterator[Setting]:
    """Plans that nobody would make: cells, smoothing and what is left out as no sum tells."""
    first = large_losses._first(query, Bracket(0.0, exact, ""))
    at, epsilon = np.linspace(-1.0, 1.0, 257), query.at
    bends = [
        np.zeros(257),
        -np.ones(257),
        np.where(at > 0, 1e300, -1e300),
        np.full(257, 1e200),
        np.full(257, math.nan),
        np.full(257, math.inf),
        np.exp(-((at - epsilon) ** 2) / 1e-8),
        1.0 * (at < -0.5),
    ]
    for number, values in enumerate(bends):
        bend = Bend(0.0, at, values)
        yield replace(first, bend=bend, finer=(1.0, 3.0)[number % 2])
    good = Bend(0.0, at, np.exp(-((at - epsilon) ** 2) / 1e-2))
    for finer in (0.0, -4.0, 1e-6, math.nan):
        yield replace(first, bend=good, finer=finer)
    for smoothing in (1e-5, 0.3, 1e3):
        keys = [(), ((0, 0),), ((0, 1),), ((0, 0), (0, 0)), ((0, 0), (0, 1))]
        yield replace(first, smoothing=dict.fromkeys(keys, smoothing))
    for wide in (1e-5, 1e3):
        yield replace(first, open=wide)
    yield replace(first, tilt=1e4)
    yield replace(first, slope=1e9, bend=good)


@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(0.7, 1e-6, 0.02), (1.1, 1e-4, 0.3)])
def test_every_plan_encloses(sigma: float, rate: float, epsilon: float) -> None:
    exact = twice(sigma, rate, epsilon)
    total, made = LossSum.of([(PoissonRemove(sigma, rate), 2)]), 0
    for setting in settings(DeltaAt(epsilon, 1e-4), float(exact)):
        try:
            sums = large_losses._summed(total, setting)
        except NumericalFailure:
            continue
        if sums is not None:
            made += 1
            assert sums.lower(epsilon) <= exact <= sums.upper(epsilon), setting
    assert made >= 12


def test_different_rounds_share_a_line_and_keep_their_bits() -> None:
    """Cases that differ in which round is large stand on one contour; asked once, laws say the same."""
    parts = [(PoissonRemove(0.8 + 0.001 * k, 1e-3), 1) for k in range(3)]
    total = LossSum.of(parts)
    setting = large_losses._first(EpsilonAt(1e-6, 1e-3), Bracket(0.0, 0.09, ""))
    sums = large_losses._summed(total, setting)
    assert sums is not None
    alone = [term for term in sums.terms if term.case.many == 1]
    lines = {(term.contour.c, term.contour.period) for term in alone}
    assert len(lines) < len(alone)
    for term in alone:
        again = contour_sum(
            term.case.rounds,
            term.contour,
            smoothing=term.upper.smoothing,
            most_nodes=2**17,
            negligible=1e-4,
        )
        few = min(len(again.values), len(term.upper.values))
        np.testing.assert_allclose(
            again.values[:few], term.upper.values[:few], rtol=1e-9, atol=1e-13
        )
        assert again.log_scale == term.upper.log_scale


def test_parts_are_off_by_what_they_say() -> None:
    """Mass that sits at the wrong end of a cell, against what part and class allow for it."""
    losses = np.linspace(-0.2, 2.0, 23)
    masses = np.exp(-3 * losses)
    masses *= 0.8 / masses.sum()
    cells = np.append(masses[:-1], 0.0)  # as if a cell's mass were that of its left end
    width = losses[1] - losses[0]
    blur = np.append(cells[:-1], 0.0) * width + np.append(0.0, cells[:-1]) * width
    shift = 1e-6
    one = DiscreteLoss(losses, masses, mass_error=shift, blur=blur)
    whole = parted(one, 1, [0.5, 1.2])
    rng = np.random.default_rng(3)
    moved = np.zeros(23)
    for k, sign in enumerate(rng.choice([-1.0, 1.0], 22)):
        moved[k] += sign * shift * cells[k]
        moved[k + 1] -= sign * shift * cells[k]
    first = whole.large[0]
    held = (losses > 0.5) & (losses <= 1.2)
    change = moved * held
    assert abs(change.sum()) <= first.error * first.probability
    assert abs(change.sum()) > 0.01 * first.error * first.probability
    for z in (0.5, 3.0, 1 + 20j, 5 + 300j):
        lost = abs((change * np.exp(z * losses)).sum() / first.probability)
        size = np.abs(first.law.losses) * first.law.masses + first.law.blur
        grown = np.maximum(np.exp(z.real * first.law.losses), 1.0)
        known = abs(z) * first.law.mass_error * float((size * grown).sum())
        assert lost <= known + first.error


RARE = [
    ([(PoissonReplace(0.556, 5.5e-8), 286_390)], 4.8e-22, 1.51),
    ([(WithoutReplacement(1.66, 2.7e-6), 16)], 4.7e-8, 1e-3),
    ([(PoissonAdd(0.9, 1e-3), 300), (PoissonRemove(0.8, 1e-7), 10**5)], 1e-14, 0.127),
]


@pytest.mark.parametrize(("parts", "delta", "near"), RARE)
def test_lattices_agree(parts: list, delta: float, near: float) -> None:
    """Convolution on lattices has the cells in common, and nothing of what follows."""
    total = LossSum.of(parts)
    other = lattice_sum.enclose(total, EpsilonAt(delta, 0.3), None)
    assert other is not None
    found = enclosed(parts, EpsilonAt(delta, 1e-4), other.upper)
    assert found.relative_width < 5e-4
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)
    assert near / 2 < found.upper < 2 * near


@pytest.mark.parametrize("far", [1.2, 2.5, 40.0])
@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(0.7, 1e-6, 0.02), (1.1, 1e-4, 0.3)])
def test_the_answer_is_located_from_far_off(
    sigma: float, rate: float, epsilon: float, far: float
) -> None:
    """Whatever is found from a bound many times too high holds, and is no wider than the bound."""
    exact = twice(sigma, rate, epsilon)
    total = LossSum.of([(PoissonRemove(sigma, rate), 2)])
    start = Bracket(0.0, far * epsilon, "about")
    located = large_losses.locate(total, EpsilonAt(float(exact), 1e-6), start)
    assert located is not None
    found = located.found
    assert found.lower <= epsilon <= found.upper
    assert found.upper <= start.upper
    assert found.relative_width <= large_losses.FAR_OFF or far > 1.2
    located = large_losses.locate(
        total, DeltaAt(epsilon, 1e-6), Bracket(0.0, far * float(exact), "about")
    )
    assert located is not None
    there = located.found
    assert there.lower <= exact <= there.upper
    assert there.relative_width <= large_losses.FAR_OFF


def test_light_cases_are_smoothed_more_and_the_sum_stays_narrow() -> None:
    """A case that adds next to nothing needs few nodes; what it adds is still in both ends."""
    sigma, rate, epsilon = 0.5, 1e-6, 0.02
    exact = twice(sigma, rate, epsilon)
    total = LossSum.of([(PoissonRemove(sigma, rate), 2)])
    known = Bracket(0.0, float(exact), "")
    setting = large_losses._first(DeltaAt(epsilon, 1e-6), known)
    sums = large_losses._summed(total, setting)
    assert sums is not None
    assert sums.lower(epsilon) <= exact <= sums.upper(epsilon)
    heavy = max(sums.terms, key=lambda term: term.high(epsilon))
    light = [term for term in sums.terms if term.high(epsilon) < 1e-4 * heavy.high(epsilon)]
    assert light
    for term in light:
        assert term.smoothed(epsilon) < setting.open * heavy.high(epsilon)
        relative = term.upper.smoothing * term.contour.c
        assert relative > 10 * heavy.upper.smoothing * heavy.contour.c


def test_where_large_losses_are_common_nothing_is_said() -> None:
    total = LossSum.of([(PoissonRemove(0.5, 0.3), 1000)])
    assert large_losses.enclose(total, DeltaAt(1.0, 1e-6), Bracket(0.9, 1.0, "")) is None
    assert large_losses.enclose(total, DeltaAt(0.0, 1e-6), Bracket(0.0, 1.0, "")) is None
    assert large_losses.enclose(total, EpsilonAt(1e-6, 1e-6), None) is None
    assert large_losses.locate(total, DeltaAt(1.0, 1e-6), Bracket(0.9, 1.0, "")) is None
    assert large_losses.locate(total, DeltaAt(0.0, 1e-6), Bracket(0.0, 1.0, "")) is None
    assert large_losses.locate(total, EpsilonAt(1e-6, 1e-6), None) is None


def test_where_next_to_nothing_is_left_the_enclosure_still_holds() -> None:
    """δ of 1e-310 and below, where products of weights and integrals are no longer full doubles."""
    parts = [(PoissonRemove(0.05, 1e-9), 3)]
    known = Bracket(0.0, 1e-290, "about")
    found = large_losses.enclose(LossSum.of(parts), DeltaAt(850.0, 1e-3), known)
    assert found is None or found.lower <= found.upper


def test_an_epsilon_of_zero_is_found() -> None:
    """δ(0) is at most that of all batches that hold the record, 1.03e-5 < δ."""
    rate, rounds, mu = 9.7e-8, 208, 1.377
    assert rounds * rate * math.erf(mu / math.sqrt(8)) < 1.1e-5
    found = bracket_epsilon([(WithoutReplacement(mu, rate), rounds)], 1.7e-5)
    assert found.lower == found.upper == 0
