"""Many rounds of rare events on nested lattices: sums below a floor, weights of what splitting moves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from dpcalc.accounting.composition import bracket_epsilon, lattice_sum
from dpcalc.accounting.composition.lattice import masses
from dpcalc.accounting.composition.lattice.frame import Frame
from dpcalc.accounting.composition.lattice.masses import SLOPES, Masses, Mode, settled, summed
from dpcalc.accounting.composition.lattice.rounds import rounds_of
from dpcalc.accounting.composition.lattice.rows import EMPTY, Row, added, halved
from dpcalc.accounting.composition.lattice.splitting import Splitting
from dpcalc.accounting.composition.lattice.sums import LatticeSum
from dpcalc.accounting.losses import DiscreteLoss
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove, PoissonReplace
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


def sums(seed: int) -> tuple[LatticeSum, float, tuple[mpf, mpf]]:
    p, q, rounds, epsilon = rare_table(seed)
    common = math.log1p(-q[1] - q[2]) - math.log1p(-p[1] - p[2])
    losses = [-common, math.log(p[1] / q[1]), math.log(p[2] / q[2])]
    law = DiscreteLoss(np.array(losses), np.array(p))
    found = lattice_sum.convolved(rounds_of([(law, rounds)]), epsilon, epsilon / 4, 2048, 4.0)
    return found, epsilon, rare_table_delta(p, q, rounds, epsilon)


def missed(seeds: range) -> int:
    count = 0
    for seed in seeds:
        found, epsilon, (low, high) = sums(seed)
        count += mpf(found.upper(epsilon)) < low or mpf(found.lower(epsilon)) > high
    return count


SEEDS = range(4)


def test_the_truth_is_between_the_ends() -> None:
    assert missed(SEEDS) == 0


def test_a_split_that_adds_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LatticeSum, "_bumps", lambda *_: 0.0)
    assert missed(SEEDS) > 0


def test_coarser_lattices_that_keep_only_p_mass_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is between two points, all moved to the left one: the upper end is then too low."""

    def lowered(row: Row, step: float, weight: float, rounding: float) -> Row:
        even = np.zeros(2 * (len(row.values) // 2 + 2))
        start = row.first % 2
        even[start : start + len(row.values)] = row.values
        first = (row.first - start) // 2
        return Row(first, even[::2] + even[1::2]) if len(row.values) else EMPTY

    monkeypatch.setattr(masses, "halved", lowered)
    assert missed(SEEDS) > 0


@given(st.floats(0, 1), st.floats(1e-4, 0.5), st.floats(0.05, 0.6), st.floats(-12, 12))
@settings(max_examples=300)
def test_a_split_does_not_raise_what_bounds_the_gain_from_below(
    share: float, step: float, reach: float, distance: float
) -> None:
    """E Ψ(u + D) <= Ψ(u) + b(W-terms)k(u), and k(u) <= W E k(u + D), from the split's two points."""
    plan = Splitting(reach / step)
    b, u = plan.height, np.array([distance * step])
    weight = float(plan.weights(step, np.array([share]))[0])
    up = math.expm1(-share * step) / math.expm1(-step)
    moves, chances = np.array([-share * step, (1 - share) * step]), np.array([1 - up, up])

    def smoother(x: np.ndarray) -> np.ndarray:
        return -np.expm1(-np.maximum(x, 0.0)) + plan.rise(x) - b * plan.bump(x)

    before, after = float(smoother(u)[0]), float(chances @ smoother(u + moves))
    bump, later = float(plan.bump(u)[0]), float(chances @ plan.bump(u + moves))
    rounding = 1e-14 * (1 + abs(before))
    assert before <= max(0.0, -math.expm1(-float(u[0]))) + rounding
    assert after <= before + b * (weight - 1) * bump + rounding
    assert bump <= weight * later * (1 + 1e-12)


def on_coarsest(values: list[float], first: int, above: float = 0.0) -> Masses:
    nothing = np.zeros(len(SLOPES))
    return Masses((Row(first, np.array(values)),), (above, 0.0), (EMPTY, 0.0), nothing)


UP = Mode(1, lifted=True)


def test_halving_keeps_p_and_q_mass() -> None:
    row = Row(-3, np.array([0.1, 0.2, 0.3, 0.25, 0.15]))
    coarse = halved(row, 0.2, 1.0, 0.0)
    for power in (0, -1):
        before = (row.values * np.exp(power * 0.1 * row.points)).sum()
        after = (coarse.values * np.exp(power * 0.2 * coarse.points)).sum()
        assert after == pytest.approx(before, rel=1e-14)


def test_every_mass_moves_to_the_finest_lattice_that_reaches_it() -> None:
    frame = Frame(1.0, 100, 100, 2, 4)
    rows = settled([Row(-5, np.ones(12)), EMPTY, EMPTY], frame)
    places = [
        (row.points[row.values > 0] * frame.step_of(k)).tolist() for k, row in enumerate(rows)
    ]
    assert places == [[-5.0, -4.0, -3.0, 3.0, 4.0, 5.0, 6.0], [-2.0, 2.0], [-1.0, 0.0, 1.0]]


def test_falling_is_no_less_than_what_falls() -> None:
    """A sum above the top that later rounds take down by more than the floor, against a binomial sum."""
    rounds, r, floor, step = 256, 2e-3, 9, 0.1
    frame = Frame(step, 10, floor, 0, 0)
    weighed = Mode(1, lifted=True, splitting=Splitting(1.0))
    found = summed([(on_coarsest([r, 1 - r - 1e-6], -1, 1e-6), rounds)], frame, weighed)
    tail = sum(math.comb(rounds, k) * r**k * (1 - r) ** (rounds - k) for k in range(floor, rounds))
    assert tail <= math.exp(float((found.falls - SLOPES).min())) <= 100 * tail


def test_sums_below_the_floor_are_moved_up_left_out_or_told_apart() -> None:
    frame = Frame(0.1, 10, 2, 0, 0)
    start = on_coarsest([0.1, 0.9], -1)
    low = sum(math.comb(4, k) * 0.1**k * 0.9 ** (4 - k) for k in (3, 4))
    for mode in (UP, Mode(-1, lifted=False), Mode(1, lifted=True, splitting=Splitting(1.0))):
        found = summed([(start, 4)], frame, mode)
        listed = added(*found.rows)
        assert listed.first >= -2
        kept = float(listed.values.sum())
        raised = float(found.raised[0].values.sum())
        if mode.splitting is not None:
            assert raised >= low
            assert kept + raised == pytest.approx(1, rel=1e-12)
        else:
            assert kept == pytest.approx(1 if mode.lifted else 1 - low, rel=0.02)
            assert raised == 0


@pytest.mark.parametrize(
    ("pair", "rounds", "delta", "width"),
    [
        (PoissonReplace(0.641, 1.89e-8), 8525, 1.4e-28, 1e-5),
        (PoissonReplace(0.576, 9.1e-8), 599, 1.3e-23, 1e-5),
        (PoissonRemove(0.5, 1e-6), 1000, 1e-8, 1e-5),
        (PoissonRemove(1.093, 3.07e-6), 18715, 8.5e-24, 1e-4),
        (PoissonReplace(0.666, 4.3e-8), 6099, 8.6e-13, 1e-5),
    ],
)
@pytest.mark.few(3)
def test_rare_events_over_many_rounds_are_enclosed_narrowly(pair, rounds, delta, width) -> None:
    found = bracket_epsilon([(pair, rounds)], delta, relative_width=width / 2)
    assert 0 < found.lower <= found.upper
    assert found.relative_width < width


def test_one_round_alone_is_a_lower_bound_and_the_first_event_nearly_all() -> None:
    """δ of n rounds is at least that of one, and for nq << 1 about n times that at ε + 0."""
    pair, rounds, delta = PoissonReplace(0.576, 9.1e-8), 599, 1.3e-23
    many = bracket_epsilon([(pair, rounds)], delta)
    one = bracket_epsilon([(pair, 1)], delta / rounds)
    assert many.lower >= 0.99 * one.lower
    assert many.upper <= 1.02 * one.upper
