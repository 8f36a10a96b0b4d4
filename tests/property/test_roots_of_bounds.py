"""Where searches for the least noise end: never above the budget, next to where it is exceeded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dpcalc.accounting.enclosure import TOLERANCE, find_root
from dpcalc.calibration import smallest_noise
from dpcalc.claims import solve
from dpcalc.claims.mechanisms import guarantee_from
from dpcalc.claims.solution import RANGES
from dpcalc.guarantees.composition import compose
from dpcalc.numerics.root import refine_root
from dpcalc.theorems.catalogue import privacy_result
from tests.unit.counted_functions import Counted

HALF_A_MILLIONTH = 5e-7

Height = Callable[[float], float]


@st.composite
def smooth(draw: st.DrawFn) -> tuple[Height, float]:
    """A decreasing function with its root, about as bent as ln ε over the logarithm of the noise."""
    root, slope = draw(st.floats(-5, 5)), draw(st.floats(0.5, 20))
    bend = draw(st.floats(-0.3, 0.3))
    return lambda x: slope * (-math.expm1(bend * (x - root)) / bend if bend else root - x), root


@given(smooth(), st.floats(-1e-3, 1e-3), st.floats(0.98, 1.02))
def test_a_smooth_function_takes_five_evaluations(
    case: tuple[Height, float], off: float, wrong: float
) -> None:
    plain, root = case
    height = Counted(plain)
    slope = wrong * (plain(root - 1e-4) - plain(root + 1e-4)) / 2e-4
    found = refine_root(height, root + off, tolerance=TOLERANCE, slope=slope)
    assert plain(found.low) > 0 >= plain(found.high)
    assert 0 < found.high - found.low <= TOLERANCE
    assert len(height.asked) <= 5


@given(
    smooth(),
    st.floats(-1e-3, 1e-3),
    st.floats(1e-9, 1e-3),
    st.integers(0, 2**32 - 1),
    st.floats(0.1, 10),
)
def test_a_function_that_jumps_is_bracketed_too(
    case: tuple[Height, float], off: float, jump: float, seed: int, wrong: float
) -> None:
    """Upper ends go up and down by what their cells are worth, from one place to the next."""
    plain, root = case

    def jumping(x: float) -> float:
        return plain(x) + jump * math.sin(1e9 * x + seed)

    height = Counted(jumping)
    found = refine_root(height, root + off, tolerance=TOLERANCE, slope=wrong, least=-9, most=9)
    assert jumping(found.low) > 0 >= jumping(found.high)
    assert 0 < found.high - found.low <= TOLERANCE
    assert len(height.asked) <= 60
    again = find_root(jumping, root + 1, tolerance=TOLERANCE, least=-9, most=9)
    assert jumping(again.low) > 0 >= jumping(again.high)
    assert 0 < again.high - again.low <= TOLERANCE


THEOREMS: list[tuple[str, dict[str, Any], bool]] = [
    ("noisy-sgd-constrained", {"steps": 1000}, False),
    ("gaussian-objective-perturbation", {}, False),
    ("recycled-admm", {}, True),
    (
        "private-dual-averaging",
        {"sampling": "random-batch", "batch_size": 100, "rounds": 50},
        False,
    ),
]


@settings(max_examples=12)
@given(st.sampled_from(THEOREMS), st.floats(-0.7, 0.7), st.floats(-8, -4))
def test_the_least_noise_of_a_theorem(
    asked: tuple[str, dict[str, Any], bool], of_epsilon: float, of_delta: float
) -> None:
    key, change, rate = asked
    kind, epsilon, delta = privacy_result(key), 10.0**of_epsilon, 10.0**of_delta
    start = kind.from_parameters({**kind.example, **change})
    found = smallest_noise(start, epsilon, delta)
    less = HALF_A_MILLIONTH if rate else -HALF_A_MILLIONTH
    quieter = found.with_noise_level(found.noise_level() * (1 + less))
    assert found.certified().guarantee.epsilon(delta) <= epsilon
    assert quieter.certified().guarantee.epsilon(delta) > epsilon


@settings(max_examples=12)
@given(
    st.floats(-3, -1),
    st.integers(1, 10_000),
    st.floats(-0.7, 0.7),
    st.floats(-9, -4),
    st.booleans(),
)
def test_the_least_noise_and_the_largest_rate_of_a_mechanism(
    of_rate: float, rounds: int, of_epsilon: float, of_delta: float, noise: bool
) -> None:
    epsilon, delta = 10.0**of_epsilon, 10.0**of_delta
    table: dict[str, Any] = {"mechanism": "poisson-subsampled-gaussian", "adjacency": "add-remove"}
    table |= {"rate": 10.0**of_rate} if noise else {"noise_multiplier": 2.0}
    found = solve.solve(table, rounds, epsilon, delta)
    assert found.guarantee.epsilon(delta) <= epsilon
    if found.value in RANGES[found.field]:  # where the search ends before the budget does
        return
    worse = found.value * (1 + (-HALF_A_MILLIONTH if noise else HALF_A_MILLIONTH))
    filled = {**found.table, found.field: worse}
    used = compose((guarantee_from(str(table["mechanism"]), filled)[0], rounds))
    assert used.epsilon(delta) > epsilon
