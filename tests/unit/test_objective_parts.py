"""One objective-perturbed update part by part: spreading, doubling, steps, laws, by plain loops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.gaussian_update import GaussianUpdate
from dpcalc.accounting.losses.objective_perturbation import (
    Losses,
    _doubled,
    _law,
    _one_record,
    _OneRecord,
    _spread,
    linked_loss,
    removal_laws,
    replacement_law,
)
from dpcalc.accounting.losses.two_steps import meet
from dpcalc.theorems import RecycledADMM
from dpcalc.theorems.objective_perturbation._budget import _first_feasible

UNIT = 2.0**-53
NOISE = Losses(np.array([0.0, 0.2, 0.5, 0.8]), np.array([0.1, 0.05, 0.1, 0.4]))


def test_losses_and_their_mirror_image() -> None:
    np.testing.assert_allclose(NOISE.mirrored_masses, NOISE.masses * np.exp(-NOISE.losses))
    np.testing.assert_allclose(NOISE.gaps(), [0.2, 0.3, 0.3, 0.3])


@pytest.mark.parametrize("tied", [True, False])
def test_spreading_keeps_both_masses(tied: bool) -> None:
    """Mass m at A goes to G with share (1 - e^{-A})/(1 - e^{-G}), the rest to 0."""
    update = Update(0.8, 0.3, 1, tied)
    found = _spread(NOISE, update)
    linked = linked_loss(NOISE.losses, 0.3, tied=tied)
    assert found.losses.tolist() == linked.tolist()
    share = -np.expm1(-NOISE.losses) / -np.expm1(-np.where(linked > 0, linked, 1))
    np.testing.assert_allclose(found.masses, NOISE.masses * share, rtol=1e-14)
    assert np.all(found.masses <= NOISE.masses)
    staying = NOISE.masses - found.masses
    before = NOISE.mirrored_masses
    after = found.mirrored_masses + staying
    np.testing.assert_allclose(after[1:], before[1:], rtol=1e-12)
    zero = _spread(Losses(np.zeros(1), np.ones(1)), Update(0.8, 1e-300, 1, tied=False))
    assert zero.masses.tolist() == [0.0]


def test_twice_the_largest_losses_as_far_as_they_make_one() -> None:
    found = _doubled(NOISE)
    room, expected = 1.0, []
    for loss, mass in zip(NOISE.losses[::-1], NOISE.masses[::-1], strict=True):
        weight = 2 * mass * (1 + math.exp(-loss))
        used = min(weight, room)
        expected.append(2 * mass * used / weight)
        room -= used
    np.testing.assert_allclose(found.masses, expected[::-1], rtol=1e-12, atol=1e-16)
    assert found.losses is NOISE.losses
    few = Losses(np.array([0.1, 0.4]), np.array([0.0, 0.1]))
    assert _doubled(few).masses.tolist() == [0.0, 0.2]


def test_steps_of_a_removal() -> None:
    """Losses from the largest down; the masses under the law in the middle sum to what they hold."""
    linked = _spread(NOISE, Update(0.8, 0.3, 1, tied=True))
    half = _OneRecord(NOISE, linked, 1e-12, 0.01, 0.05)
    losses, masses = half.removed
    assert losses.tolist() == [*linked.losses[::-1], 0.0, *(-NOISE.losses)]
    rest = NOISE.mirrored_masses.sum() - linked.mirrored_masses.sum() + 0.05
    expected = [*linked.mirrored_masses[::-1], rest, *NOISE.masses]
    np.testing.assert_allclose(masses, expected)
    losses, masses = half.added
    assert losses.tolist() == [math.inf, *NOISE.losses[::-1], 0.0]
    assert masses.tolist() == [0.01, *NOISE.masses[::-1], 1.0]
    (losses, masses), (upper, weights) = half.reversed
    assert losses.tolist() == [*NOISE.losses[::-1], 0.0, *(-linked.losses)]
    rest = NOISE.masses.sum() - linked.masses.sum() + 0.05
    np.testing.assert_allclose(masses, [*NOISE.mirrored_masses[::-1], rest, *linked.masses])
    assert upper.tolist() == [math.inf, *linked.losses[::-1], 0.0]
    assert weights.tolist() == [0.01, *linked.masses[::-1], 1.0]


def test_the_losses_of_one_record() -> None:
    tied, loose = (
        Update(0.8, 0.3, 1, tied=True, cells=40),
        Update(0.8, 0.3, 1, tied=False, cells=40),
    )
    moved = tied.moved()
    one = _one_record(tied)
    assert one.noise.masses.tolist() == moved.losses.masses.tolist()
    assert one.linked.masses.tolist() == _spread(moved.losses, tied).masses.tolist()
    assert one.mass_error == pytest.approx(16e-13 + 8 * UNIT * 41)
    assert (one.infinite, one.unmoved) == (0.0, 0.0)
    both = _one_record(loose)
    assert both.noise is both.linked
    expected = _doubled(_spread(moved.losses, loose))
    assert both.noise.masses.tolist() == expected.masses.tolist()
    rest = 1 - float(expected.masses.sum() + expected.mirrored_masses.sum())
    assert both.unmoved == pytest.approx(max(rest, 0.0), abs=1e-15)
    normal = GaussianUpdate(5.9, 0.3, tied=False, cells=40)
    assert _one_record(normal).infinite == 2 * normal.moved().infinite


def test_a_law_drops_what_holds_nothing() -> None:
    losses = np.array([0.5, 0.0, -0.5, 0.3])
    found = _law(
        losses, np.array([0.4, 0.1, 0.2, 0.0]), np.array([1.0, 2.0, 3.0, 4.0]), 1e-12, 0.01
    )
    assert found.losses.tolist() == [0.5, -0.5]
    assert found.masses.tolist() == [0.4, 0.2]
    assert found.blur.tolist() == [1.0, 3.0]
    assert found.mass_error == 1e-12
    assert found.infinite_mass == pytest.approx(0.01, rel=2e-12)
    assert found.infinite_mass > 0.01
    assert found.missing == pytest.approx(-(1e-12 + 0.01), rel=1e-9)
    over = _law(losses, np.array([0.9, 0.0, 0.2, 0.0]), np.zeros(4), 1e-12, 0.0)
    assert over.missing == pytest.approx(-(0.1 + 1e-12))


@pytest.mark.parametrize(
    "update", [Update(0.8, 0.3, 1, tied=True, cells=60), Update(0.8, 0.3, 2, tied=False, cells=60)]
)
def test_laws_are_put_together_from_the_parts(update: Update) -> None:
    half = _one_record(update)
    present, absent = removal_laws(update)
    for law, above, below in (
        (present, half.linked, half.noise),
        (absent, half.noise, half.linked),
    ):
        losses = np.concatenate([above.losses, -below.losses])
        masses = np.concatenate([above.masses, below.mirrored_masses])
        gaps = np.concatenate([above.gaps(), below.gaps()])
        held = (masses > 0) & (losses != 0)
        assert law.losses.tolist() == losses[held].tolist()
        np.testing.assert_allclose(law.masses, masses[held])
        np.testing.assert_allclose(law.blur, (masses * gaps)[held])
        assert law.mass_error == half.mass_error
    exchanged = replacement_law(update)
    assert exchanged.mass_error == 2 * half.mass_error
    first = meet(half.removed, half.added, half.infinite)
    if not update.tied:
        held = first.masses > 0
        np.testing.assert_allclose(
            exchanged.masses[: len(exchanged.masses) // 2],
            (first.masses * np.exp(first.losses))[held & (first.losses != 0)],
        )
        n = len(exchanged.blur) // 2
        kept = first.blur[held & (first.losses != 0)]
        np.testing.assert_allclose(exchanged.blur[:n], kept)
        np.testing.assert_allclose(exchanged.blur[n:], kept * np.exp(-exchanged.losses[:n]))
    for epsilon in (0.0, 0.3, 0.9):
        one = exchanged.delta(epsilon)[1]
        value = first.infinite + float(
            (first.masses * np.maximum(np.exp(first.losses) - math.exp(epsilon), 0)).sum()
        )
        assert one <= value * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(
    ("name", "factor", "first"),
    [("penalty", 2.0, 0.001), ("loss_weight", 0.5, 1750), ("rounds", 0.5, 100)],
)
def test_the_change_that_makes_a_budget_feasible_is_the_first_one(name, factor, first, monkeypatch):
    """That of going through all of them, in few trials; none where there is none."""
    silent = RecycledADMM(
        n_records=8000,
        n_nodes=5,
        degree=3,
        loss_weight=1750,
        regularization=0.22,
        penalty=0.001 if name == "penalty" else 1,
        noise_rate=1e-300,
        rounds=100,
    )
    tried = []

    def replaced(theorem, **changes):
        tried.append(float(changes[name].first if name == "penalty" else changes[name]))
        return replace(theorem, **changes)

    monkeypatch.setattr(RecycledADMM, "replace", replaced)

    def epsilon(value):
        return replace(silent, **{name: value}).certified().guarantee.epsilon(0.0)

    values = [first * factor**step for step in range(1, 7)]
    values = [int(value) for value in values] if name == "rounds" else values
    for budget in (epsilon(values[-2]), epsilon(values[-1])):
        expected = next(value for value in values if epsilon(value) < 0.9 * budget / 0.89)
        tried.clear()
        assert _first_feasible(silent, name, factor, budget / 0.89, 0.0) == expected
        assert len(set(tried)) == len(tried) <= 6
    tried.clear()
    assert _first_feasible(silent, name, factor, 1e-300, 0.0) is None
    assert len(set(tried)) == len(tried) <= 12
