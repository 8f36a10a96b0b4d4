"""Exponential-norm noise and objective-perturbed updates, against plain sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpcalc.accounting.losses import DiscreteLoss
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.accounting.losses.exponential_update import Update
from dpcalc.accounting.losses.gaussian_update import GaussianUpdate
from dpcalc.accounting.losses.objective_perturbation import (
    Losses,
    linked_loss,
    removal_laws,
    replacement_law,
)

pytestmark = pytest.mark.usefixtures("fifty_digits")


@pytest.mark.parametrize(("bound", "dimension"), [(0.5, 2), (3.0, 3), (20.0, 8), (1.0, 51)])
def test_the_density_of_exponential_norm_noise(bound: float, dimension: int) -> None:
    pair = ExponentialNorm(bound, dimension)
    with mp.workdps(18):
        a, d = mpf(bound), dimension
        ratio = (
            (d - 1) * mp.besselk(mpf(d) / 2, a / 2) / (a / 2 * mp.besselk(mpf(d) / 2 - 1, a / 2))
        )

        def shape(x):
            bell = 1 / mp.cosh(x) ** 2
            return mp.exp(a / 2 * mp.tanh(x)) * mp.cosh(x) ** (1 - d) * (ratio + bell)

        total = mp.quad(shape, [-40, -8, -3, -1, 0, 1, 3, 8, 40])
        xs = np.array([-6.0, -1.0, -0.01, 0.0, 0.4, 5.5])
        for x, log_p, log_q, loss in zip(
            xs, pair.log_p(xs), pair.log_q(xs), pair.loss(xs), strict=True
        ):
            exact = mp.log(shape(mpf(x)) / total)
            assert log_p == pytest.approx(float(exact), rel=1e-13, abs=1e-12)
            assert log_q == pytest.approx(
                float(mp.log(shape(-mpf(x)) / total)), rel=1e-13, abs=1e-12
            )
            assert loss == pytest.approx(float(a * mp.tanh(mpf(x))), rel=1e-14)
        for tail in (1e-12,):
            low, high = pair.truncation_interval(tail)
            for side, end in ((1, high), (-1, -low)):
                p = lambda x, s=side: shape(s * x) / total  # noqa: E731
                mass = mp.quad(p, [end, end + 1, end + 5, end + 40])
                assert tail * 1e-3 <= mass <= tail
        (low, high), rest = pair.moment_interval(3.0)
        assert rest == -90
        assert low == pair.truncation_interval(math.exp(-90))[0]
        assert high == pair.truncation_interval(math.exp(-90 - 3 * bound))[1]
    assert pair.log_moment_bound(3.0) == pytest.approx(3 * bound, rel=2e-15)
    assert pair.log_moment_bound(3.0) >= 3 * bound
    assert pair.mass_error == pytest.approx(1e-13 * (1 + bound / 75 + dimension / 1000))
    x = np.array([-2.0, 0.0, 400.0])
    bell = np.array([1 / math.cosh(2.0) ** 2, 1.0, 0.0])
    slope = bound / 2 * bell + (dimension - 1) * np.tanh(np.abs(x))
    width = 0.6 / (3 + slope + np.sqrt((bound + dimension) * bell))
    np.testing.assert_allclose(pair.max_cell_width(x), width)


KAPPA = 0.3


@pytest.mark.parametrize("kappa", [0.02, 0.3, 5.0])
def test_the_linked_loss_is_a_maximum(kappa: float) -> None:
    a = np.array([0.0, 0.01, 0.29, 1.9, 2.0, 2.1, 4.9, 5.1, 30.0])
    s = np.linspace(0, 1, 200_001)
    truth = [float((s * x + np.log1p(kappa * s * (1 - s))).max()) for x in a]
    found = linked_loss(a, kappa, tied=True)
    assert np.all(found >= np.array(truth))
    np.testing.assert_allclose(found, truth, rtol=1e-9)
    assert np.all(found[a >= kappa] == a[a >= kappa])
    loose = linked_loss(a, kappa, tied=False)
    np.testing.assert_allclose(loose, a + math.log1p(kappa), rtol=2e-15)
    assert np.all(loose >= a + math.log1p(kappa))


def both_masses(law: DiscreteLoss) -> tuple[float, float]:
    """P- and Q-mass of the atoms and what sits at 0."""
    rest = 1 - math.fsum(law.masses) - law.infinite_mass - law.missing
    return math.fsum(law.masses) + rest, float((law.masses * np.exp(-law.losses)).sum()) + rest


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dimension", [1, 3])
def test_laws_of_an_update_are_laws(dimension: int, tied: bool) -> None:
    update = Update(0.8, KAPPA, dimension, tied, cells=200)
    exchanged, (present, absent) = replacement_law(update), removal_laws(update)
    top = float(linked_loss(np.array([0.8]), KAPPA, tied=tied)[0])
    for law in (exchanged, present, absent):
        p, q = both_masses(law)
        assert p <= 1 + 1e-9
        assert q <= 1 + 1e-6
        assert law.infinite_mass == 0
    assert present.supremum == pytest.approx(top)
    assert absent.supremum == pytest.approx(0.8 if tied else top)
    assert exchanged.supremum <= (0.8 + top if tied else 2 * top) + 1e-12
    # Symmetric: the mirror image of each atom carries its Q-mass.
    half = len(exchanged.losses) // 2
    losses, masses = exchanged.losses, exchanged.masses
    assert losses[:half].tolist() == (-losses[half:]).tolist()
    np.testing.assert_allclose(masses[:half] * np.exp(-losses[:half]), masses[half:], rtol=1e-12)
    for epsilon in (0.0, 0.4, 0.7):
        one, two = present.delta(epsilon)[1], exchanged.delta(epsilon)[1]
        assert 0 <= one <= 1
        assert two >= max(one, absent.delta(epsilon)[1]) - 1e-6
    assert update.at_least(0.5) is update
    assert update.at_least(0.9).bound == 0.9


def test_a_moved_laplace_keeps_both_masses() -> None:
    moved = Update(0.8, KAPPA, 1, True, cells=50).moved()
    losses, masses = moved.losses.losses, moved.losses.masses
    # P(L >= 0) is 1 - e^{-a/2}/2, Q's half of it e^{-a/2}/2.
    assert float(masses.sum()) == pytest.approx(1 - math.exp(-0.4) / 2, rel=1e-12)
    assert float(moved.losses.mirrored_masses.sum()) == pytest.approx(math.exp(-0.4) / 2, rel=1e-12)
    assert losses.tolist() == np.linspace(0, 0.8, 51).tolist()
    assert masses[-1] > 0.5
    assert moved.mass_error == 1e-13
    assert moved.infinite == 0
    for epsilon in (0.2, 0.5):
        value = float((masses * -np.expm1(np.minimum(epsilon - losses, 0))).sum())
        truth = 1 - math.exp((epsilon - 0.8) / 2)
        assert truth <= value + 1e-15 <= truth + 1e-4
    gaps = Losses(np.array([0.0, 0.1, 0.4]), np.ones(3)).gaps()
    np.testing.assert_allclose(gaps, [0.1, 0.3, 0.3])
    wide = Update(0.8, KAPPA, 4, True, cells=50).moved().losses
    assert wide.losses[-1] == 0.8
    assert wide.masses[-1] == 1e-60


def test_a_gaussian_update() -> None:
    update = GaussianUpdate(0.9, KAPPA, True, cells=300)
    moved = update.moved()
    losses, masses = moved.losses.losses, moved.losses.masses
    assert moved.infinite == pytest.approx(0.5 * math.exp(-200))
    assert losses[0] == 0
    assert losses[-1] == pytest.approx(0.9 * (0.45 + 20), rel=1e-9)
    for epsilon in (0.0, 0.6, 3.0):
        value = float((masses * -np.expm1(np.minimum(epsilon - losses, 0))).sum())
        truth = float(
            mp.ncdf(0.45 - epsilon / 0.9) - mp.exp(epsilon) * mp.ncdf(-0.45 - epsilon / 0.9)
        )
        assert truth <= value * (1 + 1e-12) <= truth * (1 + 2e-3)
    far = GaussianUpdate(6.0, KAPPA, True, cells=300).moved()
    assert far.infinite == 0.5 * math.exp(-200)
    assert update.at_least(0.5) is update
    assert update.at_least(1.1) == GaussianUpdate(1.1, KAPPA, True, cells=300)
