"""Rounds put on nested lattices, and what is read off their sums, against plain loops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcalc.accounting.composition import lattice_sum
from dpcalc.accounting.composition.lattice.masses import (
    EXPONENTIAL,
    SLOPES,
    Frame,
    Masses,
    Mode,
)
from dpcalc.accounting.composition.lattice.placing import placed
from dpcalc.accounting.composition.lattice.rounds import Cut, Round, cut, rounds_of
from dpcalc.accounting.composition.lattice.rows import (
    EMPTY,
    UNDERFLOW_CUTOFF,
)
from dpcalc.accounting.composition.lattice.splitting import Splitting
from dpcalc.accounting.composition.lattice.sums import (
    LatticeSum,
    ListedMasses,
    left_out,
    listed,
)
from dpcalc.accounting.losses import (
    UNIT_ROUNDOFF,
    DiscreteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    RandomisedResponseLoss,
)
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove, WithoutReplacement
from dpcalc.errors import NumericalFailure
from tests.unit.test_lattice_parts import FRAME, law_of, q_mass, row


@pytest.mark.parametrize("up", [1.0, -1.0])
def test_a_table_is_placed_between_its_points(up: float) -> None:
    mode = Mode(up, lifted=up > 0)
    atoms = {-2.2: 0.1, -0.33: 0.2, 0.06: 0.3, 1.234: 0.2, 4.4: 0.05}
    losses, masses = np.array(list(atoms)), np.array(list(atoms.values()))
    part = Cut(losses, masses, 0.01 * masses, np.zeros(5), np.zeros(5, dtype=bool))
    found = placed(part, (1e-3, 0.02), FRAME, mode)
    law = law_of(found.rows, FRAME)
    seen = {x: p * (1 + up * 0.01) for x, p in atoms.items()}
    low = seen[-2.2] + 1e-3
    inside = {x: p for x, p in seen.items() if -2.0 <= x <= 4.0}
    if up > 0:
        assert law[-2.0] == pytest.approx(low, rel=1e-13)
        law[-2.0] -= low
    assert math.fsum(law.values()) == pytest.approx(sum(inside.values()), rel=1e-12)
    assert q_mass(law) == pytest.approx(q_mass(inside), rel=1e-12)
    assert sorted(x for x, p in law.items() if p > 1e-9) == pytest.approx(
        [-0.35, -0.3, 0.05, 0.075, 1.2, 1.3]
    )
    infinite = 0.02 + 1e-3 if up > 0 else 0.02 * (1 - 1e-12)
    assert found.above[0] == pytest.approx(seen[4.4] + infinite, rel=1e-13)
    assert found.above[1] == pytest.approx(seen[4.4] * math.exp(-4.4), rel=1e-12)
    assert found.raised[1] == 0.0
    assert len(found.raised[0].values) == 0
    assert found.falls.tolist() == [0.0] * len(SLOPES)


@pytest.mark.parametrize("dense", [False, True])
def test_a_table_is_weighed_by_its_splits(dense: bool) -> None:
    splitting = Splitting(2.0)
    mode = Mode(1.0, lifted=True, splitting=splitting)
    losses, masses = np.array([-2.2, 0.06, 0.395, 1.234]), np.array([0.1, 0.3, 0.2, 0.4])
    part = Cut(losses, masses, 0.01 * masses, np.full(4, 1e-3), np.full(4, dense))
    found = placed(part, (1e-3, 0.0), FRAME, mode)
    law = law_of(found.rows, FRAME)
    total = 0.0
    for loss, mass in zip(losses[1:], masses[1:], strict=True):
        # Next to the end of a lattice, 0.4, a cell may reach into the coarser one.
        level = 2 if loss < 0.1 else (1 if loss < 0.395 or not dense else 0)
        level = 0 if loss > 1 else level
        step = 0.1 * 2.0**-level
        share = 0.5 if dense else loss / step - math.floor(loss / step)
        total += mass * 1.01 * float(splitting.weights(step, np.array([share]))[0])
    assert math.fsum(law.values()) == pytest.approx(total * math.exp(2e-3), rel=1e-12)
    assert found.raised[0].first == -20
    assert found.raised[0].values.tolist() == pytest.approx([0.1 * 1.01 + 1e-3], rel=1e-13)


def test_masses_of_a_round_and_their_errors() -> None:
    masses = np.array([0.5, 0.25, 0.25 + 3e-13, 0.0])
    errors = np.array([1e-13, 1e-13, 1e-13, 0.0])
    whole = Cut(np.zeros(4), masses, errors, np.zeros(4), np.zeros(4, dtype=bool))
    normal = whole.normalised()
    assert normal.sums
    assert math.fsum(normal.masses) == pytest.approx(1.0, abs=2e-16)
    rest = math.fsum(masses) - 1 + 4 * UNIT_ROUNDOFF
    np.testing.assert_allclose(normal.errors, errors + rest * masses, rtol=1e-12)
    off = Cut(np.zeros(4), masses * 0.99, errors, np.zeros(4), np.zeros(4, dtype=bool))
    assert off.normalised() is off
    for sign in (1.0, -1.0):
        rounded = whole.certain(sign)
        np.testing.assert_array_equal(rounded.masses, np.maximum(masses + sign * errors, 0))
        assert not rounded.errors.any()
        kept = normal.certain(sign)
        np.testing.assert_array_equal(kept.masses, normal.masses)
        np.testing.assert_array_equal(kept.errors, normal.errors)
    relative = errors[:3] / masses[:3]
    spread = math.sqrt(float((masses[:3] * relative**2).sum()))
    assert whole.drift == pytest.approx((spread, relative.max()))
    nothing = Cut(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1, dtype=bool))
    assert nothing.drift == (0.0, 0.0)
    doubtful = Cut(np.zeros(1), np.array([1e-3]), np.array([1e-2]), np.zeros(1), np.zeros(1, bool))
    assert doubtful.certain(-1.0).masses.tolist() == [0.0]


def test_parts_become_rounds() -> None:
    table = DiscreteLoss(np.array([1.0, -1.0]), np.array([0.3, 0.7]), infinite_mass=0.0)
    parts = [
        (PoissonRemove(1.0, 0.1), 3),
        (table, 2),
        (GaussianLoss(0.5), 1),
        (LaplaceLoss(0.7, 0.7), 4),
        (RandomisedResponseLoss.of({0.7: 3, 0.2: 5}), 2),
    ]
    found = rounds_of(parts)
    assert found is not None
    assert [part.count for part in found] == [3, 2, 1, 4, 6, 10]
    assert [part.pair is None for part in found] == [False, True, False, False, True, True]
    assert [part.atoms is None for part in found] == [True, False, True, False, False, False]
    gaussian = found[2].pair
    assert isinstance(gaussian, PoissonRemove)
    assert (gaussian.sigma, gaussian.rate) == (1 / (0.5 * (1 + 1e-15)), 1.0)
    ends = found[3].atoms
    assert ends is not None
    assert ends.losses.tolist() == [-0.7, 0.7]
    assert ends.masses.tolist() == [math.exp(-0.7) / 2, 0.5]
    low, high = (DiscreteLoss.delta(found[3].rough, 0.3)[k] for k in (0, 1))
    assert low - 1e-4 <= 1 - math.exp(-0.2) <= high < 1 - math.exp(-0.2) + 1e-4
    response = found[4].atoms
    assert response is not None
    p = 1 / (1 + math.exp(-0.7))
    np.testing.assert_allclose(response.masses, [1 - p, p], rtol=1e-15)
    assert rounds_of([(GaussianLoss(1e-7), 1)]) is None
    assert rounds_of([(GaussianLoss(41.0), 1)]) is None
    assert rounds_of([(GaussianLoss(1e-6), 1), (GaussianLoss(40.0), 1)]) is not None
    assert rounds_of([(table, 1), (GaussianMixtureLoss((0.5,), (0.5,)), 1)]) is None


def test_the_error_of_a_rounds_losses() -> None:
    losses = np.array([-0.5, 0.0, 2.0])
    table = DiscreteLoss(losses, np.full(3, 1 / 3))
    plain = Round(1, None, table, table, shift=0.25)
    unit = UNIT_ROUNDOFF
    np.testing.assert_allclose(plain.loss_error(losses), unit * (128 * np.abs(losses) + 1))
    sampled = Round(1, PoissonRemove(1.0, 0.1), None, table)
    np.testing.assert_allclose(sampled.loss_error(losses), 128 * unit * (np.abs(losses) + 0.1))


@pytest.mark.parametrize("up", [1.0, -1.0])
@pytest.mark.parametrize("shift", [0.0, 0.0314])
@pytest.mark.parametrize(
    "pair", [PoissonRemove(1.0, 0.1), WithoutReplacement(1.2, 0.3)], ids=["plain", "mirrored"]
)
def test_cells_keep_the_masses_of_a_pair(pair, shift: float, up: float) -> None:
    """P-mass one, Q-mass one, and the profile of the pair up to a few steps' squares."""
    table = DiscreteLoss(np.zeros(1), np.zeros(1))
    frame = Frame(step=0.05, top=60, floor=60, finest=3, half=16)
    found = cut(Round(1, pair, None, table, shift), frame, up)
    assert found.sums
    assert math.fsum(found.masses) == pytest.approx(1.0, abs=1e-13)
    held = found.losses + shift
    q = found.masses * np.exp(-held)
    assert math.fsum(q) == pytest.approx(1.0, abs=1e-11)
    assert found.errors.sum() < 1e-12
    assert np.all(found.blurs < 1e-11)
    exact = cut(Round(1, pair, None, table, shift), Frame(0.01, 300, 300, 0, 16), up)
    for epsilon in (-0.3, 0.0, 0.2, 1.0):
        rough = float((found.masses * -np.expm1(np.minimum(epsilon - held, 0))).sum())
        fine = exact.losses + shift
        sharp = float((exact.masses * -np.expm1(np.minimum(epsilon - fine, 0))).sum())
        assert abs(rough - sharp) < 3e-4
    # Beyond small lattices cells are kept by both their masses.
    small = cut(Round(1, pair, None, table, shift), Frame(0.05, 4, 4, 0, 2), up)
    assert math.fsum(small.masses) == pytest.approx(1.0, abs=1e-13)
    assert float((small.masses * np.exp(-small.losses - shift)).sum()) == pytest.approx(
        1.0, abs=1e-11
    )
    beyond = np.abs(small.losses) > 0.25
    assert not small.dense[beyond].any()
    value = float((small.masses * -np.expm1(np.minimum(1.0 - small.losses - shift, 0))).sum())
    fine = exact.losses + shift
    sharp = float((exact.masses * -np.expm1(np.minimum(1.0 - fine, 0))).sum())
    assert value == pytest.approx(sharp, rel=2e-2)
    # Losses next to a lattice point were moved onto it: no cell is astride one.
    inside = (np.abs(found.losses) < 0.79) & (np.abs(held) > 1e-6)
    step = 0.05 * 2.0 ** -frame.levels(found.losses)
    share = found.losses / step - np.floor(found.losses / step)
    near = np.minimum(share, 1 - share)[inside & found.dense]
    assert np.all((near < 1e-13) | (near > 1e-9))  # but for the rounding of the quotient


def test_a_table_alone_has_what_is_left_at_zero() -> None:
    table = DiscreteLoss(np.array([1.0, -1.0]), np.array([0.3, 0.5]), infinite_mass=0.05)
    found = cut(Round(1, None, table, table), FRAME, 1.0)
    np.testing.assert_allclose(found.losses, [1.0, -1.0, 0.0], atol=2e-14)
    assert found.losses[0] > 1.0 > -1.0 < found.losses[1]
    np.testing.assert_allclose(found.masses, [0.3, 0.5, 0.15], rtol=1e-14)
    np.testing.assert_allclose(found.errors, 8 * UNIT_ROUNDOFF * found.masses)
    assert not found.dense.any()
    down = cut(Round(1, None, table, table), FRAME, -1.0)
    np.testing.assert_allclose(down.losses - found.losses, -2 * found.blurs, rtol=0.2, atol=1e-30)
    full = DiscreteLoss(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    assert len(cut(Round(1, None, full, full), FRAME, 1.0).losses) == 2


def sums_of(parts, epsilon: float, unit: float = 0.1, points: int = 2048) -> LatticeSum:
    rounds = rounds_of(parts)
    assert rounds is not None
    return lattice_sum.convolved(rounds, epsilon, unit, points, 4.0)


PARTS = [(PoissonRemove(1.0, 0.01), 5), (LaplaceLoss(0.3, 0.3), 2)]


def test_the_upper_end_alone_is_the_same_and_claims_nothing_below() -> None:
    rounds = rounds_of(PARTS)
    assert rounds is not None
    both = sums_of(PARTS, 0.5)
    alone = lattice_sum.convolved(rounds, 0.5, 0.1, 2048, 4.0, upper_only=True)
    for epsilon in (0.0, 0.1, 0.5):
        assert alone.upper(epsilon) == both.upper(epsilon)
        assert alone.lower(epsilon) == 0 < both.lower(epsilon)


@pytest.mark.parametrize("doubt", [1e-12, 1e-4])
def test_both_ends_are_what_their_masses_say(doubt: float) -> None:
    found = replace(sums_of(PARTS, 0.5), drifts=((5, (doubt / 3, doubt)), (2, (doubt, doubt))))
    unit = UNIT_ROUNDOFF
    for epsilon in (0.1, 0.5):
        slip = 8 * unit * (abs(found.shift) + epsilon)
        at = epsilon - found.shift
        held = found.upper_masses
        gained = float((held.masses * -np.expm1(np.minimum(at - held.losses, 0))).sum())
        over = held.above[0] - math.exp(at) * held.above[1]
        whole_gain = gained + over
        drift = found._drifted(whole_gain)
        whole = (gained + over) * drift + found.discarded_mass
        whole += 1.001 * held.above[0] * held.fallen
        assert found.upper(epsilon) == pytest.approx(whole, rel=1e-11)
        held = found.lower_masses
        gained = float((held.masses * -np.expm1(np.minimum(at - held.losses, 0))).sum())
        over = held.above[0] - math.exp(at) * held.above[1]
        rise = float((held.masses * found.splitting.rise(held.losses - at)).sum())
        sure = (gained + over + rise) / found._drifted((gained + over + rise) / math.e / 2)
        bumps = float((found.moved.masses * found.splitting.bump(found.moved.losses - at)).sum())
        raised, higher = found.raised
        distance = np.minimum(raised.losses - at, 0.0)
        bumps += float((raised.masses * found.splitting.bump(distance)).sum()) + higher
        margin = max(found.reach - found.shift - at, 0.0)
        far = float(found.splitting.bump(margin)) + found.moved.fallen
        bumps += found.moved.above[0] * far
        least = sure - found.splitting.height * bumps - found.discarded_mass
        assert found.lower(epsilon) == pytest.approx(least, rel=1e-9)
        assert found.lower(epsilon) <= found.upper(epsilon)
        if doubt < 1e-9:
            assert found.upper(epsilon) - found.lower(epsilon) < 3e-3 * found.upper(epsilon)
        held = found.upper_masses
        slope = float((held.masses * np.exp(at - held.losses))[held.losses > at].sum())
        slope += math.exp(at) * held.above[1]
        assert found.unit(epsilon) == pytest.approx(whole_gain / slope, rel=1e-9)
        ratio = float((found.moved.masses * found.splitting.bump(found.moved.losses - at)).sum())
        held = found.lower_masses
        ratio /= float((held.masses * found.splitting.bump(held.losses - at)).sum())
        variance = math.log(ratio) / 1.4 / (found.splitting.rate * found.frame.step) ** 2
        assert found.variance(epsilon) == pytest.approx(variance, rel=1e-9)
        assert slip < 1e-14
    # Beyond its reach the upper end says what it says there, the lower one nothing false.
    assert found.upper(3.0) == found.upper(found.reach)
    assert found.lower(3.0) <= found.lower(0.5)


def test_the_reach_the_shift_and_what_was_left_out() -> None:
    found = sums_of(PARTS, 0.5, unit=0.2)
    assert found.reach == pytest.approx(0.7)
    assert sums_of(PARTS, 5.0, unit=0.2).reach == pytest.approx(6.0)
    rounds = rounds_of(PARTS)
    assert rounds is not None
    frame = found.frame
    points = frame.top + frame.floor + 4 * frame.half * frame.finest
    assert left_out(frame, 7) == pytest.approx(56 * UNDERFLOW_CUTOFF * points)
    assert found.discarded_mass == pytest.approx(left_out(frame, 7) + 7 * 8e-280, rel=1e-12)
    assert [count for count, _ in found.drifts] == [5, 2]
    assert frame.step * frame.top >= found.reach - found.shift
    assert frame.half == 2048 // 8
    assert frame.finest == math.ceil(math.log2(7) / 2) + 2
    # The typical loss of a round is taken from it: half of those of Laplace lie at its end.
    assert abs(found.shift) < 1.0


def test_how_much_the_errors_of_masses_can_change_a_mean() -> None:
    found = sums_of(PARTS, 0.5)
    for value in (0.9, 1e-3, 1e-200, 0.0, 2.0):
        depth = -math.log(min(max(value, 1e-300), 1.0)) + 1e-9
        total = 0.0
        for rounds, (spread, most) in found.drifts:
            order = max(1.0, min(math.sqrt(2 * depth / rounds) / spread, 1 / most))
            grown = rounds * order * spread**2 / 2 * math.exp(order * most)
            total += min(depth / order + grown, 1.01 * rounds * most)
        assert found._drifted(value) == pytest.approx(math.exp(total), rel=3e-15)
        assert found._drifted(value) >= math.exp(total)


def test_masses_are_listed_by_their_losses() -> None:
    rows = (row(-1, 0.1, 0.0, 0.3), row(3, 0.2), EMPTY)
    losses, masses = listed(rows, FRAME)
    np.testing.assert_allclose(losses, [-0.1, 0.1, 0.15])
    assert masses.tolist() == [0.1, 0.3, 0.2]
    # A sum above the top falls by more than the floor with a chance that Chernoff's bounds give.
    falls = np.full(len(SLOPES), 2.0)
    whole = Masses(rows, (0.1, 0.01), (EMPTY, 0.0), falls)
    floor = FRAME.step * FRAME.floor
    orders = SLOPES / floor
    weighed = ListedMasses.of(whole, FRAME, weighed=True)
    assert weighed.fallen == 0.0
    plain = ListedMasses.of(whole, FRAME)
    exponent = 2.0 - SLOPES - floor - np.log1p(orders) - orders * np.log1p(1 / orders)
    assert plain.fallen == pytest.approx(math.exp(exponent.min()), abs=1e-300)
    rising = Masses(rows, (0.1, 0.01), (EMPTY, 0.0), 0.01 * SLOPES**2)
    exponent = 0.01 * SLOPES**2 - SLOPES
    found = ListedMasses.of(rising, FRAME, weighed=True).fallen
    assert found == pytest.approx(math.exp(exponent.min()), rel=1e-6)
    exponent -= floor + np.log1p(orders) + orders * np.log1p(1 / orders)
    found = ListedMasses.of(rising, FRAME).fallen
    assert found == pytest.approx(math.exp(exponent.min()), rel=1e-6)
    certain = Masses(rows, (0.1, 0.01), (EMPTY, 0.0), 9 * SLOPES)
    assert ListedMasses.of(certain, FRAME, weighed=True).fallen == 1.0
    assert ListedMasses.of(whole, FRAME).above == (0.1, 0.01)
    assert EXPONENTIAL == 1300


def test_how_many_points_and_how_fine() -> None:
    rounds = rounds_of([(LaplaceLoss(0.3, 0.3), 13)])
    assert rounds is not None
    # 13 = 1101b: four bits and three ones, five sums.
    assert lattice_sum._most_points(rounds) == int(math.sqrt(2.5e9 / 5))
    one = rounds_of([(LaplaceLoss(0.3, 0.3), 1)])
    assert one is not None
    assert lattice_sum._most_points(one) == 2**15
    many = rounds_of([(LaplaceLoss(0.3, 0.3), 2**300 - 1)])
    assert many is not None
    assert lattice_sum._most_points(many) is None
    assert lattice_sum._finer(2048, 1.5, 10**6) == 4096
    assert lattice_sum._finer(2048, 16.0, 10**6) == math.ceil(1.2 * 2048 * 4)
    assert lattice_sum._finer(2048, 1e9, 32768) == 32768


def test_the_lattices_reach_from_below_zero_to_above_the_reach() -> None:
    rounds = rounds_of([(LaplaceLoss(0.3, 0.3), 16)])
    assert rounds is not None
    wide = lattice_sum._framed(rounds, 4.0, 0.01, 1000)
    assert wide.step == pytest.approx(6.0 / 1000)
    assert (wide.floor, wide.top) == (
        math.ceil(1.0 / wide.step),
        wide.floor + math.ceil(4 / wide.step),
    )
    spread = lattice_sum._framed(rounds, 4.0, 1.0, 1000)
    assert spread.step == pytest.approx(34.0 / 1000)
    assert spread.floor == math.ceil(15 / spread.step)
    assert (spread.finest, spread.half) == (4, 125)
    single = rounds_of([(LaplaceLoss(0.3, 0.3), 1)])
    assert single is not None
    assert lattice_sum._framed(single, 4.0, 1.0, 1000).finest == 0
    below = lattice_sum._framed(rounds, -4.0, 0.0, 1000)
    assert below.step == pytest.approx(10.0 / 1000)
    assert below.top == below.floor == math.ceil(5.0 / below.step)
    with pytest.raises(NumericalFailure, match=r"^losses that add up to at most 600 were needed$"):
        lattice_sum._framed(rounds, 401.0, 0.01, 1000)
    assert lattice_sum._framed(rounds, 399.0, 0.01, 1000).top > 0


def test_the_common_losses_are_taken_off() -> None:
    table = DiscreteLoss(np.array([0.02, -0.01, 3.0]), np.array([0.5, 0.4, 0.1]))
    rounds = rounds_of([(table, 9)])
    assert rounds is not None
    shifted, spread = lattice_sum._shifted(rounds, 0.4)
    mean = (0.5 * 0.02 - 0.4 * 0.01) / 0.9
    assert shifted[0].shift == pytest.approx(mean)
    variance = 9 * (0.5 * (0.02 - mean) ** 2 + 0.4 * (0.01 + mean) ** 2)
    assert spread == pytest.approx(math.sqrt(variance))
    # With less than half the mass near zero all losses are common.
    rare = DiscreteLoss(np.array([0.02, 2.5, 3.0]), np.array([0.2, 0.3, 0.5]))
    rounds = rounds_of([(rare, 1)])
    assert rounds is not None
    shifted, _ = lattice_sum._shifted(rounds, 0.0)
    assert shifted[0].shift in (pytest.approx(2.254), pytest.approx((0.004 + 0.75) / 0.5))
