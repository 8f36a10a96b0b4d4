"""Losses as good as certain shift those of the other rounds."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.composition.certain_losses import take_certain
from dpcalc.accounting.composition.driver import enclosed
from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.composition.query import EpsilonAt
from dpcalc.accounting.losses import (
    DiscreteLoss,
    GaussianLoss,
    LaplaceLoss,
    RandomisedResponseLoss,
)
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove


def laplace_twice(epsilon: mp.mpf, at: mp.mpf) -> mp.mpf:
    """δ of two Laplace rounds at any real ε: atoms at ±ε and a density in between, convolved."""
    e = mp.mpf(epsilon)

    def single(x: mp.mpf) -> mp.mpf:
        """δ of one round: the mean of (1 - e^{x - L})₊."""
        if x >= e:
            return mp.mpf(0)
        if x <= -e:
            return 1 - mp.exp(x)
        return 1 - mp.exp((x - e) / 2)

    # L is e with probability 1/2, -e with e^{-e}/2, and has the density e^{-(e - l)/2}/4 between.
    ends = (single(at - e) + mp.exp(-e) * single(at + e)) / 2
    kinks = sorted({-e, e, *[k for k in (at - e, at + e) if -e < k < e]})
    return ends + mp.quad(lambda x: mp.exp((x - e) / 2) / 4 * single(at - x), kinks)


CERTAIN = [
    ((RandomisedResponseLoss.of({60.0: 1000}), 1), 60_000.0),
    ((RandomisedResponseLoss.of({89.5: 1}), 10**6), 89.5e6),
]


@pytest.mark.parametrize(("part", "shift"), CERTAIN)
@pytest.mark.parametrize("beyond", [0.4, -0.3])
def test_responses_shift_the_rest(part: tuple, shift: float, beyond: float) -> None:
    parts = [part, (LaplaceLoss(0.7, 0.7), 2)]
    exact = laplace_twice(mp.mpf(0.7), mp.mpf(beyond))
    found = bracket_delta(parts, shift + beyond)
    assert found.lower <= float(exact) * (1 + 1e-6)
    assert found.upper >= float(exact) * (1 - 1e-6)
    if beyond >= 0:
        assert found.upper <= found.lower * (1 + 1e-4)
        there = bracket_epsilon(parts, float(exact))
        assert abs(there.upper - shift - beyond) <= 1e-6 + 1e-12 * shift
        assert there.lower <= (shift + beyond) * (1 + 1e-12)


def test_a_large_delta_is_met_below_the_shift() -> None:
    """Next to certain responses alone δ(ε) is 1 - e^{ε - shift}."""
    parts = [(RandomisedResponseLoss.of({60.0: 10}), 1), (PoissonRemove(1.0, 1e-9), 3)]
    found = bracket_epsilon(parts, 0.25)
    exact = 600 + float(mp.log1p(-0.25))
    assert found.lower <= exact <= found.upper <= 600 * (1 + 1e-12)


def test_added_records_with_next_to_no_noise_leave_the_same_trace() -> None:
    """-ln(1-q) in every round but one in 10^20."""
    q, rounds = 0.3, 5
    parts = [(PoissonAdd(0.05, q), rounds), (LaplaceLoss(0.7, 0.7), 2)]
    shift = -rounds * mp.log1p(-mp.mpf(q))
    at = float(shift) + 0.4
    exact = laplace_twice(mp.mpf(0.7), mp.mpf(at) - shift)
    found = bracket_delta(parts, at)
    assert found.lower <= float(exact) * (1 + 1e-8)
    assert float(exact) * (1 - 1e-12) <= found.upper <= float(exact) * (1 + 1e-4)


@pytest.mark.parametrize(
    "parts",
    [
        [(RandomisedResponseLoss.of({60.0: 1000}), 1)],  # nothing would be left
        [(RandomisedResponseLoss.of({20.0: 1000}), 1), (LaplaceLoss(1.0, 1.0), 1)],  # 2e-6
        [(PoissonAdd(0.5, 0.3), 5), (LaplaceLoss(1.0, 1.0), 1)],
        [(PoissonAdd(0.01, 1.0), 5), (LaplaceLoss(1.0, 1.0), 1)],
    ],
)
def test_what_is_not_certain_stays(parts: list) -> None:
    assert take_certain(LossSum.of(parts)) is None


def test_parts_are_told_apart() -> None:
    parts = [(RandomisedResponseLoss.of({60.0: 3, 1.0: 5}), 1), (LaplaceLoss(1.0, 1.0), 1)]
    found = take_certain(LossSum.of(parts))
    assert found is not None
    assert 180 * (1 - 1e-13) <= found.low <= 180 <= found.high <= 180 * (1 + 1e-13)
    assert found.lost >= 3 * float(mp.exp(-60)) / (1 + float(mp.exp(-60)))
    assert found.rest.parts[0] == (RandomisedResponseLoss.of({1.0: 5}), 1)


def test_thousands_of_different_responses_add_up() -> None:
    """Added one after the other, each of the small ones would lose nearly half a unit."""
    unit = 2.0**-16  # in the last place of the largest
    responses = [2.0**36] + [64 + unit * (0.49 - 1e-6 * k) for k in range(3000)]
    part = (RandomisedResponseLoss.of(dict.fromkeys(responses, 1)), 1)
    found = take_certain(LossSum.of([part, (LaplaceLoss(1.0, 1.0), 1)]))
    assert found is not None
    assert Fraction(found.low) <= sum(map(Fraction, responses)) <= Fraction(found.high)


@pytest.mark.parametrize("kinds", [3, 7])
def test_many_kinds_of_certain_rounds_are_taken_together(kinds: int) -> None:
    """Each is allowed its share of what may fail."""
    adding: list = [(PoissonAdd(0.01, 0.1 * (k + 1)), 10) for k in range(kinds)]
    found = take_certain(LossSum.of([*adding, (LaplaceLoss(0.7, 0.7), 2)]))
    assert found is not None
    assert found.rest == LossSum.of([(LaplaceLoss(0.7, 0.7), 2)])
    exact = -10 * mp.fsum(mp.log1p(-mp.mpf(loss.rate)) for loss, _ in adding)
    assert found.low <= exact <= found.high <= found.low * (1 + 1e-8)
    assert found.lost <= 1e-8


@pytest.mark.parametrize("seed", range(12))
def test_random_sums_are_enclosed(seed: int) -> None:
    """Responses of which at most one ever fails, next to a few outcomes, summed with fifty digits."""
    rng = np.random.default_rng(seed)
    size, responses = int(rng.integers(2, 5)), int(10 ** rng.uniform(0, 6))
    strength, delta = float(rng.uniform(35, 90)), float(10 ** rng.uniform(-9, -0.1))
    masses, losses = rng.dirichlet(np.ones(size)) * (1 - 1e-6), 2 * rng.normal(size=size)
    losses += math.log(float(masses @ np.exp(-losses))) + 1e-6  # E e^{-L} is at most one
    others = DiscreteLoss(losses, masses, infinite_mass=5e-7)
    parts = [(RandomisedResponseLoss.of({strength: responses}), 1), (others, 1)]
    assert take_certain(LossSum.of(parts)) is not None
    with mp.workdps(50):
        failed = 1 / (1 + mp.exp(mp.mpf(strength)))
        atoms = [(mp.mpf(float(x)), mp.mpf(float(m))) for x, m in zip(losses, masses, strict=True)]
        atoms.append((mp.mpf(0), 1 - mp.mpf(5e-7) - mp.fsum(m for _, m in atoms)))
        sums = [
            (loss + (responses - 2 * k) * mp.mpf(strength), mass * chance)
            for loss, mass in atoms
            for k, chance in (
                (0, (1 - failed) ** responses),
                (1, responses * failed * (1 - failed) ** (responses - 1)),
            )
        ]

        def exact(epsilon: float) -> mp.mpf:
            gains = [m * (1 - mp.exp(epsilon - s)) for s, m in sums if s > epsilon]
            return mp.mpf(5e-7) + mp.fsum(gains)

        twice = (responses * failed) ** 2  # more than one fails
        for epsilon in responses * strength + rng.normal(size=3) * (1, 1e-3, 10):
            at = max(float(epsilon), 0.0)
            found = bracket_delta(parts, at)
            assert found.lower <= exact(at) + twice
            assert exact(at) <= found.upper
        there = bracket_epsilon(parts, delta)
        if there.upper < math.inf:
            assert exact(there.upper) <= delta
            assert exact(there.lower * (1 - 1e-15)) + twice >= delta
        else:
            assert delta <= 5e-7


def test_responses_that_hardly_ever_fail_leave_no_enclosure_empty() -> None:
    """One of 800 million fails with probability 10⁻³: likely losses, if not certain ones."""
    responses = RandomisedResponseLoss.of({27.28: 824_909_915, 2.02: 2_080_152})
    found = bracket_epsilon([(responses, 1), (GaussianLoss(11.6), 1)], 6.9e-12)
    failed = math.exp(-27.28) * 824_909_915
    assert 1e-4 < failed < 1e-2
    assert found.relative_width < 1e-5
    middle = 27.28 * 824_909_915 + 2.02 * math.tanh(1.01) * 2_080_152 + 11.6**2 / 2
    assert found.lower == pytest.approx(middle, abs=8 * math.sqrt(2_080_152 * 2 + 11.6**2))


@pytest.mark.parametrize(("rounds", "each"), [(2000, 6.0), (20_000, 9.9), (100_000, 9.0)])
@pytest.mark.parametrize("delta", [1e-3, 1e-12])
def test_a_few_other_answers_among_many(rounds: int, each: float, delta: float) -> None:
    """Their number's law next to the Gaussian profile, with fifty digits; none may be forgotten."""
    total = LossSum.of([(RandomisedResponseLoss.of({each: rounds}), 1), (GaussianLoss(1.0), 1)])
    assert take_certain(total) is None
    likely = take_certain(total, 0.3)
    assert likely is not None
    found = likely.enclose(EpsilonAt(delta, 1e-6), enclosed)
    assert found.upper - found.lower <= 0.02 * rounds * each + 30

    def exact(epsilon: float) -> mp.mpf:
        rare, summed = 1 / (1 + mp.exp(mp.mpf(each))), mp.mpf(0)
        for k in range(120):
            weight = mp.binomial(rounds, k) * rare**k * (1 - rare) ** (rounds - k)
            rest = mp.mpf(epsilon) - (rounds - 2 * k) * mp.mpf(each)
            profile = mp.ncdf(0.5 - rest) - mp.exp(rest) * mp.ncdf(-0.5 - rest)
            summed += weight * profile
        return summed

    with mp.workdps(50):
        assert exact(found.upper) <= delta <= exact(found.lower)
