"""The best allocation of shifts, against random ones, rational arithmetic and an optimiser."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcalc.accounting.iteration import NoisyContraction, Participation, optimal_shifts
from dpcalc.numerics.precise import mpf


@st.composite
def chains(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    steps = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    jumps = rng.uniform(0, 2, steps) * (rng.random(steps) < 0.6)
    return jumps, rng.uniform(0.2, 1, steps), 10 ** rng.uniform(-1, 1, steps)


def _cost(shifts: NDArray[np.float64], noises: NDArray[np.float64]) -> float:
    return float(np.sum((shifts / noises) ** 2))


@given(chains())
def test_no_random_allocation_is_cheaper(
    chain: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
) -> None:
    jumps, contractions, noises = chain
    best = optimal_shifts(jumps, contractions, noises)
    rng = np.random.default_rng(3)
    distance = 0.0
    for t, (c, jump) in enumerate(zip(contractions, jumps, strict=True)):
        distance = c * distance + jump - best.shifts[0, t]
        assert distance >= -1e-12
    assert distance == pytest.approx(0, abs=1e-12)
    assert _cost(best.shifts[0], noises) == pytest.approx(best.mu[0] ** 2, rel=1e-9, abs=1e-300)
    for _ in range(50):
        distance, shifts = 0.0, []
        for t, (c, jump) in enumerate(zip(contractions, jumps, strict=True)):
            share = 1.0 if t == len(jumps) - 1 else rng.beta(0.5, 1)
            shifts.append(share * (c * distance + jump))
            distance = (1 - share) * (c * distance + jump)
        assert _cost(np.array(shifts), noises) >= best.mu[0] ** 2 * (1 - 1e-9)


def _exact_mu_squared(
    jumps: NDArray[np.float64], contractions: NDArray[np.float64], noises: NDArray[np.float64]
) -> Fraction:
    """The least cost in rationals: slopes of the minorant as largest of least averages."""
    steps, carry = len(jumps), [Fraction(1)]
    for c in contractions[:0:-1]:
        carry.insert(0, carry[0] * Fraction(c))
    rises = [Fraction(s) * w for s, w in zip(jumps, carry, strict=True)]
    weights = [(Fraction(o) * w) ** 2 for o, w in zip(noises, carry, strict=True)]
    heights = [sum(rises[:t], Fraction(0)) for t in range(steps + 1)]
    widths = [sum(weights[:t], Fraction(0)) for t in range(steps + 1)]
    total = Fraction(0)
    for t in range(steps):
        slope = max(
            min(
                (heights[j] - heights[i]) / (widths[j] - widths[i]) for j in range(t + 1, steps + 1)
            )
            for i in range(t + 1)
        )
        total += slope**2 * weights[t]
    return total


@pytest.mark.parametrize("seed", range(80))
def test_no_rounding_puts_the_bound_below_the_cheapest_allocation(seed: int) -> None:
    """Rational arithmetic; jumps and noises also differ by more than a double's digits."""
    rng = np.random.default_rng(seed)
    steps, wide = int(rng.integers(1, 8)), seed % 2 * 8
    jumps = 10 ** rng.uniform(-2 * wide - 1, 0, steps) * (rng.random(steps) < 0.8)
    noises = 10 ** rng.uniform(-2 * wide - 1, 0, steps)
    contractions = rng.uniform(0.3, 1, steps)
    found = Fraction(float(optimal_shifts(jumps, contractions, noises).mu[0]))
    exact = _exact_mu_squared(jumps, contractions, noises)
    assert found**2 >= exact
    if not wide:
        assert found**2 <= exact * (1 + Fraction(1, 10**11))


def test_a_quiet_last_step_sees_a_jump_below_the_digits_of_the_others() -> None:
    """1 and 1 + 1e-17 are one double, but the jump of 1e-17 under a noise of 1e-20 costs 1e6."""
    jumps, noises = np.array([1.0, 1e-17]), np.array([1.0, 1e-20])
    found = Fraction(float(optimal_shifts(jumps, 1.0, noises).mu[0]))
    assert found**2 >= _exact_mu_squared(jumps, np.ones(2), noises) > 10**6 - 1


def test_a_general_purpose_optimiser_finds_the_same_allocation() -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(11)
    for _ in range(12):
        steps = int(rng.integers(2, 8))
        jumps = rng.uniform(0, 1, steps) * (rng.random(steps) < 0.7)
        jumps[0] += 0.5
        contractions, noises = rng.uniform(0.5, 1, steps), rng.uniform(0.5, 2, steps)
        carry = np.append(np.cumprod(contractions[:0:-1])[::-1], 1.0)
        found = minimize(
            lambda b: float(np.sum((b / (carry * noises)) ** 2)),  # noqa: B023
            jumps * carry,
            constraints=[
                {"type": "ineq", "fun": lambda b: np.cumsum(jumps * carry - b)[:-1]},  # noqa: B023
                {"type": "eq", "fun": lambda b: np.sum(jumps * carry - b)},  # noqa: B023
            ],
            options={"maxiter": 500, "ftol": 1e-14},
        )
        assert found.success
        best = optimal_shifts(jumps, contractions, noises).mu[0] ** 2
        assert best == pytest.approx(found.fun, rel=1e-6)


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(0, 3),
    st.integers(1, 6),
    st.sampled_from([1.0, 0.999, 0.7, 0.05, 0.0]),
    st.sampled_from([0.0, 0.3, 5.0]),
)
def test_regular_uses_agree_with_any_chain(
    count: int, gap: int, tail: int, lead: int, last_gap: int, c: float, start: float
) -> None:
    """Two ways to the same number: four points in sixty digits, all points in doubles."""
    participation = Participation(count, gap, tail, lead, last_gap)
    jumps = np.zeros(participation.steps)
    for use in range(1, count + 1):
        jumps[participation.steps_until(use)] += 0.7
    closed = float(NoisyContraction(mpf(c), mpf(0.7), mpf(1.3)).mu(participation, mpf(start)))
    general = optimal_shifts(jumps, c, 1.3, start).mu[0]
    assert closed <= general <= closed * (1 + 1e-11) + 1e-150
