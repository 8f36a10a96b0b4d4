"""Overlapping kernels: their division of the noises solved a second way, and never worse than pairs."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcalc.accounting.iteration import (
    Kernels,
    NoisyContraction,
    Participation,
    convex_kernels,
    gradient_noise_kernels,
    strongly_convex_kernels,
    strongly_convex_norm,
)
from dpcalc.numerics.precise import mpf

TABLE = [(0.5, 0.9, 1.753086), (0.3, 0.5, 4.811252), (0.15, 0.3, 20.0), (0.1, 0.15, 43.30127)]
"""r, penalty and the midpoint step of the source's Table 1; curvature 2r²."""


def _convex(e: float, *, square: bool = True) -> Kernels:
    return convex_kernels(
        step_size=1.0, penalty=e, sensitivity=1.0, min_singular_value=1.0, square=square
    )


def _gradient(e: float, most: float = 1.0) -> Kernels:
    return gradient_noise_kernels(
        step_size=1.0, penalty=e, sensitivity=1.0, min_singular_value=1.0,
        operator_norm=math.sqrt(most), square=True,
    )  # fmt: skip


def _strongly(r: float, penalty: float, step: float, *, square: bool = True) -> Kernels:
    norm = strongly_convex_norm(
        step_size=step, penalty=penalty, smoothness=2 * r * r, strong_convexity=2 * r * r,
        min_singular_value=1.0,
    )  # fmt: skip
    return strongly_convex_kernels(
        norm, step_size=step, penalty=penalty, sensitivity=1.0, min_singular_value=1.0,
        operator_norm=1.0, square=square,
    )  # fmt: skip


def _cost(kernels: Kernels, w: float, x: float) -> float:
    """The most that a unit difference costs, over a fine circle of directions."""
    angle = np.linspace(0.0, math.pi / 2, 4_001)
    worst = 0.0
    for one in kernels.directions:
        a, b = np.cos(angle) / math.sqrt(one.p), np.sin(angle) / math.sqrt(one.d)
        q = float(one.second) * max(float(one.floor), float(one.damping) / x)
        worst = max(worst, float(np.max(float(one.first) * b**2 / w + q * (a + b) ** 2)))
    return worst


def _paired(kernels: Kernels, iterations: int) -> float:
    """μ² with undivided noises, as blocks of two iterations."""
    pairs, spare = divmod(iterations, 2)
    shrink = float(kernels.contraction)
    total = sum(shrink ** (-2 * j) for j in range(pairs)) / (shrink if spare else 1)
    return float(kernels.start) * _cost(kernels, 1.0, 1.0) / total


@pytest.mark.parametrize("iterations", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "kernels", [_convex(0.4), _convex(2.0, square=False), _gradient(0.7, 5.0), _strongly(*TABLE[2])]
)
@pytest.mark.few(6)
def test_the_division_is_that_of_a_general_optimiser(kernels: Kernels, iterations: int) -> None:
    shrink = float(kernels.contraction)

    def minus_weight(inner: np.ndarray) -> float:
        shares = [1.0, *inner, 0.0]
        costs = [_cost(kernels, w, 1 - x) for w, x in pairwise(shares)]
        return -sum(shrink**-t / cost for t, cost in enumerate(costs))

    count = iterations - 2
    found = -minus_weight(np.array([]))
    if count:
        begin = np.full(count, 0.5)
        bounds = [(1e-6, 1 - 1e-6)] * count
        found = max(
            -minimize(minus_weight, begin, bounds=bounds, method="Powell", tol=1e-10).fun,
            -minimize(minus_weight, begin, bounds=bounds, method="L-BFGS-B").fun,
        )
    assert float(kernels.weight(iterations)) >= found * (1 - 1e-4)
    assert float(kernels.weight(iterations)) == pytest.approx(found, rel=1e-3)


def test_undivided_noises_are_never_better() -> None:
    rng = np.random.default_rng(3)
    gains = []
    for _ in range(20):
        e, k = 10 ** rng.uniform(-3, 3), int(rng.integers(2, 200))
        shapes = [
            _convex(e),
            _convex(e, square=False),
            _gradient(e, 10 ** rng.uniform(0, 2)),
            _strongly(*TABLE[rng.integers(4)], square=bool(rng.integers(2))),
        ]
        for kernels in shapes:
            found, paired = float(kernels.mu_squared(1.0, k)), _paired(kernels, k)
            assert found <= paired * (1 + 1e-6)  # of the circle of directions in `_cost`
            gains.append(paired / found)
    assert max(gains) > 1.9


def test_undivided_noises_are_never_better_with_several_uses() -> None:
    rng = np.random.default_rng(4)
    for _ in range(12):
        passes, gap, tail = (int(rng.integers(2, 5)) for _ in range(3))
        for kernels in (_convex(10 ** rng.uniform(-1, 1)), _strongly(*TABLE[rng.integers(4)])):
            found = kernels.repeated_mu_squared(1.0, passes=passes, gap=gap, tail=tail)
            spare = kernels.contraction if gap % 2 and tail % 2 else mpf(1)
            noise, root = kernels.worth(mpf(1), mpf(1)) ** 0.5, (kernels.start * spare) ** 0.5
            paired = NoisyContraction(kernels.contraction, root, noise)
            assert found <= paired.mu(Participation(passes, gap // 2, tail // 2)) ** 2


@pytest.mark.parametrize(
    ("setting", "ratio"), list(zip(TABLE, (0.8144, 0.8035, 0.7693, 0.7852), strict=True))
)
def test_the_settings_of_the_papers_table_gain_a_fifth(
    setting: tuple[float, float, float], ratio: float
) -> None:
    kernels = _strongly(*setting)
    found = math.sqrt(float(kernels.mu_squared(1.0, 41)) / _paired(kernels, 41))
    assert found == pytest.approx(ratio, abs=1e-4)


def test_a_wide_matrix_leaves_noise_in_its_kernel_undivided() -> None:
    for e, ratio in ((1.0, 0.740), (3.0, 0.709)):
        kernels = _convex(e, square=False)
        found = math.sqrt(float(kernels.mu_squared(1.0, 101)) / _paired(kernels, 101))
        assert found == pytest.approx(ratio, abs=1e-3)


def test_long_runs_repeat_the_middle_without_loss() -> None:
    for kernels in (_convex(0.3), _convex(5.0, square=False), _strongly(*TABLE[0])):
        for k in (46, 47, 48, 49, 50, 77, 2000):
            assert kernels.mu_squared(1.0, k + 2) <= kernels.mu_squared(1.0, k)
    # At the best equal shares a further iteration is worth as much as any.
    kernels, share = _convex(5.0), np.linspace(0.01, 0.99, 99)
    best = max(1 / _cost(kernels, w, 1 - w) for w in share)
    gained = float(kernels.weight(10**6 + 2) - kernels.weight(10**6)) / 2
    assert gained == pytest.approx(best, rel=1e-3)
    assert float(kernels.mu_squared(1.0, 10**9)) > 0


def test_extreme_sizes_give_finite_positive_bounds() -> None:
    for e in (1e-200, 1e-12, 1e12, 1e150):
        for kernels in (_convex(e), _convex(e, square=False), _gradient(e, 4.0)):
            for k in (2, 3, 50, 51):
                assert 0 < kernels.mu_squared(1.0, k) < mpf("inf")
            assert 0 < kernels.repeated_mu_squared(1.0, passes=3, gap=2, tail=3) < mpf("inf")


def test_forgetting_the_kernel_of_a_wide_matrix_would_be_caught() -> None:
    """A planted bug: damping all of a wide matrix's second stage falls below a random walk."""
    e, k = 100.0, 12
    kernels = _convex(e, square=False)
    (direction,) = kernels.directions
    wrong = replace(kernels, directions=(replace(direction, floor=mpf(0)),))
    walk = 1 / k  # f = 0, a difference in the kernel of A: k noises, none of them seen in the dual
    assert wrong.mu_squared(1.0, k) < walk < kernels.mu_squared(1.0, k)
