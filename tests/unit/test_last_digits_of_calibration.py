"""Calibration ends at the last digits that the enclosure supports."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest

from dpcalc.accounting.enclosure import (
    TOLERANCE,
    Bracket,
    find_root,
    left_open,
    relative_width,
    with_relative_width,
)
from dpcalc.calibration import smallest_noise
from dpcalc.claims import solve
from dpcalc.guarantees import GDP
from dpcalc.theorems.catalogue import privacy_result

EPSILON, DELTA = 0.2, 1e-5


def _tail(x: Any) -> Any:
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def _sampled_gaussian(sigma: Any, rate: Any) -> Any:
    """δ(0.2) when the record is removed, N(1, σ²) with probability ``rate`` against N(0, σ²)."""
    level = mpmath.exp(EPSILON)
    place = mpmath.mpf("0.5") + sigma**2 * mpmath.log((level - 1 + rate) / rate)
    return (1 - rate - level) * _tail(place / sigma) + rate * _tail((place - 1) / sigma)


@pytest.mark.parametrize("field", ["noise_multiplier", "rate"])
def test_one_sampled_round_is_solved_to_ten_digits(field: str) -> None:
    """Against the exact law in forty digits; both directions, of which removal costs more."""
    given = {"noise_multiplier": 1.0, "rate": 0.01}
    start = given.pop(field)
    table = {"mechanism": "poisson-subsampled-gaussian", "adjacency": "add-remove", **given}
    found = solve.solve(table, 1, EPSILON, DELTA)
    with mpmath.workdps(40):

        def excess(x: Any) -> Any:
            rate = mpmath.mpf(0.01) if field == "noise_multiplier" else x
            sigma = x if field == "noise_multiplier" else mpmath.mpf(1)
            return _sampled_gaussian(sigma, rate) / mpmath.mpf(DELTA) - 1

        exact = mpmath.findroot(excess, start)
        spare = (found.value - exact) / exact * (1 if field == "noise_multiplier" else -1)
    # ε is enclosed to 1e-11 here, which is worth at most four times as much of the field.
    assert 0 <= spare <= 1e-10


@pytest.mark.parametrize(("width", "reached"), [(0.0, 1e-12), (1e-9, 2e-9), (1e-6, TOLERANCE)])
def test_the_search_ends_where_the_enclosures_do(width: float, reached: float) -> None:
    """Twice their width where they are narrower than was asked for, but no less than the last digits."""
    found = find_root(
        lambda x: 1 - x, 0.5, tolerance=TOLERANCE, least=-9, most=9, width_at=lambda _: width
    )
    assert found.low < 1.0 <= found.high <= found.low + reached


def test_what_an_enclosure_leaves_open() -> None:
    class Answer:
        def bracket(self, delta: float) -> Bracket:
            assert delta == DELTA
            return Bracket(0.75, 1.0, "given")

    assert left_open(Answer(), DELTA) == 0.25
    assert left_open(GDP(1.0), DELTA) == relative_width()  # nothing is known of it
    with with_relative_width(0.5):
        assert left_open(GDP(1.0), DELTA) == 0.5


def test_a_caller_who_asks_for_wide_enclosures_is_given_fewer_digits() -> None:
    asked: list[float] = []

    def height(x: float) -> float:
        asked.append(relative_width())
        return 1.0 - x + 1e-4 * math.sin(1e6 * x)

    with with_relative_width(1e-3):
        found = find_root(height, 0.5, tolerance=TOLERANCE, least=-9, most=9)
    assert found.high - found.low <= 1e-4
    assert set(asked) == {1e-3}
    assert len(asked) <= 9


CASES = [
    ("private-dual-averaging", {}, 0.5, 1e-6),
    (
        "private-dual-averaging",
        {"sampling": "random-batch", "batch_size": 100, "rounds": 2000},
        1,
        1e-6,
    ),
    ("noisy-sgd", {"steps": 100}, 1, 1e-5),
    ("noisy-sgd-constrained", {}, 1, 1e-5),
    ("noisy-sgd-constrained-tradeoff", {"steps": 10_000}, 4, 1e-7),
    ("gaussian-objective-perturbation", {}, 1, 1e-5),
    ("penalty-perturbation", {"penalty": 1, "noise_rate": 1}, 3, 1e-5),
    ("recycled-admm", {}, 1, 1e-5),
    ("admm-iteration-all-users", {}, 1, 1e-5),
]


@pytest.mark.parametrize(("key", "change", "epsilon", "delta"), CASES)
def test_less_noise_by_half_a_millionth_exceeds_the_budget(
    key: str, change: dict[str, Any], epsilon: float, delta: float
) -> None:
    """Of every theorem whose bound is a numerical composition; most ended at five digits."""
    kind = privacy_result(key)
    found = smallest_noise(kind.from_parameters({**kind.example, **change}), epsilon, delta)
    less = 1 - 5e-7 if not found.noise_is_a_rate else 1 + 5e-7
    quieter = found.with_noise_level(found.noise_level() * less)
    assert found.certified().guarantee.epsilon(delta) <= epsilon
    assert quieter.certified().guarantee.epsilon(delta) > epsilon


def test_no_question_changes_the_answer_to_another() -> None:
    kind = privacy_result("noisy-sgd-constrained")
    start = kind.from_parameters(kind.example)
    first = [smallest_noise(start, epsilon, 1e-5).noise_level() for epsilon in (1.0, 1.01, 2.0)]
    again = [smallest_noise(start, epsilon, 1e-5).noise_level() for epsilon in (2.0, 1.01, 1.0)]
    assert first == again[::-1]
