"""Compositions with few outcomes are summed exactly: against all outcomes with sixty digits."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from mpmath import expm1, fdot, fprod, fsum, mpf, workdps

from dpcalc.accounting.composition import outcomes
from dpcalc.accounting.losses import DiscreteLoss
from dpcalc.guarantees import ApproxDP, compose
from tests.oracles.failing_responses import failing_responses

CASES = [
    [(1.0, 0.1, 1), (2.0, 0.2, 1)],
    [(0.1, 1e-8, 100)],
    [(0.3, 1e-6, 20), (0.05, 1e-9, 30)],
    [(2.0, 0.0, 3), (1e-3, 1e-12, 400)],
]


def enclosed(rounds: list[tuple[float, float, int]], epsilon: float) -> tuple[bool, float]:
    total = compose(*[(ApproxDP(e, failure), n) for e, failure, n in rounds])
    found = total.delta_bracket(epsilon)
    truth = failing_responses(rounds, epsilon)
    return mpf(found.lower) <= truth <= mpf(found.upper), found.relative_width


@pytest.mark.parametrize("rounds", CASES)
@pytest.mark.parametrize("share", [0.0, 0.2, 0.6, 0.999])
def test_the_truth_is_enclosed_to_twelve_digits(rounds, share: float) -> None:
    sound, width = enclosed(rounds, share * sum(e * n for e, _, n in rounds))
    assert sound
    assert width < 1e-11


def test_a_sum_of_failures_is_exact() -> None:
    found = compose(ApproxDP(1, 0.1), ApproxDP(2, 0.2)).delta_bracket(3.0)
    assert found.lower <= 0.28 <= found.upper
    assert found.upper - found.lower < 1e-14


def test_a_forgotten_outcome_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = outcomes._together

    def forgetful(atoms, weights, count, most):
        found = honest(atoms, weights, count, most)
        return None if found is None else (found[0], found[1] * (found[1] < found[1].max()))

    monkeypatch.setattr(outcomes, "_together", forgetful)
    assert not enclosed(CASES[0], 0.5)[0]


def test_probabilities_near_underflow_keep_their_digits() -> None:
    total = compose((ApproxDP(1.7, 1e-300), 900))
    found = total.delta_bracket(1500.0)
    truth = failing_responses([(1.7, 1e-300, 900)], 1500.0)
    assert mpf(found.lower) <= truth <= mpf(found.upper)
    assert math.isfinite(found.upper)


@pytest.mark.parametrize(
    ("masses", "losses", "rounds"),
    [
        ([0.5, 0.25, 0.25], [0.4, -0.3, -0.6], 20),
        ([0.5, 1e-9, 0.5 - 1e-9], [0.01, 3.0, -0.0101], 64),
        ([0.45, 0.3, 0.15, 0.1], [1.3, 0.2, -1.5, -2.0], 11),
        ([1e-290, 0.5, 0.25, 0.125, 0.125], [9.0, 0.1, -0.1, -0.2, -0.3], 5),
    ],
)
def test_equal_rounds_of_several_outcomes(
    masses: list[float], losses: list[float], rounds: int
) -> None:
    """By how often each happens: as many orders as the multinomial coefficient says."""
    law = DiscreteLoss(np.array(losses), np.array(masses))
    with workdps(60):
        sums = []
        for drawn in combinations_with_replacement(range(len(masses)), rounds):
            number = [drawn.count(k) for k in range(len(masses))]
            orders = math.factorial(rounds) // math.prod(map(math.factorial, number))
            mass = orders * fprod(mpf(m) ** n for m, n in zip(masses, number, strict=True))
            sums.append((fdot(number, losses), mass))
        few = outcomes.outcomes([(law, rounds)])
        assert few is not None
        assert len(few.losses) == len(sums)
        for share in (0.0, 0.1, 0.5, 0.99):
            epsilon = share * rounds * max(losses)
            truth = fsum(-expm1(epsilon - x) * mass for x, mass in sums if x > epsilon)
            low, high = few.delta(epsilon)
            assert low <= truth <= high
            assert high < truth * (1 + mpf("1e-10")) + mpf("1e-299")


@pytest.mark.parametrize(("kinds", "rounds"), [(2, 1001), (2, 10**9), (3, 446), (17, 5)])
def test_many_outcomes_are_not_summed(kinds: int, rounds: int) -> None:
    law = DiscreteLoss(np.linspace(-0.5, 0.4, kinds), np.full(kinds, 1 / kinds))
    assert outcomes.outcomes([(law, rounds)]) is None
