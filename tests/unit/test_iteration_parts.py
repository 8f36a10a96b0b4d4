"""Amplification by iteration part by part: kernels, shares, participation, shifts and mixtures by plain loops."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

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
from dpcalc.accounting.iteration.distance_quantiles import TAIL_PROBABILITIES, upper_quantiles
from dpcalc.accounting.iteration.expanding import Expanding
from dpcalc.accounting.iteration.kernels import Direction, Kernels, largest_eigenvalue
from dpcalc.accounting.iteration.minorant import convex_minorant, total_cost
from dpcalc.accounting.iteration.optimal_shifts import optimal_shifts
from dpcalc.accounting.iteration.position_mixture import mixed_down, mixed_positions
from dpcalc.accounting.iteration.sampled_batches import NoiseSplit, SampledRun, max_distance
from dpcalc.accounting.iteration.shares import best_shares
from dpcalc.errors import InvalidInput
from dpcalc.numerics.precise import mpf as real
from dpcalc.numerics.precise import round_down, round_up


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


def test_minorants_by_trying_all_vertices() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = int(rng.integers(2, 7))
        w = [Fraction(0), *np.cumsum(rng.integers(1, 5, n)).tolist()]
        u = [Fraction(0), *np.cumsum(rng.integers(0, 5, n)).tolist()]
        points = [(Fraction(a), Fraction(b)) for a, b in zip(w, u, strict=True)]
        kept = convex_minorant(points)
        assert kept[0] == 0
        assert kept[-1] == n
        slopes = [
            (points[j][1] - points[k][1]) / (points[j][0] - points[k][0])
            for k, j in itertools.pairwise(kept)
        ]
        assert all(a < b for a, b in itertools.pairwise(slopes))
        for k, j in itertools.pairwise(kept):
            for i in range(k + 1, j):
                share = (points[i][0] - points[k][0]) / (points[j][0] - points[k][0])
                assert points[k][1] + share * (points[j][1] - points[k][1]) <= points[i][1]
        cost = sum(
            (points[j][1] - points[k][1]) ** 2 / (points[j][0] - points[k][0])
            for k, j in itertools.pairwise(kept)
        )
        found = total_cost([(real(a), real(b)) for a, b in points], kept)
        assert float(found) == pytest.approx(float(cost), rel=1e-15)
    flat = [(real(0), real(0)), (real(0), real(1)), (real(1), real(2))]
    assert total_cost(flat, [0, 1, 2]) == math.inf
    assert total_cost([(real(0), real(0)), (real(0), real(0))], [0, 1]) == 0


def jumps_of(participation: Participation) -> list[float]:
    """1 in every counted step that uses the record, by walking through them."""
    found = [0.0] * participation.steps_before
    for k in range(participation.count):
        last = k == participation.count - 1
        gap = (
            participation.last_gap
            if k == participation.count - 2 and participation.last_gap
            else participation.gap
        )
        found += [1.0] + [0.0] * ((participation.steps_after if last else gap) - 1)
    return found


PARTICIPATIONS = [
    Participation(1, 1, 4), Participation(3, 2, 5), Participation(4, 3, 1, 2), Participation(3, 4, 2, 1, 2), Participation(2, 5, 3, 0, 1)
]  # fmt: skip


@pytest.mark.parametrize("participation", PARTICIPATIONS, ids=repr)
@pytest.mark.parametrize("c", [0.8, 1.0])
@pytest.mark.parametrize("start", [0.0, 2.5])
def test_participations_cost_what_any_chain_does(
    participation: Participation, c: float, start: float
) -> None:
    jumps = jumps_of(participation)
    assert participation.steps == len(jumps)
    places = [k for k, jump in enumerate(jumps) if jump]
    assert [participation.steps_until(v) for v in range(1, participation.count + 1)] == places
    assert participation.breakpoints() == sorted(
        {1, max(participation.count - 1, 1), participation.count}
    )
    descent = NoisyContraction(real(c), real(0.7), real(1.3))
    found = float(descent.mu(participation, start))
    chain = optimal_shifts(0.7 * np.array(jumps), c, 1.3, start).mu[0]
    assert found == pytest.approx(float(chain), rel=1e-12)
    for count in range(participation.count):
        latest = participation.latest(count)
        after = places[-count - 1] + 1
        tail = jumps[after:]
        assert latest.steps == len(tail)
        if count:
            assert jumps_of(latest) == tail


def test_no_visits_at_all() -> None:
    nothing = Participation(0, 1, 4, 0)
    assert (nothing.steps, nothing.breakpoints()) == (4, [])
    assert NoisyContraction(real(0.9), real(1), real(1)).mu(nothing) == 0
    assert Participation(3, 2, 5).latest(0) == Participation(0, 2, 4, 0)


@pytest.mark.parametrize(
    "participation",
    [
        Participation(8, 3, 2),
        Participation(8, 3, 2, 0, 1),
        Participation(20, 5, 2, 0, 2),
        Participation(2, 5, 2, 0, 1),
        Participation(1, 1, 6),
    ],
)
@pytest.mark.parametrize("diameter", [0.1, 1.0, 4.0, 1e6])
def test_the_best_number_of_visits_to_count(participation: Participation, diameter: float) -> None:
    descent = NoisyContraction(real(0.95), real(1.0), real(1.0))
    each = [descent.mu(participation.latest(k), diameter) for k in range(participation.count)]
    each.append(descent.mu(participation))
    best = min(each)
    found, counted = descent.mu_bounded(participation, diameter)
    assert (found, each[counted]) == (best, best)
    for near in range(participation.count):
        assert descent.mu_bounded(participation, diameter, near)[0] == best
    with_no_steps = Participation(3, 1, 1)
    last = descent.mu_bounded(with_no_steps, 1e-9)
    assert last[0] <= descent.mu(with_no_steps.latest(1), 1e-9)


def test_expanding_steps_by_plain_sums() -> None:
    c, s, w = 1.1, 0.7, 1.3
    expanding = Expanding(real(c), real(s), real(w))

    def weight(n: int) -> float:
        return sum(c ** (-2 * i) for i in range(n))

    assert float(expanding.weight(5)) == pytest.approx(weight(5))
    assert Expanding(real(1), real(s), real(w)).weight(5) == 5
    unit = (s / w) ** 2
    regular, once = Participation(4, 5, 3), Participation(1, 5, 3)
    assert float(expanding.mu_squared(regular)) == pytest.approx(
        unit * (3 / weight(5) + 1 / weight(3))
    )
    assert float(expanding.mu_squared(Participation(4, 5, 3, 0, 4))) == pytest.approx(
        unit * (3 + 1 / weight(3))
    )
    for diameter in (0.01, 0.3, 0.8, 2.0, 1e5):
        apart = diameter / w
        for participation in (regular, once, Participation(4, 1, 1), Participation(4, 5, 3, 0, 2)):
            tail, lead = participation.steps_after, participation.before_last - 1
            found = [float(expanding.mu_squared(participation))]
            if tail > 1:
                found.append((apart * c) ** 2 / weight(tail - 1))
            if lead and participation.count > 1:
                found.append(apart**2 * c**2 / weight(lead) + unit / weight(tail))
                whole = weight(lead + tail) / c**2
                total = apart + s / w / c ** (lead + 1)
                if total * weight(lead) / c**2 <= apart * whole:
                    found.append(total**2 / whole)
            got = float(expanding.mu_squared_bounded(participation, diameter))
            assert got == pytest.approx(min(found))


def test_chains_of_any_steps_by_the_minorant_in_fractions() -> None:
    rng = np.random.default_rng(4)
    for expand in (False, True):
        for _ in range(20):
            steps = int(rng.integers(1, 8))
            s = rng.integers(0, 3, (2, steps)) * rng.uniform(0.1, 2, (2, steps))
            c = rng.uniform(0.7, 1.2 if expand else 1.0, steps)
            noise = rng.uniform(0.5, 2, steps)
            start = rng.uniform(0, 1, 2)
            found = optimal_shifts(s, c, noise, start)
            for user in range(2):
                carry = [
                    math.prod((Fraction(x) for x in c[t + 1 :]), start=Fraction(1))
                    for t in range(steps)
                ]
                w = [(Fraction(n) * k) ** 2 for n, k in zip(noise, carry, strict=True)]
                before = Fraction(start[user]) * carry[0] * Fraction(c[0])
                u = [Fraction(x) * k for x, k in zip(s[user], carry, strict=True)]
                sums = [
                    (sum(w[: t + 1], Fraction(0)), before + sum(u[: t + 1])) for t in range(steps)
                ]
                points = [(Fraction(0), Fraction(0)), *sums]
                # A point before each jump: what is to be paid by then.
                bends = (
                    [points[0]]
                    + [(points[t][0], points[t][1] if t else Fraction(0)) for t in range(1, steps)]
                    + [points[-1]]
                )
                cost = total_cost([(real(a), real(b)) for a, b in bends], convex_minorant(bends))
                mu = float(found.mu[user])
                assert mu >= float(cost) ** 0.5 * (1 - 1e-16)
                assert mu == pytest.approx(float(cost) ** 0.5, rel=1e-12, abs=1e-300)
                # The shifts bring the runs together and cost as much.
                z = float(start[user])
                for t in range(steps):
                    z = c[t] * z + s[user, t] - found.shifts[user, t]
                    assert z >= -1e-12
                assert abs(z) < 1e-12
                paid = float(((found.shifts[user] / noise) ** 2).sum())
                assert paid == pytest.approx(mu**2, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1.0], [1.0, 1.0, 1.0], 1.0), "contractions needs one value or one per step; got shape (3,) for 1 steps"),
        (([1.0, 1.0], 1.0, [[1.0]]), "noises needs one value or one per step; got shape (1, 1) for 2 steps"),
        ((np.zeros((1, 0)), 1.0, 1.0), "jumps needs shape (users, steps); got shape (1, 0)"),
        (([-1.0], 1.0, 1.0), "jumps needs finite numbers, 0 or above; try the norms of the changes"),
        (([math.inf], 1.0, 1.0), "jumps needs finite numbers, 0 or above; try the norms of the changes"),
        (([1.0, 1.0], [-1.0, 2.0], 1.0), "contractions needs finite numbers, 0 or above; got -1 to 2"),
        (([1.0], 1.0, 0.0), "noises needs finite numbers above 0; got a least of 0"),
        (([1.0, 1.0], 1.0, [1e-51, 1.0]), "noises needs values within a factor of 1e50; got 1e-51 to 1"),
        (([1.0], 1.0, 1.0, -2.0), "start needs finite numbers, 0 or above; got -2"),
        (([1.0] * 40, 2.0, 1.0), "expanding steps need to carry distances within a factor of 10000; got 5.49756e+11; try fewer steps"),
    ],
)  # fmt: skip
def test_chains_that_are_refused(given, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        optimal_shifts(*given)
    assert str(caught.value) == message


def test_chains_that_forget_and_records_that_are_not_used() -> None:
    far = optimal_shifts([1.0] + [0.0] * 400 + [1.0], 0.5, 1.0).mu[0]
    assert 1 < far < 1 + 1e-11
    assert optimal_shifts([0.0, 0.0], 0.5, 1.0).mu.tolist() == [0.0]
    assert optimal_shifts([1e-300, 0.0], 0.5, 1e20).mu[0] >= 5e-324
    # Every noise counts, so μ² = (2^-599)² / Σ 4^-k over the 600 steps, here without its root.
    faint = Fraction(float(optimal_shifts([1.0] + [0.0] * 599, 0.5, 1.0).mu[0]))
    assert faint**2 >= Fraction(1, 4**599) * Fraction(3, 4)
    assert float(faint) < 1e-98
    for scale in (1e-150, 1e150):
        unit = optimal_shifts([scale, 0.0, scale], 0.9, 2.0 * scale).mu[0]
        assert unit == pytest.approx(optimal_shifts([1.0, 0.0, 1.0], 0.9, 2.0).mu[0], rel=1e-13)


def test_mixtures_of_positions() -> None:
    mus, weights = mixed_positions(lambda t: real(1) / t if t < 5 else real(0), 6)
    assert list(mus) == [round_up(real(1) / t) for t in range(1, 5)]
    assert weights == (1 / 6,) * 4
    blocks, shares = mixed_positions(lambda t: real(1) / t, 10_000)
    assert len(blocks) < 10_000
    assert blocks[:4096] == tuple(round_up(real(1) / t) for t in range(1, 4097))
    assert math.fsum(shares) == pytest.approx(1.0)
    start, last = 4097, 0
    for mu, share in zip(blocks[4096:], shares[4096:], strict=True):
        assert mu == round_up(real(1) / start)
        last = round(share * 10_000)
        assert last == min(int(start * 1.0005) + 1, 10_001) - start
        start += last
    assert start == 10_001
    down, parts = mixed_down(lambda t: real(1) / t, 60)
    ends, stop = [], 0
    while stop < 60:
        before, stop = stop, min(60, max(stop + 1, int(stop * 1.04)))
        ends.append((stop, stop - before))
    assert list(down) == [round_down(real(1) / t * (1 - real("1e-9"))) for t, _ in ends]
    assert parts == tuple(n / 60 for _, n in ends)
    assert mixed_down(lambda _: real(0), 4) == ((), ())
    assert len(mixed_down(lambda t: real(1) / t, 60, growth=2.0)[0]) == 7


@pytest.mark.parametrize(("rate", "c", "steps"), [(0.1, 0.9, 30), (0.5, 1.0, 12), (0.01, 0.0, 5)])
def test_levels_are_the_best_of_the_markov_bounds(rate: float, c: float, steps: int) -> None:
    found = upper_quantiles(rate, c, steps)
    slopes = np.geomspace(1e-6, 600, 4000)
    values = c ** np.arange(steps)
    growth = np.log1p(rate * np.expm1(np.outer(slopes, values))).sum(axis=1)
    for level, p in zip(found, TAIL_PROBABILITIES, strict=True):
        best = min(float(((growth - math.log(p)) / slopes).min()), values.sum())
        assert best * (1 - 1e-9) <= level <= best * 1.01
    assert found == sorted(found)
    assert upper_quantiles(rate, 1.0, 10**20)[0] > 0


def run(c: float = 0.95, diameter: float = math.inf, likely: float = 1.0) -> SampledRun:
    return SampledRun(
        steps=200,
        rate=0.1,
        step_sensitivity=0.3,
        contraction=c,
        diameter=diameter,
        distance_share=likely,
    )


def test_splits_and_distances() -> None:
    assert float(max_distance(2.0, 0.5, 4)) == pytest.approx(2 * (1 + 0.5 + 0.25 + 0.125))
    assert max_distance(2.0, 1.0, 4) == 8
    split = NoiseSplit(steps=7, closing=3, share=0.2)
    weight = 1 + 0.9**2 + 0.9**4
    shift = 1.5 * 0.9**7 / (0.8 * math.sqrt(0.2 * weight))
    assert float(split.shift_mu(1.5, 0.8, 0.9)) == pytest.approx(shift)
    assert float(split.shift_mu(1.5, 0.8, 1.0)) == pytest.approx(1.5 / 0.8 / math.sqrt(0.6))
    assert NoiseSplit(steps=7, closing=0, share=0.0).shift_mu(1.5, 0.8, 0.9) == 0
    assert float(split.closing_mu(0.5, 0.8)) == pytest.approx(0.5 / 0.8 / math.sqrt(0.8))


def normal(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def test_the_rough_cost_of_hiding_a_record() -> None:
    for share in (0.0, 0.4):
        square = 0.09 / (1 - share)
        mu = math.sqrt(square)
        bracket = math.exp(square) * normal(1.5 * mu) + 3 * normal(-0.5 * mu) - 2
        assert run().step_cost(share) == pytest.approx(0.02 * bracket)
    tiny = SampledRun(steps=5, rate=0.1, step_sensitivity=1e-4, contraction=0.9)
    assert tiny.step_cost() == pytest.approx(1e-10)
    huge = SampledRun(steps=5, rate=0.1, step_sensitivity=1e200, contraction=0.9)
    assert math.isfinite(huge.step_cost())


@pytest.mark.parametrize("c", [0.0, 0.95, 1.0])
@pytest.mark.parametrize("diameter", [0.5, math.inf])
@pytest.mark.parametrize("likely", [0.3, 1.0])
def test_the_rough_cost_of_a_split_and_the_best_one(c, diameter: float, likely: float) -> None:
    search = run(c, diameter, likely)

    def cost(steps: int, closing: int, share: float) -> float:
        early = sum(c**i for i in range(200 - steps))
        apart = min(diameter, likely * 0.3 * early) * c**steps
        weight = sum(c ** (2 * i) for i in range(closing))
        hidden = (steps - closing) * search.step_cost() + closing * search.step_cost(share)
        return hidden + apart**2 / (share * weight)

    for tried in ((150, 20, 0.3), (40, 40, 0.9), (10, 1, 0.01)):
        split = NoiseSplit(steps=tried[0], closing=tried[1], share=tried[2])
        assert search.rough_cost(split) == pytest.approx(cost(*tried), rel=1e-9)
    assert search.composed() == NoiseSplit(steps=200, closing=0, share=0.0)
    assert search.rough_cost(search.composed()) == pytest.approx(200 * search.step_cost())
    best = search.best_split()
    rng = np.random.default_rng(1)
    for _ in range(300):
        closing = int(rng.integers(1, 200))
        steps = int(rng.integers(closing, 201))
        other = cost(steps, closing, float(rng.uniform(0.001, 0.999)))
        assert search.rough_cost(best) <= min(other, 200 * search.step_cost()) * (1 + 1e-3)
    for closing, share in ((5, 0.3), (60, 0.8)):
        chosen = search.with_best_count(closing, share)
        assert (chosen.closing, chosen.share) == (closing, share)
        least = min(cost(n, closing, share) for n in range(closing, 201))
        assert search.rough_cost(chosen) <= least * (1 + 1e-9)
