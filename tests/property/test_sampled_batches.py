"""Noisy SGD with batches drawn at random against exact laws; every split must be a bound."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, norm

from dpcalc.accounting.iteration.distance_quantiles import TAIL_PROBABILITIES, upper_quantiles
from dpcalc.accounting.iteration.sampled_batches import NoiseSplit, SampledRun
from dpcalc.guarantees import GDP, PureDP
from dpcalc.guarantees.best import BestOf
from dpcalc.guarantees.composition import compose
from dpcalc.guarantees.groups import group
from dpcalc.theorems.base import Theorem
from dpcalc.theorems.catalogue import privacy_result
from dpcalc.theorems.noisy_gradient_descent._sampled import SampledDescent
from dpcalc.theorems.noisy_gradient_descent._split import SplitDescent
from tests.oracles.noisy_descent import Interval, quadratic_mu_squared

Reals = NDArray[np.float64]


def _made(key: str, **given: object) -> SampledDescent:
    made: Theorem = privacy_result(key).from_parameters(given)
    assert isinstance(made, SampledDescent)
    return made


def _free(c: float, jump: float, omega: float, steps: int, n: int, b: int) -> SampledDescent:
    """Step size 1, so that a step of curvature m multiplies by 1 - m = c."""
    curved = {"strong_convexity": 1 - c} if c < 1 else {}
    return _made(
        "noisy-sgd", lipschitz=jump * b / 2, n_records=n, batch_size=b, steps=steps, step_size=1,
        smoothness=1, sigma=omega, **curved,
    )  # fmt: skip


def _random_split(rng: np.random.Generator, steps: int) -> NoiseSplit:
    counted = int(rng.integers(1, steps + 1))
    closing = int(rng.integers(1, counted + 1))
    return NoiseSplit(steps=counted, closing=closing, share=float(rng.uniform(0.05, 0.95)))


def test_every_split_of_a_full_batch_is_above_the_exact_law() -> None:
    """All parts are Gaussian, so that the split's μ² is a plain sum; the certified one is exact."""
    rng = np.random.default_rng(3)
    closest = 0.0
    for k in range(80):
        c, jump, omega = rng.uniform(0.05, 1), 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-1, 1)
        c = 1.0 if rng.random() < 0.2 else c
        steps = int(rng.integers(1, 30))
        theorem = _free(c, jump, omega, steps, 3, 3)
        exact = quadratic_mu_squared(
            [np.array([[1 - c]])] * steps, np.ones(steps), np.full(steps, omega),
            np.full((steps, 1), jump),
        )  # fmt: skip
        assert theorem.certified().numbers["mu"] ** 2 == pytest.approx(exact, rel=1e-9)
        split = _random_split(rng, steps)
        found = theorem.composed(split, theorem.shift_mu(split))[0]
        assert isinstance(found, GDP)
        assert exact <= found.mu**2 * (1 + 1e-9)
        closest = max(closest, exact / found.mu**2)
        if c < 1 and k % 10 == 0:
            assert exact <= theorem.claimed().guarantee.parameters()["mu"] ** 2 * (1 + 1e-9)
    assert closest > 0.8


def _mixture(c: float, jump: float, omega: float, steps: int, rate: float) -> tuple[Reals, ...]:
    """Means, weights and spread of the last iterate over all patterns of use."""
    used = np.array(list(product([0, 1], repeat=steps)))
    left = c ** np.arange(steps)[::-1]
    weights = rate ** used.sum(axis=1) * (1 - rate) ** (steps - used.sum(axis=1))
    return used @ left * jump / 2, weights, omega * np.sqrt(left @ left)


@pytest.mark.parametrize(("c", "jump"), [(0.6, 2.0), (1.0, 0.7)])
def test_splits_of_sampled_batches_are_above_the_exact_mixture(c: float, jump: float) -> None:
    """One record of three pushes up or down when it is drawn, the others do nothing."""
    steps, omega, rate = 10, 1.0, 1 / 3
    means, weights, spread = _mixture(c, jump, omega, steps, rate)
    x = np.linspace(-means.max() - 10 * spread, means.max() + 10 * spread, 2001)
    density = weights @ norm.pdf(x, means[:, None], spread)
    theorem = _free(c, jump, omega, steps, 3, 1)
    splits = [
        NoiseSplit(steps=4, closing=2, share=0.4),
        NoiseSplit(steps=2, closing=2, share=0.7),
        NoiseSplit(steps=10, closing=0, share=0.0),
    ]
    bounds = [theorem.composed(split, theorem.shift_mu(split))[0] for split in splits]
    for split in splits[:2]:
        likely = theorem.likely_shift(split)
        assert likely is not None
        assert max(likely.mus) == pytest.approx(float(theorem.shift_mu(split)), rel=1e-15)
        bounds.append(theorem.composed(split, theorem.shift_mu(split), likely)[0])
    for epsilon in (0.2, 1.0):
        gap = np.maximum(density - np.exp(epsilon) * density[::-1], 0)
        exact = float(np.sum(gap) * (x[1] - x[0]))
        assert exact > 1e-4
        for bound in bounds:
            assert exact <= bound.delta(epsilon) + 1e-9


def test_a_split_on_a_curved_interval_is_above_the_exact_law() -> None:
    width, push, omega, slope, n = 1.0, 0.4, 0.5, 0.3, 4
    line = Interval(width)
    p = q = line.start()
    base = line.x - slope * (line.x - width / 2)
    for _ in range(25):
        p = line.step(p, [(1 / n, base + push), (1 - 1 / n, base)], omega)
        q = line.step(q, [(1 / n, base - push), (1 - 1 / n, base)], omega)
    theorem = _made(
        "noisy-sgd-constrained-tradeoff", diameter=width, lipschitz=push, n_records=n,
        batch_size=1, steps=25, step_size=1, sigma=omega, smoothness=1, strong_convexity=slope,
    )  # fmt: skip
    for split in (
        NoiseSplit(steps=3, closing=1, share=0.5),
        NoiseSplit(steps=6, closing=4, share=0.3),
    ):
        bound = theorem.composed(split, theorem.shift_mu(split))[0]
        assert line.delta(p, q, 0.3) <= bound.delta(0.3) + 1e-7


@pytest.mark.parametrize("c", [0.3, 0.9, 1.0])
@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_distances_before_the_counted_steps_are_not_exceeded_more_often_than_said(
    c: float, rate: float
) -> None:
    used = np.array(list(product([0, 1], repeat=12)))
    weights = rate ** used.sum(axis=1) * (1 - rate) ** (12 - used.sum(axis=1))
    sums = used @ c ** np.arange(12)
    for level, p in zip(upper_quantiles(rate, c, 12), TAIL_PROBABILITIES, strict=True):
        assert weights[sums > level].sum() <= p
    many = upper_quantiles(rate, 1.0, 100_000)
    assert all(
        binom.sf(x, 100_000, rate) <= p for x, p in zip(many, TAIL_PROBABILITIES, strict=True)
    )
    assert many[-4] < 100_000 * rate + 12 * np.sqrt(100_000 * rate)


@pytest.mark.parametrize(
    ("rate", "ratio", "c"), [(0.01, 0.2, 0.99), (0.04, 0.05, 0.995), (0.0025, 0.4, 0.98)]
)
def test_the_printed_number_of_steps_is_that_of_a_grid_search(
    rate: float, ratio: float, c: float
) -> None:
    """The Gaussian limit of all ν, as the authors' figure code has it."""
    steps, b = 5000, round(rate * 10_000)
    nu, mu = np.arange(steps), 2 * ratio
    step = np.exp(mu**2) * norm.cdf(1.5 * mu) + 3 * norm.cdf(-0.5 * mu) - 2
    shift = np.sqrt(2) * mu * (c ** (nu + 1) - c**steps) / (1 - c)
    best = int(np.argmin(2 * step * rate**2 * (nu + 1) + shift**2))
    theorem = _free(c, 2 / b, 1 / (b * ratio), steps, 10_000, b)
    numbers = theorem.claimed().numbers
    assert abs(numbers["counted_steps"] - 1 - best) <= 1
    found = round(numbers["counted_steps"]) - 1
    assert numbers["shift_mu"] == pytest.approx(shift[found], rel=1e-11)
    assert numbers["step_mu"] == pytest.approx(mu, rel=1e-14)
    assert numbers["closing_mu"] == pytest.approx(np.sqrt(2) * mu, rel=1e-14)


def test_a_setting_of_the_figures_costs_less_than_the_claim_and_more_than_its_limit_says() -> None:
    """Few uses, each against little noise: components of the shift's law are far apart."""
    b, ratio, c = 25, 0.8, 0.98
    theorem = _free(c, 2 / b, 1 / (b * ratio), 20_000, 10_000, b)
    claimed = theorem.claimed().guarantee.epsilon(1e-5)
    assert claimed > 2.5 * 0.8816  # the Gaussian limit at the best ν
    assert 0.7 * claimed < theorem.certified().guarantee.epsilon(1e-5) < 0.8 * claimed


def test_the_printed_number_of_steps_on_a_bounded_domain() -> None:
    rate, ratio, eta, sigma, steps = 0.01, 0.25, 0.1, 3.0, 80_000
    tau, mu = np.arange(1, steps), 2 * np.sqrt(2) * ratio / sigma
    step = np.exp(mu**2) * norm.cdf(1.5 * mu) + 3 * norm.cdf(-0.5 * mu) - 2
    best = 1 + int(np.argmin(2 / (eta * sigma) ** 2 / tau + 2 * step * rate**2 * tau))
    theorem = _made(
        "noisy-sgd-constrained-tradeoff", diameter=1, lipschitz=100 * ratio, n_records=10_000,
        batch_size=100, steps=steps, step_size=eta, smoothness=1, sigma=sigma,
    )  # fmt: skip
    numbers = theorem.claimed().numbers
    assert abs(numbers["counted_steps"] - best) <= 1
    assert numbers["closing_mu"] == pytest.approx(mu, rel=1e-14)
    expected = np.sqrt(2 / numbers["counted_steps"]) / (eta * sigma)
    assert numbers["shift_mu"] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("noisy-sgd", {"batch_size": 20, "sigma": 2.0, "strong_convexity": 0.3}),
        ("noisy-sgd", {"batch_size": 5, "sigma": 0.25, "strong_convexity": 0.04}),
        ("noisy-sgd-constrained-tradeoff", {"batch_size": 16, "sigma": 0.05, "diameter": 1}),
        ("noisy-sgd-constrained-tradeoff", {"batch_size": 30, "sigma": 0.5, "diameter": 0.05}),
    ],
)
def test_the_claim_is_the_least_of_the_printed_ones(key: str, given: dict[str, float]) -> None:
    """Brute force over every number of counted steps, each composed by itself."""
    steps = 12
    theorem = _made(
        key, lipschitz=1, n_records=1000, steps=steps, step_size=0.1, smoothness=2, **given
    )
    assert isinstance(theorem, SplitDescent)
    printed = [theorem.printed(count) for count in range(1, steps + 1)]
    for delta in (1e-3, 1e-6):
        least = min(bound.epsilon(delta) for bound in printed)
        claimed = theorem.claimed().guarantee.epsilon(delta)
        assert least <= claimed <= least * (1 + 2e-6)
        assert theorem.certified().guarantee.epsilon(delta) <= claimed


def test_the_search_finds_what_random_splits_do_not_beat() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        run = SampledRun(
            steps=int(10 ** rng.uniform(0, 5)), rate=10 ** rng.uniform(-3, -0.5),
            step_sensitivity=10 ** rng.uniform(-2, 0), contraction=1 - 10 ** rng.uniform(-4, -0.5),
            diameter=rng.choice([np.inf, 10 ** rng.uniform(-1, 2)]),
        )  # fmt: skip
        found = run.rough_cost(run.best_split())
        tried = [run.rough_cost(_random_split(rng, run.steps)) for _ in range(300)]
        assert found <= min(tried) * (1 + 2e-3)


def test_the_best_of_several_is_the_best_in_every_respect() -> None:
    bounds = (GDP(0.5), PureDP(1.0))
    best = BestOf(bounds)
    for delta in (1e-12, 1e-3, 0.2):
        assert best.epsilon(delta) == min(bound.epsilon(delta) for bound in bounds)
        enclosure = best.bracket(delta)
        assert enclosure.lower <= best.epsilon(delta) == enclosure.upper
    for epsilon in (0.0, 0.5, 3.0):
        assert best.delta(epsilon) == min(bound.delta(epsilon) for bound in bounds)
        assert best.delta_bracket(epsilon).upper == best.delta(epsilon)
    assert best.renyi(2.0) == min(bound.renyi(2.0) for bound in bounds)
    for rate in (0.0, 0.1, 0.9):
        assert best.tradeoff(rate) == max(bound.tradeoff(rate) for bound in bounds)
    assert best.parameters() == {"bounds": 2.0}
    assert group(best, 2).epsilon(1e-9) == min(group(b, 2).epsilon(1e-9) for b in bounds)
    assert compose((best, 3)).epsilon(1e-6) <= compose((GDP(0.5), 3)).epsilon(1e-6) * (1 + 1e-5)
