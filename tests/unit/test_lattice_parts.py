"""The parts of a convolution on nested lattices, each against plain loops or exact sums."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

from dpcalc.accounting.composition.lattice.frame import Frame
from dpcalc.accounting.composition.lattice.masses import SLOPES, Masses, Mode, settled, summed
from dpcalc.accounting.composition.lattice.placing import placed
from dpcalc.accounting.composition.lattice.rounds import Cut
from dpcalc.accounting.composition.lattice.rows import (
    EMPTY,
)
from dpcalc.accounting.composition.lattice.splitting import Splitting
from dpcalc.accounting.losses import (
    UNIT_ROUNDOFF,
)
from dpcalc.errors import NumericalFailure
from tests.unit.lattice_rows import FRAME, Law, law_of, q_mass, row


def delta(law: Law, epsilon: float) -> float:
    return math.fsum(p * -math.expm1(epsilon - x) for x, p in law.items() if x > epsilon)


def test_points_of_nested_lattices() -> None:
    assert [FRAME.step_of(k) for k in range(3)] == [0.1, 0.05, 0.025]
    coarse = {k * 4 for k in range(-20, 41)}
    fine = {k * 2 for k in range(-8, 9)} | set(range(-8, 9))
    found = np.rint(FRAME.points(-9.0, 9.0) / 0.025).astype(int)
    assert found.tolist() == sorted(coarse | fine)
    part = np.rint(FRAME.points(-0.26, 0.51) / 0.025).astype(int)
    assert part.tolist() == sorted(k for k in coarse | fine if -10.4 <= k <= 20.4)


def test_the_finest_lattice_that_reaches_a_loss() -> None:
    losses = np.array([0.0, 0.19, 0.21, -0.39, 0.41, -0.79, 0.81, 4.0])
    expected = [
        max(k for k in range(3) if k == 0 or abs(x) <= 8 * math.ldexp(0.1, -k)) for x in losses
    ]
    assert FRAME.levels(losses).tolist() == expected == [2, 2, 1, 1, 0, 0, 0, 0]
    at_ends = 0.1 * np.array([2.0, 4.0, 8.0])
    assert np.all(np.abs(at_ends) <= 8 * 0.1 * 2.0 ** -FRAME.levels(at_ends) * (1 + 1e-15))


def test_splits_are_weighed_as_is_proved() -> None:
    splitting, h = Splitting(3.0), 0.1
    share = np.array([0.0, 0.2, 0.5])
    rate = 3.0
    v = h * h * math.exp(h) * share * (1 - share)
    theta = v * (rate * math.exp(h) + rate**2 * math.exp(rate * h)) / 2
    grown = (1 + h * math.exp(h)) * math.exp(rate * h) * rate * (rate + 1) / 2
    truth = (1 + v * grown + theta) / (1 - theta)
    found = splitting.weights(h, share)
    np.testing.assert_allclose(found, truth, rtol=1e-9)
    assert np.all(found >= truth)
    assert splitting.half(h) == found[2]
    assert splitting.height == 1 / 7
    x = np.array([-2.0, -0.1, 0.0, 0.3, 1e6])
    np.testing.assert_allclose(splitting.bump(x)[:4], 1 / np.cosh(3 * x[:4]))
    assert 0 < splitting.bump(1e6) < 1e-100
    rises = np.where(x < 0, np.exp(3 * np.minimum(x, 0)), np.exp(-4 * np.minimum(x, 172.5))) / 7
    np.testing.assert_allclose(splitting.rise(x), rises)
    with pytest.raises(NumericalFailure, match=r"^expected a lattice whose splits move sums less"):
        Splitting(100.0).weights(0.1, np.array([0.5]))
    assert Splitting.of(0.01, 4.0).rate == pytest.approx(0.7 / 2 / 0.01)
    assert Splitting.of(0.01, 0.0).rate == pytest.approx(60.0)
    assert splitting.variance(0.1, 1.2) == pytest.approx(math.log(1.2) / 1.4 / 0.09)
    assert splitting.variance(0.1, 0.5) == pytest.approx(1e-9 / 1.4 / 0.09, rel=1e-6)


def test_weights_cover_what_a_split_adds() -> None:
    """Of k, and of the smoother gain Ψ, at every distance; what the factors are proved for."""
    splitting, h = Splitting(3.0), 0.1
    b = splitting.height

    def bump(u: float) -> float:
        return float(splitting.bump(u))

    def gain(u: float) -> float:
        rise = float(splitting.rise(np.array([u]))[0])
        return max(-math.expm1(-u), 0.0) + rise - b * bump(u)

    for share in (0.1, 0.5, 0.9):
        right = math.expm1(-share * h) / math.expm1(-h)
        weight = float(splitting.weights(h, np.array([share]))[0])
        for u in np.linspace(-1.5, 1.5, 61).tolist():
            places = ((u - share * h, 1 - right), (u + (1 - share) * h, right))
            raised = sum(p * gain(x) for x, p in places) - gain(u)
            # Ψ rises by at most bζk, and the weighed bump stays above bk(1 + ζ).
            weighed = weight * sum(p * bump(x) for x, p in places)
            assert raised <= b * (weighed - bump(u)) + 1e-12


def test_masses_sums_keep_both_masses_and_dominate() -> None:
    mode = Mode(1.0, lifted=True)
    atoms = {-0.35: 0.2, 0.0: 0.3, 0.05: 0.1, 0.475 - 0.075: 0.25, 1.3: 0.15}
    single = on(FRAME, atoms, mode)
    for count in (1, 2, 3, 6):
        found = summed([(single, count)], FRAME, mode)
        law = law_of(found.rows, FRAME)
        truth: Law = {0.0: 1.0}
        for _ in range(count):
            longer: Law = defaultdict(float)
            for x, p in truth.items():
                for y, q in atoms.items():
                    longer[round(x + y, 6)] += p * q
            truth = dict(longer)
        inside = [p for x, p in truth.items() if x <= 4.0 + 1e-9]
        if min(truth) > -2.0 and max(truth) <= 4.0:  # nothing leaves the lattices
            assert sum(law.values()) == pytest.approx(1.0, rel=1e-13)
            assert q_mass(law) == pytest.approx(q_mass(truth), rel=1e-12)
            assert found.above == (0.0, 0.0)
        assert sum(law.values()) + found.above[0] == pytest.approx(1.0, rel=1e-13)
        assert math.fsum(inside) >= sum(law.values()) - 0.2
        for epsilon in (-0.4, 0.0, 0.31, 1.7):
            exact = delta(truth, epsilon)
            grown = delta(law, epsilon) + found.above[0] - math.exp(epsilon) * found.above[1]
            assert grown >= exact * (1 - 1e-13)
            assert grown - exact <= 2e-3 * count


def on(frame: Frame, atoms: Law, mode: Mode) -> Masses:
    losses = np.array(list(atoms))
    part = Cut(
        losses,
        np.array(list(atoms.values())),
        np.zeros(len(losses)),
        np.zeros(len(losses)),
        np.zeros(len(losses), dtype=bool),
    )
    return placed(part, (0.0, 0.0), frame, mode)


@pytest.mark.parametrize(("rounding", "weighed"), [(1.0, False), (-1.0, False), (1.0, True)])
def test_sums_that_leave_the_lattices(rounding: float, weighed: bool) -> None:
    """P- and Q-mass above the top, what the floor takes, and how far sums may fall."""
    frame = Frame(step=0.5, top=6, floor=4, finest=0, half=1)
    splitting = Splitting(0.3) if weighed else None
    mode = Mode(rounding, lifted=rounding > 0, splitting=splitting)
    atoms = {-1.5: 0.25, 0.0: 0.25, 2.0: 0.5}
    found = summed([(on(frame, atoms, mode), 2)], frame, mode)
    law = law_of(found.rows, frame)
    pairs = [(x + y, p * q) for x, p in atoms.items() for y, q in atoms.items()]
    for loss in (-1.5, 0.0, 0.5, 2.0):
        mass = sum(p for x, p in pairs if x == loss)
        assert law[loss] == pytest.approx(mass, rel=1e-12)
    low = sum(p for x, p in pairs if x < -2.0)  # -3, below the floor of -2
    if rounding > 0 and not weighed:
        assert law[-2.0] == pytest.approx(low, rel=1e-12)
        assert law[-2.0] > low
    else:
        assert -2.0 not in law
    if rounding > 0 and weighed:
        assert found.raised[0].first == -4
        assert found.raised[0].values.tolist() == pytest.approx([low], rel=1e-12)
    else:
        assert len(found.raised[0].values) == 0
    assert found.raised[1] == 0
    above = sum(p for x, p in pairs if x > 3.0)
    assert (found.above[0] - above) * rounding > 0
    assert found.above[0] == pytest.approx(above, rel=1e-12)
    q_above = 0.0 if weighed else sum(p * math.exp(-x) for x, p in pairs if x > 3.0)
    assert found.above[1] == pytest.approx(q_above, rel=1e-11)
    assert (q_above - found.above[1]) * rounding >= 0
    # A round takes 1.5 at most, once.
    slopes = SLOPES / (frame.step * frame.floor) + (0 if weighed else 1)
    with np.errstate(over="ignore"):
        falls = np.log(1 + 0.25 * np.expm1(slopes * 1.5))
    assert np.all(found.falls >= falls)
    np.testing.assert_allclose(found.falls, falls, rtol=1e-8, atol=2e-9)


def test_what_was_above_or_raised_before_is_carried_on() -> None:
    frame = Frame(step=0.5, top=6, floor=4, finest=0, half=1)
    for weighed in (False, True):
        mode = Mode(1.0, lifted=True, splitting=Splitting(0.3) if weighed else None)
        left = on(frame, {-2.5: 0.125, 0.0: 0.25, 2.0: 0.25, 3.5: 0.375}, mode)
        right = on(frame, {-1.0: 0.5, 1.5: 0.25, 4.0: 0.25}, mode)
        found = summed([(left, 1), (right, 1)], frame, mode)
        law = law_of(found.rows, frame)
        first = {0.0: 0.25, 2.0: 0.25} if weighed else {-2.0: 0.125, 0.0: 0.25, 2.0: 0.25}
        second = {-1.0: 0.5, 1.5: 0.25}
        pairs = [(x + y, p * q) for x, p in first.items() for y, q in second.items()]
        raised = [(-2.0 + y, 0.125 * q) for y, q in second.items()] if weighed else []
        if not weighed:
            assert law[-2.0] == pytest.approx(0.0625, rel=1e-12)  # -3 is lifted
        for x, p in pairs:
            if -2.0 < x <= 3.0:
                assert law[x] == pytest.approx(p, rel=1e-12)
        held = sum(first.values())
        above = sum(p for x, p in pairs if x > 3.0) + 0.375 * (0.75 + 0.25) + held * 0.25
        assert found.above[0] == pytest.approx(above, rel=1e-12)
        if weighed:
            assert found.above[1] == 0
            row_, higher = found.raised
            kept = {0.5 * k: v for k, v in zip(row_.points, row_.values, strict=True) if v}
            expected: Law = defaultdict(float)
            for x, p in raised:
                expected[max(x, -2.0)] += p
            assert kept == pytest.approx(dict(expected), rel=1e-12)
            assert higher == pytest.approx(0.125 * 0.25, rel=1e-12)
        else:
            q = [math.exp(-3.5) * 0.375, math.exp(-4.0) * 0.25]
            inside = [q_mass(first), q_mass(second)]
            above_q = sum(p * math.exp(-x) for x, p in pairs if x > 3.0)
            # What the floor lifted has the Q-mass of where it is now.
            above_q += q[0] * (inside[1] + q[1]) + inside[0] * q[1]
            assert found.above[1] == pytest.approx(above_q, rel=1e-11)


def test_masses_rest_on_the_finest_lattice_that_reaches_them() -> None:
    frame = Frame(step=0.4, top=10, floor=10, finest=2, half=4)
    rows = settled([row(-3, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0), row(-3, 0.5), EMPTY], frame)
    # Half of `half`: numbers up to 2 move on, to twice their number.
    assert law_of([rows[0]], frame) == {-3 * 0.4: 1.0, 3 * 0.4: 7.0}
    second = law_of([EMPTY, rows[1]], frame)
    assert second == {-4 * 0.2: 2.0, -3 * 0.2: 0.5, 4 * 0.2: 6.0}
    third = law_of([EMPTY, EMPTY, rows[2]], frame)
    assert third == {-4 * 0.1: 3.0, 0.0: 4.0, 4 * 0.1: 5.0}


def test_the_allowance_of_a_sum() -> None:
    assert Mode(1.0, lifted=True).outward(100.0) == 1 + 1.01 * 108 * UNIT_ROUNDOFF
    assert Mode(-1.0, lifted=True).outward(100.0) == 1 - 1.01 * 108 * UNIT_ROUNDOFF
    assert Mode(1.0, lifted=True).weight(0.1) == 1.0
    assert Mode(1.0, lifted=True, splitting=Splitting(3.0)).weight(0.1) == Splitting(3.0).half(0.1)
