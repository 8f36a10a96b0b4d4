"""Shifted interpolation against exact laws, a general-purpose optimiser and random allocations."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcalc.accounting.iteration import NoisyContraction, Participation, optimal_shifts
from dpcalc.errors import InvalidInput
from dpcalc.numerics.precise import mpf
from dpcalc.theorems.base import Theorem
from dpcalc.theorems.catalogue import privacy_result
from tests.oracles.noisy_descent import Interval, quadratic_mu_squared

LONG = os.environ.get("DPCALC_HYPOTHESIS") == "long"
INSTANCES = 6000 if LONG else 250


def _curved(rng: np.random.Generator, d: int, low: float, high: float) -> NDArray[np.float64]:
    q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    values = rng.uniform(low, high, d)
    if rng.random() < 0.5:
        values = rng.choice([low, high], d)
    return np.asarray((q * values) @ q.T)


def _unit(rng: np.random.Generator, d: int) -> NDArray[np.float64]:
    v = rng.normal(size=d)
    return v / np.linalg.norm(v)


def _example(key: str, **changes: object) -> Theorem:
    kind = privacy_result(key)
    return kind.from_parameters({**kind.example, **changes})


def test_any_chain_is_never_below_the_exact_law_and_reaches_it() -> None:
    """Different curvatures, step sizes and noises in every step; a record used at random steps."""
    rng = np.random.default_rng(5)
    closest = 0.0
    for _ in range(INSTANCES):
        steps, d = int(rng.integers(1, 12)), int(rng.integers(1, 4))
        smooth = 10 ** rng.uniform(-1, 1)
        strong = smooth * rng.choice([0, rng.uniform(0, 1), 1])
        eta = rng.uniform(0.02, 1.99, steps) / smooth
        omega = 10 ** rng.uniform(-1, 1, steps)
        used = rng.random(steps) < rng.choice([0.2, 1.0])
        direction = _unit(rng, d)
        changes = np.outer(used * rng.uniform(0, 1, steps), direction)
        hessians = [_curved(rng, d, strong, smooth) for _ in range(steps)]
        exact = quadratic_mu_squared(hessians, eta, omega, changes)
        contraction = np.maximum(abs(1 - eta * strong), abs(1 - eta * smooth))
        jumps = eta * np.linalg.norm(changes, axis=1)
        found = optimal_shifts(jumps, np.minimum(contraction * (1 + 1e-15), 1), omega).mu[0] ** 2
        assert exact <= found * (1 + 1e-9) + 1e-300
        if found > 0:
            closest = max(closest, exact / found)
    assert closest > 1 - 1e-9


@pytest.mark.parametrize("key", ["noisy-cgd", "noisy-gd", "pnsgd", "pnsgd-strongly-convex"])
def test_theorems_are_never_below_the_exact_law_of_quadratics(key: str) -> None:
    rng = np.random.default_rng(sum(key.encode()))
    closest = 0.0
    for _ in range(INSTANCES // 2):
        smooth = 10 ** rng.uniform(-1, 1)
        strong = 0.0 if key == "pnsgd" else smooth * rng.uniform(0.01, 1)
        eta, sigma = float(rng.uniform(0.02, 1.95)) / smooth, 10 ** rng.uniform(-1, 1)
        shared = {"step_size": eta, "sigma": sigma, "smoothness": smooth * (1 + 1e-12)}
        if key == "noisy-gd":
            steps, used = int(rng.integers(1, 15)), None
            changed = {"n_records": 3, "steps": steps, "strong_convexity": strong, "sensitivity": 3}
        elif key == "noisy-cgd":
            batches, passes = (int(x) for x in rng.integers(1, 5, 2))
            position = int(rng.integers(1, batches + 1))
            steps, used = batches * passes, np.arange(position - 1, batches * passes, batches)
            changed = {
                "n_batches": batches,
                "passes": passes,
                "position": position,
                "batch_size": 1,
                "sensitivity": 1,
                "strong_convexity": strong,
            }
        else:
            steps = int(rng.integers(1, 10))
            position = int(rng.integers(1, steps + 1))
            used = np.array([position - 1])
            changed = {"n_records": steps, "position": position, "lipschitz": 0.5}
            if key == "pnsgd-strongly-convex":
                changed["strong_convexity"] = strong
        theorem = _example(key, **shared, **changed)
        d = int(rng.integers(1, 4))
        same = rng.random() < 0.5 or key == "noisy-gd"
        first = _curved(rng, d, strong, smooth)
        hessians = [first if same else _curved(rng, d, strong, smooth) for _ in range(steps)]
        if rng.random() < 0.3:
            hessians = [strong * np.eye(d)] * steps
        changes = np.zeros((steps, d))
        changes[slice(None) if used is None else used] = _unit(rng, d)
        exact = quadratic_mu_squared(
            hessians, np.full(steps, eta), np.full(steps, eta * sigma), changes
        )
        certified = theorem.certified().numbers["mu"] ** 2
        assert exact <= certified * (1 + 1e-9)
        closest = max(closest, exact / certified)
    assert closest > 1 - 1e-9


def test_claims_that_stand_are_equalled_by_the_exact_law() -> None:
    """Bok, Su and Altschuler's exactness, at any number of steps up to 2/(m + M)."""
    rng = np.random.default_rng(8)
    for _ in range(40):
        strong = rng.uniform(0.05, 1)
        eta = float(rng.uniform(0.01, 1) * 2 / (strong + 2))
        steps = int(rng.integers(1, 200))
        theorem = _example("noisy-gd", step_size=eta, strong_convexity=strong, steps=steps)
        omega = eta * theorem.noise_level()
        exact = quadratic_mu_squared(
            [np.full((1, 1), strong)] * steps,
            np.full(steps, eta),
            np.full(steps, omega),
            np.full((steps, 1), 1 / 100),
        )
        assert theorem.claimed().numbers["mu"] ** 2 == pytest.approx(exact, rel=1e-9)
        assert theorem.certified().numbers["mu"] ** 2 == pytest.approx(exact, rel=1e-9)


def test_composing_fewer_passes_would_be_caught() -> None:
    """A planted bug: one pass fewer is below the exact law."""
    steps, eta = 12, 0.25
    fewer = _example("noisy-gd", steps=steps - 1).certified().numbers["mu"] ** 2
    exact = quadratic_mu_squared(
        [np.full((1, 1), 0.125)] * steps,
        np.full(steps, eta),
        np.full(steps, eta * 0.05),
        np.full((steps, 1), 0.01),
    )
    assert exact > fewer * 1.01


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


def test_late_uses_cost_most() -> None:
    """What a new order in each pass rests on."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        batches, passes = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        c = float(rng.choice([1.0, rng.uniform(0.3, 1)]))
        last = int(rng.integers(1, batches + 1))
        jumps = np.zeros((2, batches * passes))
        early = rng.integers(0, batches, passes - 1) + batches * np.arange(passes - 1)
        jumps[0, early] = 1
        jumps[1, batches * np.arange(1, passes) - 1] = 1
        jumps[:, batches * (passes - 1) + last - 1] += 1
        some, worst = optimal_shifts(jumps, c, 1.0).mu
        assert some <= worst * (1 + 1e-9)


def test_reshuffled_batches_against_the_exact_mixture() -> None:
    """Linear losses of two batches: the law given the orders is normal, the orders are averaged."""
    import itertools

    from scipy.stats import norm

    eta, sigma, strong, passes, batches = 0.5, 1.0, 0.5, 3, 2
    c = 1 - eta * strong
    shifts = []
    for orders in itertools.product(range(batches), repeat=passes):
        steps = [batches * k + p for k, p in enumerate(orders)]
        shifts.append(sum(eta * c ** (batches * passes - 1 - t) for t in steps))
    variance = (eta * sigma) ** 2 * sum(c ** (2 * t) for t in range(batches * passes))
    x = np.linspace(-12, 12, 40001) * np.sqrt(variance)
    # The replaced record pushes one way, its replacement the other.
    p = np.mean([norm.pdf(x, s / 2, np.sqrt(variance)) for s in shifts], axis=0)
    q = np.mean([norm.pdf(x, -s / 2, np.sqrt(variance)) for s in shifts], axis=0)
    theorem = _example(
        "noisy-cgd", sensitivity=1, batch_size=1, n_batches=batches, passes=passes, step_size=eta,
        smoothness=1, strong_convexity=strong, sigma=sigma, order="reshuffled",
    )  # fmt: skip
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        exact = np.sum(np.maximum(p - np.exp(epsilon) * q, 0)) * (x[1] - x[0])
        assert exact <= theorem.certified().guarantee.delta(epsilon) * (1 + 1e-6)


@pytest.mark.parametrize("stop_from", [1, 4])
def test_random_stopping_against_the_exact_mixture(stop_from: int) -> None:
    """Linear losses: stopped after R steps the last iterate is normal, and R is averaged."""
    from scipy.stats import norm

    n, sigma = 8, 3.0
    theorem = _example("pnsgd-all-users", n_records=n, sigma=sigma, stop_from=stop_from)
    x = np.linspace(-60, 60, 60001)
    closest = 0.0
    for user in range(1, n + 1):
        stops = range(stop_from, n + 1)
        spread = [sigma * np.sqrt(r) for r in stops]
        used = [float(r >= user) for r in stops]
        p = np.mean([norm.pdf(x, u, s) for u, s in zip(used, spread, strict=True)], axis=0)
        q = np.mean([norm.pdf(x, -u, s) for u, s in zip(used, spread, strict=True)], axis=0)
        for epsilon in (0.0, 0.2, 0.8):
            exact = np.sum(np.maximum(p - np.exp(epsilon) * q, 0)) * (x[1] - x[0])
            certified = theorem.certified().guarantee.delta(epsilon)
            assert exact <= certified * (1 + 1e-6)
            closest = max(closest, exact / certified)
    assert closest > 0.5


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_bounded_domain_against_the_exact_law_on_an_interval(slope: float) -> None:
    """Opposite gradients on [0, D]: the runs end at opposite ends, the noise pulls them together."""
    closest = 0.0
    for width, jump, omega in ((1.0, 0.2, 0.4), (1.0, 0.5, 1.0), (2.0, 0.1, 0.3), (0.5, 0.5, 0.5)):
        line = Interval(width)
        p = q = line.start()
        base = line.x - slope * (line.x - width / 2)
        for steps in range(1, 31):
            p = line.step(p, [(1.0, base + jump / 2)], omega)
            q = line.step(q, [(1.0, base - jump / 2)], omega)
            assert p[0] + p[-1] + p[1:-1] @ line.weights == pytest.approx(1, abs=1e-9)
            if steps not in (1, 2, 5, 30):
                continue
            theorem = _example(
                "noisy-cgd-constrained", diameter=width, sensitivity=jump, batch_size=1,
                n_batches=1, passes=steps, step_size=1, sigma=omega, smoothness=1,
                **({"strong_convexity": slope} if slope else {}),
            )  # fmt: skip
            certified = theorem.certified().guarantee
            for epsilon in (0.0, 0.5, 1.5):
                exact = line.delta(p, q, epsilon)
                assert exact <= certified.delta(epsilon) + 1e-7
                closest = max(closest, exact / certified.delta(epsilon))
    assert closest > 0.6


def test_sampled_batches_against_the_exact_law_on_an_interval() -> None:
    """One record of four pushes up or down when it is drawn; the others do nothing."""
    n, width = 4, 1.0
    for push, omega in ((0.2, 0.5), (0.5, 0.7), (0.1, 0.2))[: 3 if LONG else 2]:
        line = Interval(width)
        p = q = line.start()
        for steps in range(1, 41):
            drawn = 1 / n
            p = line.step(p, [(drawn, line.x + push), (1 - drawn, line.x)], omega)
            q = line.step(q, [(drawn, line.x - push), (1 - drawn, line.x)], omega)
            if steps not in ((1, 3, 40) if LONG else (1, 40)):
                continue
            theorem = _example(
                "noisy-sgd-constrained", diameter=width, lipschitz=push, n_records=n, batch_size=1,
                steps=steps, step_size=1, sigma=omega, smoothness=1,
            )  # fmt: skip
            certified = theorem.certified().guarantee
            for epsilon in (0.1, 0.5, 1.5) if LONG else (0.3,):
                assert line.delta(p, q, epsilon) <= certified.delta(epsilon) + 1e-7


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_any_units_give_the_same_number(scale: float) -> None:
    jumps, contractions = np.array([1.0, 0.0, 0.5]), np.array([1.0, 1e-60, 0.9])
    plain = optimal_shifts(jumps, contractions, 2.0).mu[0]
    assert optimal_shifts(jumps * scale, contractions, 2.0 * scale).mu[0] == pytest.approx(plain)
    assert optimal_shifts(jumps, contractions, 2.0 * scale).mu[0] == pytest.approx(plain / scale)


def test_a_record_that_is_never_used_is_not_exposed() -> None:
    assert optimal_shifts([[0.0, 0.0], [1.0, 0.0]], 1.0, 1.0).mu.tolist() == [
        0.0,
        pytest.approx(np.sqrt(0.5)),
    ]


def test_ranges_are_refused_by_name() -> None:
    for given_, words in (
        (([-1.0], 1.0, 1.0), "jumps"),
        (([1.0], -0.1, 1.0), "contractions"),
        (([1.0], np.inf, 1.0), "contractions"),
        (([1.0] * 100, 1.3, 1.0), "within a factor"),
        (([1.0], 1.0, 0.0), "noises"),
        (([1.0], [1.0, 1.0], 1.0), "contractions"),
        (([1.0, 1.0], 1.0, [1.0, 1e-60]), "noises"),
        (([1.0], 1.0, 1.0, -1.0), "start"),
    ):
        with pytest.raises(InvalidInput, match=words):
            optimal_shifts(*given_)


@pytest.mark.parametrize("order", ["shuffled-once", "reshuffled"])
def test_a_search_begun_at_the_last_position_finds_what_a_new_one_does(order: str) -> None:
    for passes, diameter in ((2000, 1.0), (30, 10.0), (1, 0.1)):
        theorem = _example(
            "noisy-cgd-constrained", order=order, passes=passes, diameter=diameter, n_batches=60
        )
        in_turn = theorem.mu_in_turn()
        for left in range(1, 61):
            assert in_turn(left) == theorem.mu_left(left)
