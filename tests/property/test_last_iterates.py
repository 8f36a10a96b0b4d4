"""Last iterates of noisy descent against exact mixtures and laws on an interval."""

from __future__ import annotations

import numpy as np
import pytest

from dpcalc.accounting.iteration import optimal_shifts
from dpcalc.errors import InvalidInput
from tests.oracles.noisy_descent import Interval
from tests.property.descent_instances import LONG, example_of


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
    theorem = example_of(
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
    theorem = example_of("pnsgd-all-users", n_records=n, sigma=sigma, stop_from=stop_from)
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
            theorem = example_of(
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
            theorem = example_of(
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
        theorem = example_of(
            "noisy-cgd-constrained", order=order, passes=passes, diameter=diameter, n_batches=60
        )
        in_turn = theorem.mu_in_turn()
        for left in range(1, 61):
            assert in_turn(left) == theorem.mu_left(left)
