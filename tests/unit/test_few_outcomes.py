"""Compositions with few outcomes are summed exactly: against all outcomes with sixty digits."""

from __future__ import annotations

import math

import pytest
from mpmath import mpf

from dpcalc.accounting.composition import outcomes
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
