"""Speed of the accounting engine next to dp-accounting's privacy-loss distributions, in one process.

Skips where dp-accounting is not installed. Processor times are compared, as ratios; run with
``-m campaign -s`` to see the table that docs/performance.md records.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpcalc.accounting.composition import driver
from dpcalc.accounting.enclosure import with_relative_width
from dpcalc.claims.solve import solve
from dpcalc.guarantees import GDP, PureDP, compose
from dpcalc.guarantees.composition import _cached_epsilon
from dpcalc.guarantees.mechanisms import poisson_subsampled_gaussian

pytestmark = pytest.mark.campaign


def measured(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The least of a few processor times, in seconds, and the last result."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        result = work()
        times.append(time.process_time() - begin)
    return min(times), result


@pytest.fixture(scope="module")
def peer() -> Any:
    return pytest.importorskip("dp_accounting")


def peer_epsilon(peer: Any, rounds: list[tuple[float, float, int]], delta: float) -> float:
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    for sigma, rate, count in rounds:
        accountant.compose(peer.PoissonSampledDpEvent(rate, peer.GaussianDpEvent(sigma)), count)
    return accountant.get_epsilon(delta)


def ours(rounds: list[tuple[float, float, int]], delta: float, width: float) -> Any:
    """The worse of both directions, as the peer computes it; nothing is remembered between calls."""
    _cached_epsilon.cache_clear()
    driver._kept.cache_clear()
    total = compose(*[(poisson_subsampled_gaussian(s, q, "add-remove"), n) for s, q, n in rounds])
    with with_relative_width(width):
        return total.bracket(delta)


def report(name: str, mine: float, theirs: float | None, width: float | None) -> None:
    ratio = "" if theirs is None else f" peer {theirs:.3f} s, ratio {theirs / mine:.1f}"
    bracket = "" if width is None else f" bracket {width:.1e}"
    print(f"\nspeed: {name}: {mine * 1e3:.1f} ms{ratio}{bracket}")  # noqa: T201


RNG = np.random.default_rng(0)
MANY = [
    (float(s), float(q), 50)
    for s, q in zip(RNG.uniform(0.7, 2, 200), RNG.uniform(0.002, 0.02, 200), strict=True)
]
CASES = [
    ("q=.01, sigma=1, T=1e4, delta=1e-5", [(1.0, 0.01, 10_000)], 1e-5, 1e-6, 3, 10),
    ("q=.01, sigma=1, T=1e4, delta=1e-15", [(1.0, 0.01, 10_000)], 1e-15, 1e-6, 3, 10),
    ("q=1/20000, sigma=.5, T=6e4, delta=.01", [(0.5, 1 / 20_000, 60_000)], 1e-2, 1e-5, 3, 10),
    ("200 different x 50, delta=1e-5", MANY, 1e-5, 1e-5, 1, 50),
]


@pytest.mark.parametrize(("name", "rounds", "delta", "width", "repeats", "least"), CASES)
def test_sampled_gaussians(
    peer: Any,
    name: str,
    rounds: list[tuple[float, float, int]],
    delta: float,
    width: float,
    repeats: int,
    least: float,
) -> None:
    """``least`` is the ratio aimed at."""
    mine, found = measured(lambda: ours(rounds, delta, width), repeats + 2)
    theirs, number = measured(lambda: peer_epsilon(peer, rounds, delta), min(repeats, 2))
    report(name, mine, theirs, found.relative_width)
    assert found.relative_width <= width
    assert theirs / mine > least
    if math.isfinite(number):
        assert number == pytest.approx(found.upper, rel=0.02)


def test_noise_for_a_budget(peer: Any) -> None:
    from dp_accounting import calibrate_dp_mechanism
    from dp_accounting.pld import PLDAccountant

    table = {"mechanism": "poisson-subsampled-gaussian", "rate": 0.01}
    mine, found = measured(lambda: solve(table, 10_000, 2.0, 1e-5), 1)  # answers are remembered
    theirs, value = measured(
        lambda: calibrate_dp_mechanism(
            PLDAccountant,
            lambda sigma: peer.SelfComposedDpEvent(
                peer.PoissonSampledDpEvent(0.01, peer.GaussianDpEvent(sigma)), 10_000
            ),
            2.0,
            1e-5,
            tol=1e-6,
        ),
        1,
    )
    report("noise for epsilon=2, q=.01, T=1e4", mine, theirs, None)
    assert found.value == pytest.approx(value, rel=1e-3)
    assert found.guarantee.epsilon(1e-5) <= 2.0
    assert theirs / mine > 10


def test_closed_forms_are_immediate() -> None:
    rounds = [(GDP(0.01 + 1e-5 * k), 1) for k in range(1000)]
    GDP(1.2345).epsilon(1e-6)

    def gaussians() -> float:
        from dpcalc.accounting.gaussian import gaussian_epsilon

        gaussian_epsilon.cache_clear()
        return compose(*rounds).epsilon(1e-6)

    mine, epsilon = measured(gaussians, 5)
    report("1000 different Gaussians", mine, None, None)
    exact = math.sqrt(math.fsum(part.mu**2 for part, _ in rounds))
    assert epsilon == pytest.approx(GDP(exact).epsilon(1e-6), rel=1e-12)
    pure, bracket = measured(lambda: compose((PureDP(0.01), 10**6)).bracket(1e-6), 5)
    report("1e6 rounds of 0.01-DP", pure, None, bracket.relative_width)
    assert bracket.relative_width < 1e-12


def test_cost_does_not_grow_with_equal_rounds_and_grows_linearly_with_different_ones() -> None:
    few, _ = measured(lambda: ours([(1.0, 0.001, 10**5)], 1e-5, 1e-6), 5)
    many, _ = measured(lambda: ours([(1.0, 0.001, 10**9)], 1e-5, 1e-6), 5)
    report("T=1e9 over T=1e5", many, few, None)
    assert many < 10 * few
    quarter, _ = measured(lambda: ours(MANY[:50], 1e-5, 1e-5), 2)
    whole, _ = measured(lambda: ours(MANY, 1e-5, 1e-5), 2)
    report("200 different over 50 different", whole, quarter, None)
    assert whole < 10 * quarter


def test_an_accountant_step_is_cheap_next_to_a_number() -> None:
    step = poisson_subsampled_gaussian(1.0, 0.01, "add-remove")
    number, _ = measured(lambda: compose((step, 1000)).epsilon(1e-5 * (1 + RNG.random() / 9)), 3)
    pair, _ = measured(lambda: [compose((step, n), GDP(0.1)) for n in range(1, 51)], 3)
    assert pair / 50 < number


@pytest.mark.parametrize(("sigma", "rate", "count"), [(1.0, 0.01, 1000), (1.0, 0.16, 8)])
def test_a_trade_off_curve_costs_a_few_epsilons(sigma: float, rate: float, count: int) -> None:
    total = compose((poisson_subsampled_gaussian(sigma, rate, "add-remove"), count))
    rates = np.linspace(0.005, 0.995, 100).tolist()
    one, _ = measured(lambda: ours([(sigma, rate, count)], 1e-6, 1e-6), 5)
    curve, ends = measured(lambda: total.tradeoff_brackets(rates), 3)  # type: ignore[attr-defined]
    report(f"100 rates of T={count} over one epsilon", curve, one, None)
    assert max(each.upper - each.lower for each in ends) <= 1e-3
    assert curve < 10 * one
