"""What is read off sums on nested lattices, against plain loops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcalc.accounting.composition import lattice_sum
from dpcalc.accounting.composition.lattice.masses import (
    EXPONENTIAL,
    SLOPES,
    Masses,
)
from dpcalc.accounting.composition.lattice.rounds import rounds_of
from dpcalc.accounting.composition.lattice.rows import (
    EMPTY,
    UNDERFLOW_CUTOFF,
)
from dpcalc.accounting.composition.lattice.sums import (
    LatticeSum,
    ListedMasses,
    left_out,
    listed,
)
from dpcalc.accounting.losses import (
    UNIT_ROUNDOFF,
    DiscreteLoss,
    LaplaceLoss,
)
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove
from dpcalc.errors import NumericalFailure
from tests.unit.lattice_rows import FRAME, row


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
    with pytest.raises(NumericalFailure, match=r"^losses must add up to at most 600$"):
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
