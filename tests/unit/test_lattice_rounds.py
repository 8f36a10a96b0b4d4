"""Rounds put on nested lattices, and what is read off their sums, against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcalc.accounting.composition.lattice.frame import Frame
from dpcalc.accounting.composition.lattice.masses import SLOPES, Mode
from dpcalc.accounting.composition.lattice.placing import placed
from dpcalc.accounting.composition.lattice.rounds import Cut, Round, cut, rounds_of
from dpcalc.accounting.composition.lattice.splitting import Splitting
from dpcalc.accounting.losses import (
    UNIT_ROUNDOFF,
    DiscreteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    RandomisedResponseLoss,
)
from dpcalc.accounting.losses.subsampled_gaussian import PoissonRemove, WithoutReplacement
from tests.unit.lattice_rows import FRAME, law_of, q_mass


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
    off = Cut(np.zeros(4), masses * (1 - 1e-8), errors, np.zeros(4), np.zeros(4, dtype=bool))
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
