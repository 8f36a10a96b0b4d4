"""Kernels and shares of noises, by plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpcalc.accounting.iteration.admm import (
    convex_kernels,
    gradient_noise_kernels,
    local_mu,
    strongly_convex_kernels,
    strongly_convex_norm,
)
from dpcalc.accounting.iteration.descent import NoisyContraction, Participation, contraction_factor
from dpcalc.accounting.iteration.expanding import Expanding
from dpcalc.accounting.iteration.kernels import Direction, Kernels, largest_eigenvalue
from dpcalc.accounting.iteration.shares import best_shares
from dpcalc.numerics.precise import mpf as real


def directions(kernels: Kernels) -> list[tuple[float, ...]]:
    return [
        tuple(float(v) for v in (d.p, d.d, d.first, d.second, d.damping, d.floor))
        for d in kernels.directions
    ]


def test_kernels_of_convex_functions() -> None:
    given = {"step_size": 0.5, "penalty": 0.4, "sensitivity": 3.0, "min_singular_value": 1.5}
    e = 0.5 * 0.4 * 1.5**2
    square = convex_kernels(**given, square=True)
    assert float(square.start) == pytest.approx(2.25 / (1 + e))
    assert (square.contraction, directions(square)) == (
        1,
        [pytest.approx((1, e, 1, 1, 1 / (1 + e) ** 2, 0))],
    )
    wide = convex_kernels(**given, square=False, expansion=1.1)
    assert float(wide.start) == pytest.approx(2.25)
    assert float(wide.contraction) == pytest.approx(1.21)
    assert directions(wide) == [pytest.approx((1, e, 1, 1.21, 1 / (1 + e) ** 2, 1))]


def test_kernels_of_noise_on_the_gradient() -> None:
    given = {
        "step_size": 0.5, "penalty": 0.4, "sensitivity": 3.0,
        "min_singular_value": 1.5, "operator_norm": 2.0,
    }  # fmt: skip
    low, high = 0.2 * 2.25, 0.2 * 4
    square = gradient_noise_kernels(**given, square=True, expansion=1.1)
    assert float(square.start) == pytest.approx(9 / (1 + low))
    assert float(square.contraction) == pytest.approx(1.21)
    assert directions(square) == [
        pytest.approx((1, e, (1 + e) ** 2, 1.21, 1, 0)) for e in (low, high)
    ]
    assert float(gradient_noise_kernels(**given, square=False).start) == pytest.approx(9)


@pytest.mark.parametrize("square", [True, False])
@pytest.mark.parametrize("step_size", [0.05, 0.6])
def test_the_norm_and_kernels_of_strongly_convex_functions(step_size: float, square: bool) -> None:
    eta, beta, nu, mu, delta, s, t = step_size, 0.7, 2.0, 0.5, 3.0, 0.9, 2.0
    norm = strongly_convex_norm(
        step_size=eta, penalty=beta, smoothness=nu, strong_convexity=mu, min_singular_value=s
    )
    tau = 2 / (nu + mu) - eta
    p, q = 1 - tau / eta, eta / beta + eta * tau / 4 * s * s
    descent = 1 - 2 * eta * nu * mu / (nu + mu)
    contracts = max((descent + tau / eta) / p, (eta / beta) / q)
    assert [float(v) for v in (norm.p, norm.q, norm.contraction, norm.descent)] == pytest.approx(
        [p, q, contracts, descent]
    )
    kernels = strongly_convex_kernels(
        norm, step_size=eta, penalty=beta, sensitivity=delta,
        min_singular_value=s, operator_norm=t, square=square,
    )  # fmt: skip
    e = eta * beta * s * s
    expected = (p, q * beta**2 * s * s, 1, descent, 1 / (1 + e) ** 2, 0 if square else 1)
    assert directions(kernels) == [pytest.approx(expected)]
    assert kernels.contraction == norm.contraction
    xs = np.linspace(s * s if square else 0.0, t * t, 200_001)
    stretch = float(((p + q * beta**2 * xs) / (1 + eta * beta * xs) ** 2).max())
    assert float(kernels.start) == pytest.approx((eta * delta) ** 2 * stretch, rel=1e-9)


def test_one_noisy_iteration() -> None:
    assert float(local_mu(0.5, 3.0, 2.0, real(1.25))) == pytest.approx(0.6)
    assert largest_eigenvalue(2.0, 1.0, 3.0) == pytest.approx(
        np.linalg.eigvalsh([[2, 1], [1, 3]])[1]
    )
    for lip, expected in (((0.5, 3.0, 0.2), 0.9), ((0.5, 3.9, 0.2), 0.95), ((0.5, 3.0, -1), 1.5)):
        assert float(contraction_factor(*lip)) == pytest.approx(expected)
    assert float(contraction_factor(0.5, 1.0)) == 1.0


DIRECTION = Direction(*(real(v) for v in (1.3, 0.4, 2.0, 1.1, 0.6, 1.0)))

WITHOUT_FLOOR = Direction(*(real(v) for v in (1.0, 0.4, 1.0, 1.1, 0.6, 0.0)))


def dearest(direction: Direction, w: float, x: float) -> float:
    """The largest ``first·b²/w + q(a + b)²`` with ``p·a² + d·b² = 1``, by trying directions."""
    p, d, first, second, damping, floor = (
        float(v) for v in (
            direction.p, direction.d, direction.first,
            direction.second, direction.damping, direction.floor,
        )
    )  # fmt: skip
    angle = np.linspace(0, np.pi, 200_001)
    a, b = np.cos(angle) / math.sqrt(p), np.sin(angle) / math.sqrt(d)
    q = second * max(floor, damping / x)
    return float((first * b * b / w + q * (a + b) ** 2).max())


@pytest.mark.parametrize("direction", [DIRECTION, WITHOUT_FLOOR])
@pytest.mark.parametrize(("w", "x"), [(1.0, 1.0), (0.3, 0.7), (0.9, 0.05), (0.01, 0.99)])
def test_what_a_kernel_is_worth(direction: Direction, w: float, x: float) -> None:
    truth = 1 / dearest(direction, w, x)
    assert float(direction.worth(real(w), real(x))) == pytest.approx(truth, rel=1e-8)
    assert direction.worth(real(0), real(x)) == direction.worth(real(w), real(0)) == 0
    rough = direction.rough().worth(w, x) * float(direction.p)
    assert rough == pytest.approx(truth, rel=1e-8)
    kernels = Kernels(real(1), real(1), (direction, DIRECTION))
    assert float(kernels.worth(w, x)) == pytest.approx(min(truth, 1 / dearest(DIRECTION, w, x)))
    both = kernels.rough_worth(np.array([w, 1.0]), np.array([x, 1.0]))
    exact = [float(kernels.worth(*pair)) for pair in ((w, x), (1.0, 1.0))]
    assert both[0] / both[1] == pytest.approx(exact[0] / exact[1], rel=1e-9)


@pytest.mark.parametrize("decay", [0.8, 1.0, 1.2])
def test_the_worth_of_a_few_kernels_by_trying_shares(decay: float) -> None:
    kernels = Kernels(real(2.0), real(decay), (WITHOUT_FLOOR,))
    one = float(kernels.worth(1, 1))
    assert float(kernels.weight(2)) == pytest.approx(one)
    grid = np.linspace(0, 1, 2001)
    # Two kernels: the middle noise is shared; in units in which N² of the last kernel counts 1.
    first = np.array([float(kernels.worth(1.0, 1 - x)) for x in grid[::20]])
    second = np.array([float(kernels.worth(x, 1.0)) for x in grid[::20]])
    best = float((first + second / decay).max())
    assert float(kernels.weight(3)) >= best * (1 - 1e-12)
    assert float(kernels.weight(3)) <= best * (1 + 2e-3)
    pairs = one * (1 + 1 / decay**2)
    assert float(kernels.weight(4)) >= pairs * (1 - 1e-12)
    assert float(kernels._pairs(4)) == pytest.approx(pairs)
    assert float(kernels._pairs(5)) == pytest.approx(pairs / decay)
    assert float(kernels.mu_squared(1.5, 3)) == pytest.approx(2 / (2.25 * kernels.weight(3)))


def test_long_runs_repeat_their_middle() -> None:
    """The sum over kernels with the shares of a short plan whose middle is repeated, term by term."""
    from dpcalc.accounting.iteration import kernels as module

    for decay, iterations in ((0.97, 101), (1.0, 60), (1.02, 75)):
        kernels = Kernels(real(2.0), real(decay), (WITHOUT_FLOOR,))
        count = 48 - iterations % 2
        shares = module._plan(kernels, count).shares
        middle, pairs = count // 2, (iterations - count) // 2
        full = [*shares[: middle + 1]]
        for _ in range(pairs):
            full += [shares[middle + 1], shares[middle]]
        full += shares[middle + 1 :]
        assert len(full) == iterations
        worths = [kernels.worth(w, 1 - real(x)) for w, x in itertools.pairwise(full)]
        total = sum(w / real(decay) ** k for k, w in enumerate(worths))
        assert float(kernels._overlapping(iterations)) == pytest.approx(float(total), rel=1e-12)


def test_several_uses_of_a_chain_of_kernels() -> None:
    kernels = Kernels(real(2.0), real(0.9), (WITHOUT_FLOOR,))
    single = kernels.repeated_mu_squared(1.5, passes=1, gap=3, tail=4)
    assert single == kernels.mu_squared(1.5, 4)
    found = float(kernels.repeated_mu_squared(1.5, passes=3, gap=4, tail=5))
    grid = np.linspace(0, 1, 2001)
    equal = max(float(kernels.worth(x, 1 - x)) for x in grid[900:1100:5])
    noise = real(1.5) * real(equal) ** 0.5
    plain = (
        NoisyContraction(real(0.9) ** 0.5, real(2.0) ** 0.5, noise).mu(Participation(3, 4, 4)) ** 2
    )
    paired = (
        NoisyContraction(real(0.9), real(2.0) ** 0.5, real(1.5) * kernels.worth(1, 1) ** 0.5).mu(
            Participation(3, 2, 2)
        )
        ** 2
    )
    assert found <= float(min(plain, paired)) * (1 + 1e-3)
    assert found >= float(kernels.mu_squared(1.5, 5))
    odd = (
        NoisyContraction(
            real(0.9), (real(2.0) * real(0.9)) ** 0.5, real(1.5) * kernels.worth(1, 1) ** 0.5
        ).mu(Participation(3, 2, 2))
        ** 2
    )
    assert kernels.repeated_mu_squared(1.5, passes=3, gap=5, tail=5) <= odd
    growing = Kernels(real(2.0), real(1.1), (WITHOUT_FLOOR,))
    expanding = Expanding(real(1.1) ** 0.5, real(2.0) ** 0.5, noise).mu_squared(
        Participation(3, 4, 4)
    )
    found = float(growing.repeated_mu_squared(1.5, passes=3, gap=4, tail=5))
    assert found <= float(expanding) * (1 + 1e-3)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0], [1.0, 0.5, 2.0], [0.0, 1.0, 1.0]])
def test_shares_are_the_best_on_a_grid_and_better_between(weights: list[float]) -> None:
    def score(w, x):
        return np.sqrt(w * x) + 0.3 * w * (1 - x)

    found = best_shares(score, np.array(weights))
    assert (found[0], found[-1], len(found)) == (1.0, 0.0, len(weights) + 1)

    def value(shares) -> float:
        return sum(
            weight * float(score(a, 1 - b))
            for weight, (a, b) in zip(weights, itertools.pairwise(shares), strict=True)
        )

    grid = np.linspace(0, 1, 33)
    tried = max(
        value([1.0, *inner, 0.0]) for inner in itertools.product(grid, repeat=len(weights) - 1)
    )
    assert value(found) >= tried - 1e-15
    fine = np.linspace(0, 1, 401)
    if len(weights) == 2:
        assert value(found) >= max(value([1.0, x, 0.0]) for x in fine) - 1e-9
    again = best_shares(score, np.array(weights), found)
    assert value(again) >= value(found) - 1e-15
