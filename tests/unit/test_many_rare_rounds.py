"""Many rounds of rare events on the lattice: sums below a floor, weights of what splitting moves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from dpcalc.accounting.composition import bracket_epsilon, direct, splitting
from dpcalc.accounting.composition.lattice import Frame, Masses
from dpcalc.accounting.composition.splitting import Splitting, fall
from dpcalc.accounting.composition.sums import Sums
from dpcalc.accounting.laws import AtomicLaw
from dpcalc.accounting.subsampling import PoissonRemove, PoissonReplace
from tests.oracles.rare import rare_table_delta


def rare_table(seed: int) -> tuple[list[float], list[float], int, float]:
    """One common outcome and two rare ones, one of them with a loss below zero."""
    rng = np.random.default_rng(seed)
    rounds = int(rng.choice([300, 3000, 20_000]))
    rate = 10 ** rng.uniform(-3, -0.5) / rounds
    up, down = rng.uniform(0.05, 4, 2)
    p = [0.0, rate, rate * math.exp(-down) * rng.uniform(0.1, 1)]
    q = [0.0, rate * math.exp(-up), p[2] * math.exp(down)]
    p[0], q[0] = 1 - p[1] - p[2], 1 - q[1] - q[2]
    return (
        p,
        q,
        rounds,
        float(rng.choice([0.3, 0.8, 1.0, 2.0]) * up),
    )  # losses add up to some of them


def sums(seed: int) -> tuple[Sums, float, tuple[mpf, mpf]]:
    p, q, rounds, epsilon = rare_table(seed)
    common = math.log1p(-q[1] - q[2]) - math.log1p(-p[1] - p[2])
    losses = [-common, math.log(p[1] / q[1]), math.log(p[2] / q[2])]
    law = AtomicLaw(np.array(losses), np.array(p))
    found = direct._convolved([(law, rounds)], epsilon, epsilon / 4, 2048)
    return found, epsilon, rare_table_delta(p, q, rounds, epsilon)


def missed(seeds: range) -> int:
    count = 0
    for seed in seeds:
        found, epsilon, (low, high) = sums(seed)
        count += mpf(found.upper(epsilon)) < low or mpf(found.lower(epsilon)) > high
    return count


SEEDS = range(24)


def test_the_truth_is_between_the_ends() -> None:
    assert missed(SEEDS) == 0


def test_rounds_outnumber_the_points_and_sums_are_cut_at_a_floor() -> None:
    cut = [found for found, _, _ in map(sums, SEEDS) if found.frame.floor < found.rounds]
    assert len(cut) >= len(SEEDS) // 2
    assert any(found.falling > 0 for found in cut)


def test_a_split_that_adds_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sums, "_added", lambda *_: 0.0)
    assert missed(SEEDS) > 0


@given(st.floats(0, 1), st.floats(1e-4, 0.5), st.floats(0.05, 2.0), st.integers(0, 3))
@settings(max_examples=200)
def test_weights_cover_both_moments_of_every_split(
    share: float, step: float, reach: float, point: int
) -> None:
    """W >= max(E e^{λD}, E e^{-(1+λ)D})·e^{λED + λ²Var D/2}, from the split's two points."""
    rate = reach / step
    plan = Splitting(step, rate, 1.0, 1)
    loss = step * (point + share)
    weight = float(plan.weights(AtomicLaw(np.array([loss]), np.ones(1)))[0])
    up = math.expm1(-share * step) / math.expm1(-step)
    moves = np.array([-share * step, (1 - share) * step])
    chances = np.array([1 - up, up])
    mean = float(chances @ moves)
    spread = max(float(chances @ moves**2) - mean**2, 0.0)
    moment = max(chances @ np.exp(rate * moves), chances @ np.exp(-(1 + rate) * moves))
    needed = float(moment) * math.exp(rate * mean + rate**2 * spread / 2)
    # A share within the lattice's own tolerance of a point counts as on it.
    assert weight * (1 + 1e-7 * (1 + reach) ** 2) >= needed


def test_a_cell_counts_with_its_worst_outcome() -> None:
    edges = np.array([0.0, 0.2, 0.7, 1.0, 2.0])
    worst = splitting._between(edges, 1.0)
    assert worst.tolist() == pytest.approx([0.16, 0.25, 0.25, 0.25, 0.25])


def test_losses_in_any_order_are_weighted_alike() -> None:
    losses = np.array([0.31, -0.2, 0.9, 0.05])
    order = np.argsort(losses)
    sorted_, shuffled = (splitting._between(x, 0.25) for x in (losses[order], losses))
    assert sorted_.tolist() == shuffled[order].tolist()


def test_falling_is_no_less_than_what_falls() -> None:
    """Against the binomial tail of a round that falls by one step with probability r under Q."""
    rounds, r, floor, step = 400, 2e-3, 9, 0.1
    frame = Frame(step, 10, floor)
    q = np.array([r, 1 - r])
    masses = Masses(-1, q * np.exp([-step, 0.0]), (0.0, 0.0))
    tail = sum(math.comb(rounds, k) * r**k * (1 - r) ** (rounds - k) for k in range(floor, rounds))
    bound = fall([(masses, rounds)], frame)
    assert tail <= bound <= 50 * tail


def test_falling_counts_the_weights_of_rounds_that_do_not_fall() -> None:
    """Against the binomial sum of what falls, with a weight on half of the rounds that do not."""
    rounds, r, floor, step, weight = 60, 1e-3, 2, 0.1, 1.1
    values = np.array([r, 0.5 - r, 0.5 * weight])
    stays = float(values[1:].sum())
    tail = sum(
        math.comb(rounds, k) * r**k * stays ** (rounds - k) for k in range(floor, rounds + 1)
    )
    assert 0.02 < tail <= fall([(Masses(-1, values, (0.0, 0.0)), rounds)], Frame(step, 10, floor))


@pytest.mark.parametrize(
    ("pair", "rounds", "delta", "width"),
    [
        (PoissonReplace(0.641, 1.89e-8), 8525, 1.4e-28, 1e-4),
        (PoissonReplace(0.576, 9.1e-8), 599, 1.3e-23, 1e-5),
        (PoissonRemove(0.5, 1e-6), 1000, 1e-8, 1e-4),
    ],
)
def test_rare_events_over_many_rounds_are_enclosed_narrowly(pair, rounds, delta, width) -> None:
    found = bracket_epsilon([(pair, rounds)], delta)
    assert 0 < found.lower <= found.upper
    assert found.relative_width < width


def test_one_round_alone_is_a_lower_bound_and_the_first_event_nearly_all() -> None:
    """δ of n rounds is at least that of one, and for nq << 1 about n times that at ε + 0."""
    pair, rounds, delta = PoissonReplace(0.576, 9.1e-8), 599, 1.3e-23
    many = bracket_epsilon([(pair, rounds)], delta)
    one = bracket_epsilon([(pair, 1)], delta / rounds)
    assert many.lower >= 0.99 * one.lower
    assert many.upper <= 1.02 * one.upper
